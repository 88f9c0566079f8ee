"""Where training starts: coefficients of a method, of a fitted ranker, or given ones."""

from importlib import import_module
from typing import Annotated, Any, Literal

import numpy as np

from directrank.data.encoding import Places
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.estimators.documents import names_of_features
from directrank.estimators.ranker import Ranker
from directrank.estimators.training import Request
from directrank.scorers import LINEAR, Trees
from directrank.scorers.scaling import Scaling
from directrank.scorers.set_trees import SetTrees

Start = Annotated[
    Literal["zero", "regression", "ranksvm"] | np.ndarray | Ranker,
    "Initial coefficients: zeros, those of a method, an array of shape (n_features,), or those of a fitted "
    "linear ranker.",
]

CATEGORICAL = "start: trees of a library over its own categories cannot be continued; train all of them anew"
#: The classes whose coefficients start others, by the name of the start; imported when one is asked for.
CLASSES = {"regression": "Regression", "ranksvm": "RankSVM"}


def initial_coefficients(request: Request, scaling: Scaling) -> np.ndarray | None:
    """Return the coefficients from which a request with scaled features starts, or None for zeros.

    A ranker or an array as `start` is like `coef_`, of raw features. Raises ValueError if it has another
    number of features, or was trained with another scaling.
    """
    start, groups = request.start, request.groups
    if isinstance(start, str) and start == "zero":
        return None
    if isinstance(start, str):
        method: type[Ranker] = getattr(import_module("directrank.estimators"), CLASSES[start])
        return method(scaling="none").fit(groups, sample_weight=request.weights).coef_
    scorer = getattr(start, "scorer_", None)
    linear = isinstance(scorer, LINEAR)
    if isinstance(start, Ranker) and not linear:
        what = "is not fitted" if scorer is None else f"has the scorer {scorer!r}"
        raise ValueError(f"start {what}: training of coefficients starts from a fitted linear ranker")
    coefficients = _by_name(start, groups) if linear else np.asarray(start, dtype=np.float64)
    if np.shape(coefficients) != (groups.n_features,):
        raise ValueError(f"start has shape {np.shape(coefficients)}, expected ({groups.n_features},)")
    if linear and not scaling.reads_as(scorer):
        theirs = getattr(start, "scaling_", "")
        raise ValueError(
            f"start was trained with scaling={theirs!r}, this ranker with {scaling.kind!r} on its own "
            "training set; set the same scaling, standard or query, in both"
        )
    return scaling.on_scaled(coefficients)


def _by_name(ranker: Ranker, groups: QueryGroups) -> np.ndarray:
    """Return the coefficients of a ranker in the order of the features, by their names if both have them."""
    names = names_of_features(ranker)
    if not hasattr(ranker, "feature_names_in_") or groups.feature_names is None:
        return ranker.coef_
    if missing := set(groups.feature_names) - set(names):
        raise DataError(f"start was fitted without the feature {min(missing)!r}")
    of_name = dict(zip(names, ranker.coef_, strict=True))
    return np.array([of_name[name] for name in groups.feature_names])


def initial_trees(start: Any, groups: QueryGroups) -> Trees:
    """Return the trees that come first in a model: those of a fitted ranker.

    Raises ValueError if it is no fitted ranker of trees, or has other features.
    """
    scorer: Any = getattr(start, "scorer_", None)
    if scorer is None:
        raise ValueError("start is not fitted: fit it first")
    if type(scorer) not in (Trees, SetTrees):
        raise ValueError(
            f"start is {type(start).__name__}, which has no trees to add to; give a ranker of trees"
        )
    if isinstance(start.encoding_, Places) or (isinstance(scorer, SetTrees) and start.encoding_ is None):
        raise ValueError(CATEGORICAL)
    names: Any = names_of_features(start) if hasattr(start, "feature_names_in_") else None
    both_named = names is not None and groups.feature_names is not None
    renamed = both_named and tuple(map(str, np.asarray(names))) != groups.feature_names
    n_features = len(names_of_features(start))
    if renamed or n_features != groups.n_features:
        raise ValueError(
            f"start was fitted to other features: {_listed(names, n_features)}, here "
            f"{_listed(groups.feature_names, groups.n_features)}"
        )
    if groups.encoding is None:
        return scorer.in_float32
    return SetTrees.joined([scorer, SetTrees.of_columns_alone(*groups.encoding.places)], n_features)


def _listed(names: Any, n_features: int) -> str:
    return f"{n_features} features" if names is None else ", ".join(map(str, names[:5]))
