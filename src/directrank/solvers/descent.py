"""When a smooth objective counts as minimised: its gradient, in units that follow the scale of features.

A component of the gradient is divided by √(λ + s²), s being the standard deviation of its feature. Losses
have a second derivative of about 1 in scores, so half the square of the quotient is about what the best step
along that coefficient alone would gain. What counts is the largest quotient, relative to the start.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from directrank.contracts import BoundObjective, LinearScorer, Part
from directrank.kernels.compile import kernel
from directrank.solvers.passes import penalised, sum_over_rows

#: Largest quotient at a minimum, relative to that at the start, or to 1 where the start is flatter.
STATIONARY = 1e-4


class Stationarity:
    """The units of the gradient of an objective with an L2 penalty."""

    def __init__(self, objective: BoundObjective, scorer: Any, features: np.ndarray, penalty: float):
        spread = spread_of(objective, features) if isinstance(scorer, LinearScorer) else 1.0
        unit = np.sqrt(penalty + np.square(spread))
        # A constant feature without a penalty changes no ranking: its coefficient is free.
        self.unit = np.where(unit > 0, unit, np.inf)

    def relative(self, gradient: np.ndarray, at_start: np.ndarray) -> float:
        """Return the largest component of a gradient in these units, relative to that at the start."""
        largest, first = (float(np.abs(each / self.unit).max(initial=0.0)) for each in (gradient, at_start))
        return largest / max(1.0, first)

    def change(self, before: np.ndarray, after: np.ndarray) -> float:
        """Return how far parameters have moved, relative to their norm, both in these units."""
        length = float(np.linalg.norm(self.scaled(after)))
        return float(np.linalg.norm(self.scaled(after - before)) / max(length, np.finfo(float).tiny))

    def opposed(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Say whether two directions of parameters, in these units, form an obtuse angle."""
        return bool(self.scaled(one) @ self.scaled(other) < 0.0)

    def scaled(self, parameters: np.ndarray) -> np.ndarray:
        """Return parameters in these units; those that change no ranking are 0."""
        return np.where(np.isfinite(self.unit), self.unit, 0.0) * parameters


def spread_of(objective: BoundObjective, features: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each feature over all documents, float64 (n_features,)."""
    origin = features[0].astype(np.float64)
    sums, squares = sum_over_rows(objective, _moments, features, origin)
    return np.sqrt(np.maximum(squares - sums * sums / len(features), 0.0) / len(features))


def _moments(part: Part, rows: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sums, squares = np.zeros((2, len(origin)))
    _add_moments(rows, origin, sums, squares)
    return sums, squares


@kernel
def _add_moments(features, origin, sums, squares):
    for i in range(features.shape[0]):
        for k in range(features.shape[1]):
            difference = features[i, k] - origin[k]
            sums[k] += difference
            squares[k] += difference * difference


def descend(
    objective, scorer, features: np.ndarray, start: np.ndarray, *,
    penalty: float, max_iterations: int, tolerance: float,
    at_iterate: Callable[[np.ndarray, float, float], None] | None = None,
) -> Any:  # fmt: skip
    """Minimise the penalised objective from a point; return SciPy's result, with `first`, the first gradient.

    `at_iterate` is called at every iterate with the parameters, the value and the largest component of the
    gradient.
    """
    latest, gradients = {}, []

    def function(parameters: np.ndarray):
        value, gradient = penalised(objective, scorer, parameters, features, penalty)
        latest[parameters.tobytes()] = (value, float(np.abs(gradient).max()))
        if not gradients:
            gradients.append(gradient)
        return value, gradient

    def callback(parameters: np.ndarray) -> None:
        value, norm = latest[parameters.tobytes()]
        latest.clear()
        if at_iterate is not None:
            at_iterate(parameters, value, norm)

    result = minimize(
        function, start, jac=True, method="L-BFGS-B", callback=callback,
        options={"maxiter": max_iterations, "gtol": tolerance, "ftol": 1e-12, "maxcor": 20},
    )  # fmt: skip
    result.first = gradients[0]
    return result
