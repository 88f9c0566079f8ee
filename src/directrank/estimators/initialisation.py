"""Initial coefficients: zeros, those of a fitted ranker, or given ones."""

from typing import Annotated, Literal

import numpy as np

from directrank.estimators.presets.pairs import RankSVM
from directrank.estimators.presets.regression import Regression
from directrank.estimators.ranker import Ranker

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
        If `start` has another number of features.
    """
    if isinstance(start, str) and start == "zero":
        return None
    if isinstance(start, str) and start in RANKERS:
        start = RANKERS[start]().fit(groups, sample_weight=weights)
    coefficients = start.coef_ if isinstance(start, Ranker) else np.asarray(start, dtype=np.float64)
    if np.shape(coefficients) != (groups.n_features,):
        raise ValueError(f"start has shape {np.shape(coefficients)}, expected ({groups.n_features},)")
    return coefficients
