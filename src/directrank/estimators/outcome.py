"""How a fit ended: numbers that are not finite are refused, and a fit that has not converged has a remedy."""

import warnings
from typing import Any

import numpy as np

from directrank.contracts import Solution
from directrank.errors import MethodError

#: Ends of a fit after which there is nothing to mend.
GOOD = ("converged", "complete")
#: Parameters that limit a run, of which an estimator has one or two.
BUDGETS = ("max_iterations", "max_passes", "rounds")


def adopt(ranker: Any, solution: Solution) -> None:
    """Store in a ranker how its training ended.

    Raises
    ------
    MethodError
        If a coefficient or a number of the certificate is not finite.

    Warns
    -----
    RuntimeWarning
        If training stopped before it converged.
    """
    name = type(ranker).__name__
    found = _not_finite(solution)
    if found:
        raise MethodError(f"{name} has diverged, its {found} is not finite: {', or '.join(_milder(ranker))}")
    ranker.status_, ranker.certificate_ = solution.status, solution.certificate
    ranker.message_ = solution.message
    if ranker.status_ == "stopped":
        text = f"{name} stopped early: {ranker.message_}; {remedy(ranker)}"
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def remedy(ranker: Any) -> str:
    """Return what may let the training of a fitted ranker converge, or nothing if there is no need."""
    if ranker.status_ in GOOD:
        return ""
    limits = [each for each in BUDGETS if each in ranker.get_params(deep=False)]
    more = [f"raise {' or '.join(limits)}"] if ranker.status_ == "budget" and limits else []
    return ", or ".join([*more, *_milder(ranker)])


def _milder(ranker: Any) -> list[str]:
    """Return what makes a problem easier: features of one scale, and steps or a model that are held back."""
    parameters = ranker.get_params(deep=False)
    changes = {"penalty": "raise penalty", "C": "lower C"}
    found = ["scale the features", *(text for name, text in changes.items() if name in parameters)]
    return [*found, "lower learning_rate"] if parameters.get("solver") == "sgd" else found


def _not_finite(solution: Solution) -> str:
    """Return the name of what is not finite in a solution, or nothing."""
    numbers = {**solution.certificate, "coefficients": getattr(solution.scorer, "coefficients", 0.0)}
    for name, values in numbers.items():
        if values is None or not np.isfinite(np.asarray(values, np.float64)).all():
            return name.replace("_", " ")
    return ""
