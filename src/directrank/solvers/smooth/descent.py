"""A run of L-BFGS from one point, shared by the solvers that are made of such runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from directrank.solvers.smooth.passes import penalised


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
