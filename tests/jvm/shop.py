"""A made shop: documents, queries and judgments, and the commands from a log of them to a page."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from directrank.apps.cli import main
from jvm.engines import Server

WORDS = ["red", "green", "blue", "shoe", "boot", "hat", "coat", "wool", "silk", "warm", "light", "rain"]
#: The share of documents with a price, and what is cheap.
PRICED, CHEAP, INDEX = 0.8, 20, "products"
KINDS = {"title": "text", "body": "text", "price": "float"}


def shop(rng: np.random.Generator) -> tuple[list[dict], dict[str, str]]:
    """Return documents, some without a price, and queries."""
    documents = []
    for number in range(120):
        title, body = (" ".join(rng.choice(WORDS, size=size)) for size in (rng.integers(1, 5), 12))
        documents.append({"id": f"d{number}", "title": title, "body": body})
        if rng.random() < PRICED:
            documents[-1]["price"] = float(np.float32(rng.lognormal(3)))
    return documents, {f"q{at}": " ".join(rng.choice(WORDS, size=2, replace=False)) for at in range(30)}


#: Features as queries; the last one is a query that no name tells.
FIELD = {"query": {"exists": {"field": "price"}}, "field_value_factor": {"field": "price"}}
FEATURES = {
    "title.bm25": {"match": {"title": "{{keywords}}"}},
    "body.bm25": {"match": {"body": "{{keywords}}"}},
    "price": {"function_score": {**FIELD, "boost_mode": "replace"}},
    "both": {"multi_match": {"query": "{{keywords}}", "fields": ["title", "body"]}},
}


class Shop:
    """An index of the shop in OpenSearch or Elasticsearch."""

    def __init__(self, port: int) -> None:
        self.server = Server(f"http://127.0.0.1:{port}")
        self.documents, self.queries = shop(np.random.default_rng(4))
        properties = {name: {"type": kind} for name, kind in KINDS.items()}
        settings = {"number_of_shards": 1, "number_of_replicas": 0}
        body = {"settings": {"index": settings}, "mappings": {"properties": properties}}
        self.server.send(f"/{INDEX}", body, "PUT")
        bulk = [line for one in self.documents for line in ({"index": {"_id": one["id"]}}, one)]
        assert not self.server.send(f"/{INDEX}/_bulk", lines(bulk), "POST", refresh="true")["errors"]

    def search(self, query: dict, params: dict[str, str] | None = None, **more: object) -> dict:
        """Return the answer to a query, with up to 100 documents."""
        body = {"query": query, "size": 100, **more}
        return self.server.send(f"/{INDEX}/_search", body, "POST", **(params or {}))

    def write(self, folder: Path, answers: list[dict]) -> None:
        """Write the log, and judgments of its documents."""
        hits = {one["qid"]: page_of(one) for one in answers}
        (folder / "log.jsonl").write_text(lines(answers))
        (folder / "qrels.txt").write_text(judged(self.documents, self.queries, hits))


def words(text: str) -> dict:
    """Return the query of a user."""
    return {"multi_match": {"query": text, "fields": ["title", "body"]}}


def page_of(answer: dict) -> list[str]:
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def judged(documents: list[dict], queries: dict[str, str], hits: dict[str, list[str]]) -> str:
    """Return judgments of the documents that were found: words of the title, and one more if it is cheap."""
    title = {document["id"]: set(document["title"].split()) for document in documents}
    price = {document["id"]: document.get("price", 0.0) for document in documents}
    return "".join(
        f"{name} 0 {document} {len(asked & title[document]) + (0 < price[document] < CHEAP)}\n"
        for name, page in hits.items()
        for asked in [set(queries[name].split())]
        for document in page
    )


def trained(folder: Path, method: str, *convert: str) -> tuple[str, str]:
    """Convert `log.jsonl` and `qrels.txt` of a folder, fit a method, and return the paths of both results."""
    store, model = str(folder / "train.store"), str(folder / "model.dr")
    log, qrels = str(folder / "log.jsonl"), str(folder / "qrels.txt")
    assert main(["convert", log, "--qrels", qrels, *convert, "-o", store]) == 0
    name, *settings = method.split()
    assert main(["fit", name, store, *settings, "-o", model]) == 0
    return store, model


def ranked(folder: Path, model: str, store: str) -> pd.DataFrame:
    """Return what `rank` writes."""
    run = folder / "run"
    assert main(["rank", model, store, "--format", "trec", "-o", str(run)]) == 0
    return pd.read_csv(run, sep=r"\s+", names=["qid", "q0", "docid", "rank", "score", "tag"])


def check_as_ranked(page: list[str], run: pd.DataFrame, qid: str) -> None:
    """Check that a page has the documents of `rank` in its order, but for ties of float32."""
    scores = run[run.qid == qid].set_index("docid").score
    assert sorted(page) == sorted(scores.index)
    ours = scores[page].to_numpy()
    assert len(ours) > 10
    assert (np.diff(ours) <= 1e-5 * np.abs(ours).max()).all()


def lines(answers: list[dict]) -> str:
    return "".join(f"{json.dumps(answer)}\n" for answer in answers)
