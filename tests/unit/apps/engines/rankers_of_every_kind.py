"""Rankers of every kind, and the rows on which an engine can go wrong."""

import lightgbm
import numpy as np
import pytest
import xgboost

from directrank import Ranker, export, load
from directrank.apps.engines import TARGETS, packages
from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import Function, Target, Written, function_of
from directrank.errors import ExportError
from directrank.estimators.documents import names_of_columns
from directrank.scorers import Additive, Linear, LogLinear, Sum, Trees, single_feature, stump
from directrank.scorers.trees import LEAF

N_FEATURES = 4
#: Engines that take seconds to start.
SLOW = ("java", "go", "rust")
FILL = np.array([0.5, -2, 3, 0.25], np.float32)
WEIGHTS = np.array([2.0, -1.0, 0.375, 1e-3])
#: Names from outside: quotes of every language, escapes, ends of comments, lines, letters of others.
NAMES = ('"; DROP TABLE documents; --', "a b", "x-1", "*/ </script> ??/ \\u0022 ${1}\n'''\u2028é😀")


def of_targets(targets=TARGETS):
    """Return a decorator that tests each target, slow engines in the heavy group."""
    cases = [pytest.param(each, marks=[pytest.mark.heavy] * (each.name in SLOW)) for each in targets]
    return pytest.mark.parametrize("target", cases, ids=lambda target: target.name)


def exported(target, model, **options):
    """Return an export; skip where a library is missing."""
    try:
        return export(model, target, **options)
    except ExportError as error:
        if "needs the library" in str(error) or "not installed" in str(error):
            pytest.skip(str(error))
        raise


def scores_by(target: Target, content: bytes, model: Ranker | Function, X: np.ndarray) -> np.ndarray:
    """The scores that a file of a target gives rows of a model's features, as its engine computes them."""
    if isinstance(model, Ranker):
        model = function_of(model.scorer_, names_of_columns(model))
    documents, definitions = Documents.of_features(model.names, X), []
    if target.name in packages.FORMS:
        definitions, _ = packages.definitions_of(target.name, model, Written(content), package=False)
    columns = packages.with_features(target.name, definitions, documents)
    return np.asarray(target.scores(content, columns), np.float64)


def forest(n_trees: int, depth: int = 3, seed: int = 0) -> Trees:
    """Trees whose thresholds are 0, or of sizes from 1e-5 to 100, with both directions of NaN."""
    rng = np.random.default_rng(seed)
    pieces = []
    for _ in range(n_trees):
        inner, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
        leaf = np.arange(nodes) >= inner
        size = rng.choice([1e-5, 1e-3, 1.0, 100.0], nodes)
        threshold = np.where(leaf, 0, rng.normal(size=nodes) * size).astype(np.float32)
        threshold[0] = rng.choice([0.0, -0.0, 1e-5, 0.5, 1.0])
        left = np.where(leaf, LEAF, 2 * np.arange(nodes) + 1).astype(np.int32)
        feature, missing = rng.integers(0, N_FEATURES, nodes), rng.integers(0, 2, nodes)
        pieces.append(Trees(
            np.zeros(1, np.int64), np.where(leaf, 0, feature).astype(np.int32), threshold,
            np.where(leaf, 0, missing).astype(np.int32), left, np.where(leaf, LEAF, left + 1),
            np.where(leaf, rng.normal(size=nodes), 0.0), np.zeros(nodes),
        ))  # fmt: skip
    return Trees.concatenate(pieces)


def ranker(scorer, names=None) -> Ranker:
    made = Ranker()
    made.scorer_, made.n_features_in_, made.selected_by_ = scorer, N_FEATURES, "nDCG@10"
    if names is not None:
        made.feature_names_in_ = np.array(names, dtype=object)
    return made


def stumps() -> Additive:
    weak = [stump(0, 0.5, fill=np.inf), stump(1, -2.0), stump(1, 1e-5, above=False), stump(3, 0.0, fill=1)]
    return Additive.of([1.5, 0.25, 3, -1], weak)


def learned(folder, library: str, **parameters) -> Ranker:
    """A model of somebody else, of data with ties, zeros and missing values."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, N_FEATURES)).astype(np.float32)
    X[:, 1] = X[:, 1].round()
    X[:, 2] *= 1e-5
    X[rng.random(X.shape) < 0.15] = np.nan
    X[rng.random(X.shape) < 0.15] = 0
    y = np.nan_to_num(X[:, 0] + X[:, 1] * (X[:, 2] > 0))
    path = folder / f"{library}{len(parameters)}.{'txt' if library == 'lightgbm' else 'json'}"
    if library == "lightgbm":
        settings = {"verbose": -1, "num_leaves": 7, "num_threads": 1, "min_data_in_leaf": 5, **parameters}
        lightgbm.train(settings, lightgbm.Dataset(X, y), 20).save_model(path)
    else:
        settings = {"max_depth": 3, "nthread": 1, "objective": "rank:pairwise", **parameters}
        data = xgboost.DMatrix(X, y - y.min(), qid=np.arange(600) // 20)
        xgboost.train(settings, data, 20).save_model(path)
    return load(path)


def rankers(folder) -> dict[str, Ranker]:
    """Return a ranker of each kind, by its name in the table of targets and kinds of models."""
    mixed = [stump(0, 0.5, fill=np.inf), single_feature(1, slope=-1, offset=2, fill=7), stump(1, -2.0)]
    linear, logs = Linear(WEIGHTS, FILL), LogLinear(WEIGHTS, np.array([0, 1, 0, 1], bool), FILL)
    return {
        "linear": ranker(linear), "linear, nothing missing": ranker(Linear(WEIGHTS)), "log": ranker(logs),
        "stumps": ranker(stumps()), "stumps and features": ranker(Additive.of([1.5, -2, 3], mixed)),
        "trees with gaps": ranker(forest(20)), "2,000 trees": ranker(forest(2000, 2)),
        "auto": ranker(Sum([logs, forest(5), stumps()], [0.5, 2.0, 1.0])),
        "LightGBM": learned(folder, "lightgbm"),
        "LightGBM, zeros missing": learned(folder, "lightgbm", zero_as_missing=True),
        "XGBoost": learned(folder, "xgboost"),
    }  # fmt: skip


def rows(scorer, missing: bool = True) -> np.ndarray:
    """Return rows at each threshold and its neighbours, and at NaN, zeros and tiny numbers."""
    rng = np.random.default_rng(2)
    parts = scorer.terms if isinstance(scorer, Sum) else [scorer]
    special = np.array([0.0, -0.0, 1e-5, -1e-5, 1.0, 1e-38, -1e-35, 1e-35, 12.5, 1e30, np.nan], np.float32)
    columns = [list(special) for _ in range(N_FEATURES)]
    for part in parts:
        for column, at in zip(getattr(part, "feature", ()), getattr(part, "threshold", ()), strict=True):
            one = np.float32(at)
            columns[column] += [
                one,
                np.nextafter(one, np.float32(np.inf)),
                np.nextafter(one, np.float32(-np.inf)),
            ]
    pools = [np.unique(np.array(values, np.float32)) for values in columns]
    pools = [pool[~np.isinf(pool)] for pool in pools]
    made = []
    for column, pool in enumerate(pools):
        block = np.stack([rng.choice(other, len(pool)) for other in pools], 1)
        block[:, column] = pool
        made.append(block)
    made.append(np.repeat(made[0][:5], 2, axis=0))  # Ties.
    out = np.concatenate(made).astype(np.float32)
    signed = np.array([[0.0, -0.0, -0.0, 0.0]], np.float32)
    out = np.concatenate((out, signed, -signed))
    return out if missing else np.nan_to_num(out, nan=0.0, posinf=None, neginf=None)
