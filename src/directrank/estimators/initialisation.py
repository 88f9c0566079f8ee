"""Initial coefficients: zeros, those of a fitted ranker, or given ones."""

from typing import Annotated, Literal

import numpy as np

from directrank.errors import DataError
from directrank.estimators.inputs import names_of_features
from directrank.estimators.presets.pairs import RankSVM, Regression
from directrank.estimators.ranker import Ranker
from directrank.scorers import LINEAR
from directrank.scorers.scaling import Scaling

RANKERS = {"regression": Regression, "ranksvm": RankSVM}

Start = Annotated[
    Literal["zero", "regression", "ranksvm"] | np.ndarray | Ranker,
    "Initial coefficients: zeros, those of a method, an array of shape (n_features,), or those of a fitted "
    "linear ranker.",
]


def initial_coefficients(start, groups, weights, scaling: Scaling) -> np.ndarray | None:
    """Return the coefficients of scaled features that a `start` names, or None for zeros.

    `groups` have scaled features; a given ranker or array is like `coef_`, of raw features. Raises ValueError
    if `start` has another number of features, or was trained with another scaling.
    """
    if isinstance(start, str) and start == "zero":
        return None
    if isinstance(start, str) and start in RANKERS:
        return RANKERS[start](scaling="none").fit(groups, sample_weight=weights).coef_
    scorer = getattr(start, "scorer_", None)
    linear = isinstance(scorer, LINEAR)
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


def _by_name(ranker, groups) -> np.ndarray:
    """Return the coefficients of a ranker in the order of the features, by their names if both have them."""
    names = names_of_features(ranker)
    if not hasattr(ranker, "feature_names_in_") or groups.feature_names is None:
        return ranker.coef_
    if missing := set(groups.feature_names) - set(names):
        raise DataError(f"start was fitted without the feature {min(missing)!r}")
    of_name = dict(zip(names, ranker.coef_, strict=True))
    return np.array([of_name[name] for name in groups.feature_names])
