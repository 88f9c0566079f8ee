"""Scores of models: linear, additive and trees, beside a read pass and the libraries that grew the trees."""

import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.read_pass import read_pass
from directrank.apps.libraries.models import read_library_model
from directrank.scorers import Linear
from directrank.scorers.trees import Additive, stump

N_DOCS, N_FEATURES, N_TREES, N_STUMPS = 120_000, 136, 100, 300
N_TRAINED = 6_000


@cache
def features() -> np.ndarray:
    """Return features of 65 MB, more than a cache holds."""
    return np.random.default_rng(0).standard_normal((N_DOCS, N_FEATURES), dtype=np.float32)


def linear_by_reading() -> tuple[Work, Work]:
    """Return the scores of a linear model, and a read pass."""
    X, scorer = features(), Linear(np.random.default_rng(1).normal(size=N_FEATURES))
    return lambda: scorer.scores(X), lambda: read_pass(X.reshape(-1))


def linear_by_product() -> tuple[Work, Work]:
    """Return the scores of a linear model, and a product by BLAS."""
    X, w = features(), np.random.default_rng(1).normal(size=N_FEATURES)
    scorer, rounded = Linear(w), w.astype(np.float32)
    return lambda: scorer.scores(X), lambda: X @ rounded


def additive() -> tuple[Work, Work]:
    """Return the scores of stumps, and the same by NumPy, stump by stump."""
    rng, X = np.random.default_rng(1), features()
    which, where = rng.integers(N_FEATURES, size=N_STUMPS), rng.normal(size=N_STUMPS).astype(np.float32)
    heights = rng.normal(size=N_STUMPS)
    pieces = list(zip(which.tolist(), where.tolist(), heights.tolist(), strict=True))
    scorer = Additive.of(heights, [stump(feature, threshold) for feature, threshold, _ in pieces])

    def naive():
        total = np.zeros(len(X))
        for feature, threshold, height in pieces:
            total += height * (X[:, feature] > np.float32(threshold))
        return total

    if not np.allclose(scorer.scores(X), naive()):
        raise ValueError("the scores differ")
    return lambda: scorer.scores(X), naive


def trees(library: str) -> tuple[Work, Work]:
    """Return the scores of trees by our reading of the library's file, and by the library, one thread."""
    X = features()
    y = X[:, 0] * X[:, 1] + X[:, 2]
    predict, save = {"lightgbm": of_lightgbm, "xgboost": of_xgboost}[library](X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save(path)
        ranker = read_library_model(path)
    scorer = ranker.scorer_
    if np.ptp(scorer.scores(X) - predict(X)) > 1e-3:
        raise ValueError("the scores differ")
    return lambda: scorer.scores(X), lambda: predict(X)


def set_trees() -> tuple[Work, Work]:
    """Return the scores of trees that split sets of categories, ours and LightGBM's, one thread."""
    rng, X = np.random.default_rng(2), features().copy()
    for column, n_values in enumerate((40, 12, 200)):
        X[:, column] = rng.integers(n_values, size=len(X))
    effects = rng.normal(size=(3, 200))
    y = X[:, 3] + np.sum([own[X[:, k].astype(int)] for k, own in enumerate(effects)], axis=0)
    predict, save = of_lightgbm(X, y, categories=[0, 1, 2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        save(path)
        scorer = read_library_model(path).scorer_
    if np.ptp(scorer.scores(X) - predict(X)) > 1e-9 or not len(scorer.words):
        raise ValueError("the scores differ")
    return lambda: scorer.scores(X), lambda: predict(X)


def of_lightgbm(X: np.ndarray, y: np.ndarray, n_trees: int = N_TREES, categories: Any = "auto"):
    """Return how LightGBM's trees predict and are saved."""
    import lightgbm

    quiet = {"verbose": -1}
    data = lightgbm.Dataset(X[:N_TRAINED], y[:N_TRAINED], params=quiet, categorical_feature=categories)
    booster = lightgbm.train({"num_threads": 1, **quiet}, data, n_trees)
    return lambda rows: booster.predict(rows, num_threads=1), lambda path: booster.save_model(path)


def of_xgboost(X: np.ndarray, y: np.ndarray):
    """Return how XGBoost's trees predict and are saved."""
    import xgboost

    booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(X[:N_TRAINED], y[:N_TRAINED]), N_TREES)
    return booster.inplace_predict, booster.save_model


WHAT = f"{N_DOCS:,} documents of {N_FEATURES} features"
CASES = (
    Case("scorers/linear", f"scores of a linear model, {WHAT}", "a read pass", linear_by_reading),
    Case("scorers/linear-numpy", f"scores of a linear model, {WHAT}", "NumPy's product", linear_by_product),
    Case(
        "scorers/additive",
        f"scores of {N_STUMPS} stumps, {WHAT}",
        "NumPy, stump by stump",
        additive,
        faster=True,
    ),
    *(
        Case(
            f"scorers/trees-{library}",
            f"scores of {N_TREES} trees of {name}, read from its file, {WHAT}",
            f"{name}'s own predict, one thread",
            partial(trees, library),
            faster=True,
        )
        for library, name in (("lightgbm", "LightGBM"), ("xgboost", "XGBoost"))
    ),
    Case(
        "scorers/trees-sets",
        f"scores of {N_TREES} trees of LightGBM with splits on sets of categories, {WHAT}",
        "LightGBM's own predict, one thread",
        set_trees,
        faster=True,
    ),
)
