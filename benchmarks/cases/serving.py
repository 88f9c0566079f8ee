"""`Ranker.rank` for the documents of one query, beside the engines that serve the same model."""

import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.cases.scorers import N_FEATURES, features, of_lightgbm
from directrank import Regression, export, load

N_DOCS, N_TREES, N_TRAINED = 100, 300, 6_000


@cache
def served() -> tuple[Any, Any, Work]:
    """Return a linear ranker, and one of LightGBM's trees with LightGBM's own scores of the query."""
    X = features()
    y = X[:, 0] * X[:, 1] + X[:, 2]
    linear = Regression(scaling="none").fit(X[:N_TRAINED], y[:N_TRAINED] - y.min(), qid=np.zeros(N_TRAINED))
    predict, save = of_lightgbm(X, y, N_TREES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        save(path)
        return linear, load(path), partial(predict, X[:N_DOCS])


def by_onnxruntime(kind: int) -> tuple[Work, Work]:
    """Return `rank`, and onnxruntime's scores of the exported model, one thread."""
    import onnxruntime

    ranker, X = served()[kind], features()[:N_DOCS]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(export(ranker, "onnx").content, options)
    name = session.get_inputs()[0].name
    scores = np.ravel(session.run(None, {name: X})[0])
    if not np.allclose(np.sort(scores), scores[ranker.rank(X)][::-1], atol=1e-4):
        raise ValueError("the order differs")
    return lambda: ranker.rank(X), lambda: session.run(None, {name: X})


def by_lightgbm() -> tuple[Work, Work]:
    """Return `rank`, and LightGBM's scores, one thread."""
    _, trees, predict = served()
    X = features()[:N_DOCS]
    return lambda: trees.rank(X), predict


def by_name(columns: bool) -> tuple[Work, Work]:
    """Return `rank` of features by name, and of an array."""
    ranker, X = served()[0], features()[:N_DOCS]
    names = [f"f{number}" for number in range(1, N_FEATURES + 1)]
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    documents = dict(zip(names, X.T, strict=True)) if columns else rows
    return lambda: ranker.rank(documents), lambda: ranker.rank(X)


QUERY = f"{N_DOCS} documents of {N_FEATURES} features"
TREES = f"rank {QUERY} by {N_TREES} trees of LightGBM, one thread"
CASES = (
    Case(
        "serving/linear-onnx",
        f"rank {QUERY} by a linear ranker, one thread",
        "onnxruntime's scores",
        partial(by_onnxruntime, 0),
        faster=True,
    ),
    Case("serving/trees-onnx", TREES, "onnxruntime's scores", partial(by_onnxruntime, 1), faster=True),
    Case("serving/trees-lightgbm", TREES, "LightGBM's own predict", by_lightgbm, faster=True, target=3.0),
    Case("serving/columns", f"rank {QUERY}, columns by name, linear", "an array", partial(by_name, True)),
    Case("serving/rows", f"rank {QUERY}, a dict each, linear", "an array", partial(by_name, False)),
)
