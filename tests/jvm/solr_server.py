"""A Solr server with its module of learning to rank, and its requests as a user sends them."""

import json
import math
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from directrank.apps.engines.solr_model import BELOW, BELOW_ZERO, LOG, logarithms
from jvm.engines import HERE, JVM, program

CORE = "documents"


class Solr:
    """The HTTP interface of one core."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/solr/{CORE}"

    def send(self, path: str, body: object = None, method: str = "GET", **params: object) -> dict[str, Any]:
        """Return the answer to a request; a refusal of Solr's raises a RuntimeError with its words."""
        asked = urllib.request.Request(
            f"{self.url}{path}?{urllib.parse.urlencode(params)}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(asked, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from None

    def index(self, documents: list[dict]) -> None:
        """Put documents in place of all there are."""
        self.send("/update", {"delete": {"query": "*:*"}}, "POST")
        self.send("/update", documents, "POST", commit="true")

    def rescored(self, model: str, query: str = "*:*", **params: object) -> list[dict]:
        """Return the documents of a query in the order of a model, each with its score."""
        asked = {"q": query, "rq": f"{{!ltr model={model} reRankDocs=2000}}", "fl": "id,score", "rows": 2000}
        return self.send("/select", **{**asked, **params})["response"]["docs"]


@contextmanager
def solr(home: Path) -> Iterator[Solr]:
    """Run a server on an empty core in a folder."""
    conf = home / CORE / "conf"
    conf.mkdir(parents=True)
    (home / "solr.xml").write_text("<solr/>")
    (home / CORE / "core.properties").write_text(f"name={CORE}\n")
    for name in ("solrconfig.xml", "schema.xml"):
        shutil.copy(HERE / "solr" / name, conf / name)
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            ["java", *JVM, "-cp", program("solr"), "Main", str(home)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    try:
        assert server.stdout is not None
        line = next((line for line in server.stdout if line.startswith("port ")), None)
        if line is None:
            raise RuntimeError(f"Solr did not start: {(home / 'log').read_text()[-4000:]}")
        yield Solr(int(line.split()[1]))
    finally:
        server.communicate("\n", timeout=60)


PACKAGE = "org.apache.solr.ltr"
Model = tuple[bytes, tuple[str, ...], Any]


def scores_of_solr(models: dict[str, Model]) -> dict[str, np.ndarray]:
    """Return Solr's scores of models: their documents are indexed, and a query is rescored by each model."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="directrank-") as place, solr(Path(place)) as server:
        for number, (name, (content, names, X)) in enumerate(models.items()):
            server.index([
                {"id": str(row), **{f: x for f, x in zip(names, values, strict=True) if not math.isnan(x)}}
                for row, values in enumerate(X.tolist())
            ])  # fmt: skip
            model, store = json.loads(content), f"store{number}"
            wanted = [feature["name"] for feature in model["features"]]
            logs = logarithms(names)
            server.send("/schema/feature-store", [feature_of(known, logs, store) for known in wanted], "PUT")
            server.send("/schema/model-store", {**model, "name": f"model{number}", "store": store}, "PUT")
            rescored = server.rescored(f"model{number}")
            assert len(rescored) == len(X)
            scores = {int(document["id"]): document["score"] for document in rescored}
            found[name] = np.array([scores[row] for row in range(len(X))])
            assert [document["score"] for document in rescored] == sorted(scores.values(), reverse=True)
    return found


def feature_of(name: str, logs: dict[str, str], store: str) -> dict[str, object]:
    """Return a feature that is a field, or the logarithm of one in the words of the export."""
    if name in logs:
        form = BELOW if name.endswith(BELOW_ZERO) else LOG
        params, kind = {"q": form.replace("X", f"field({logs[name]})")}, "SolrFeature"
    else:
        params, kind = {"field": name}, "FieldValueFeature"
    return {"name": name, "class": f"{PACKAGE}.feature.{kind}", "params": params, "store": store}
