"""A Solr server with its module of learning to rank, and its requests as a user sends them."""

import json
import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from directrank.apps.engines.solr_model import BELOW, BELOW_ZERO, LOG, logarithms
from jvm.engines import HERE, Server, serving

CORE = "documents"


class Solr(Server):
    """The HTTP interface of one core."""

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
    with serving("solr", home) as port:
        yield Solr(f"http://127.0.0.1:{port}/solr/{CORE}")


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
