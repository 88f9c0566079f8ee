"""Where a search starts: zeros, a fitted ranker, or coefficients."""

import numpy as np

from directrank.estimators.presets.ranksvm import RankSVM
from directrank.estimators.presets.regression import Regression
from directrank.scorers import Linear


def start_coefficients(start, groups, weights) -> np.ndarray | None:
    """Return the coefficients that a `start` names, or None for zeros.

    Raises
    ------
    ValueError
        If it is none of the kinds documented, or of another width.
    """
    if isinstance(start, str) and start == "zero":
        return None
    rankers = {"regression": Regression, "ranksvm": RankSVM}
    if isinstance(start, str) and start in rankers:
        coefficients = rankers[start]().fit(groups, sample_weight=weights).scorer_.coefficients
    elif isinstance(start, str):
        raise ValueError(
            "start must be 'auto', 'zero', 'regression', 'ranksvm', coefficients or a fitted ranker, "
            f"not {start!r}"
        )
    elif isinstance(getattr(start, "scorer_", None), Linear):
        coefficients = start.scorer_.coefficients
    else:
        coefficients = np.asarray(start, dtype=np.float64)
    if np.shape(coefficients) != (groups.n_features,):
        raise ValueError(f"start has shape {np.shape(coefficients)}, expected ({groups.n_features},)")
    return coefficients


def of_length(coefficients: np.ndarray | None, length: float) -> np.ndarray | None:
    """Return coefficients in the same direction, of this length; zeros and None as they are."""
    if coefficients is None or not coefficients.any():
        return coefficients
    return coefficients * (length / np.linalg.norm(coefficients))
