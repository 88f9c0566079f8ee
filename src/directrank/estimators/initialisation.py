"""Initial coefficients: zeros, those of a fitted ranker, or given ones."""

from typing import Annotated, Literal

import numpy as np

from directrank.errors import DataError
from directrank.estimators.presets.pairs import RankSVM
from directrank.estimators.presets.regression import Regression
from directrank.estimators.ranker import Ranker
from directrank.scorers import Linear

RANKERS = {"regression": Regression, "ranksvm": RankSVM}

Start = Annotated[
    Literal["zero", "regression", "ranksvm"] | np.ndarray | Ranker,
    "Initial coefficients: zeros, those of a method, an array of shape (n_features,), or those of a fitted "
    "linear ranker.",
]


def initial_coefficients(start, groups, weights) -> np.ndarray | None:
    """Return the coefficients that a `start` names, or None for zeros.

    Raises
    ------
    ValueError
        If `start` is none of these, or has another number of features.
    """
    if isinstance(start, str) and start == "zero":
        return None
    if isinstance(start, str) and start in RANKERS:
        start = RANKERS[start]().fit(groups, sample_weight=weights)
    elif isinstance(start, str):
        raise ValueError(
            "start must be 'auto', 'zero', 'regression', 'ranksvm', coefficients or a fitted ranker, "
            f"not {start!r}"
        )
    linear = isinstance(getattr(start, "scorer_", None), Linear)
    coefficients = _by_name(start, groups) if linear else np.asarray(start, dtype=np.float64)
    if np.shape(coefficients) != (groups.n_features,):
        raise ValueError(f"start has shape {np.shape(coefficients)}, expected ({groups.n_features},)")
    return coefficients


def _by_name(ranker, groups) -> np.ndarray:
    """Return the coefficients of a ranker in the order of the features, by their names if both have them."""
    names = getattr(ranker, "feature_names_in_", None)
    if names is None or groups.feature_names is None:
        return ranker.coef_
    if missing := set(groups.feature_names) - set(names):
        raise DataError(f"start was fitted without the feature {min(missing)!r}")
    of_name = dict(zip(names, ranker.coef_, strict=True))
    return np.array([of_name[name] for name in groups.feature_names])
