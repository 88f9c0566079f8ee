"""How a fit ended: numbers that are not finite are refused, and a fit that has not converged has a remedy."""

import warnings
from typing import Any

import numpy as np

from directrank.contracts import Solution
from directrank.errors import MethodError

#: Ends of a fit after which there is nothing to mend.
GOOD = ("converged", "complete")
#: Parameters that limit a run, of which an estimator has one or two.
BUDGETS = ("max_iterations", "max_passes", "rounds", "cycles")

#: The remedy where features are raw, or nothing else can be changed.
SCALE = "scale the features"


def check_finite(ranker: Any, solution: Solution) -> None:
    """Raise `MethodError` if a coefficient or a number of the certificate is not finite."""
    coefficients = getattr(solution.scorer, "coefficients", 0.0)
    wrong = [
        f"its {name.replace('_', ' ')} is"
        for name, value in solution.certificate.items()
        if not np.isfinite(value)
    ]
    if coefficients is None or not np.isfinite(np.asarray(coefficients, np.float64)).all():
        wrong.insert(0, "its coefficients are")
    if wrong:
        easier = ", or ".join(_milder(ranker)) or SCALE
        raise MethodError(f"{type(ranker).__name__} has diverged, {wrong[0]} not finite: {easier}")


def warn_of_stop(ranker: Any) -> None:
    """Warn if the training of a fitted ranker stopped before it converged."""
    if ranker.status_ == "stopped":
        text = f"{type(ranker).__name__} stopped early: {ranker.message_}; {remedy(ranker)}"
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def remedy(ranker: Any) -> str:
    """Return what may let the training of a fitted ranker converge, or nothing if there is no need."""
    if ranker.status_ in GOOD:
        return ""
    limits = [each for each in BUDGETS if each in ranker.get_params(deep=False)]
    more = [f"raise {' or '.join(limits)}"] if ranker.status_ == "budget" and limits else []
    return ", or ".join([*more, *_milder(ranker)]) or SCALE


def _milder(ranker: Any) -> list[str]:
    """Return what makes a problem easier: features of one scale, and steps or a model that are held back."""
    parameters = ranker.get_params(deep=False)
    changes = {"penalty": "raise penalty", "C": "lower C", "rankers": "change these rankers"}
    found = [text for name, text in changes.items() if name in parameters]
    is_scaled = getattr(ranker, "scaling_", "none") != "none" or {"members", "rankers"} & set(parameters)
    found = found if is_scaled else [SCALE, *found]
    return [*found, "lower learning_rate"] if parameters.get("solver") == "sgd" else found
