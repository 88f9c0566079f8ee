"""The scorers that a model file can hold, as named tensors."""

from typing import Any

import numpy as np

from directrank.errors import ModelFormatError
from directrank.scorers import Additive, Linear, LogLinear, QueryLinear
from directrank.scorers.additive import fits as trees_fit

Tensors = dict[str, np.ndarray]


def _linear_fits(tensors: Tensors, n_features: int) -> bool:
    coefficients = tensors["coefficients"]
    return coefficients.dtype == np.float64 and coefficients.shape == (n_features,)


def _log_linear_fits(tensors: Tensors, n_features: int) -> bool:
    logarithm = tensors["logarithm"]
    flags = logarithm.dtype == np.bool_ and logarithm.shape == (n_features,)
    return flags and _linear_fits(tensors, n_features)


NODES = ("feature", "threshold", "left", "right", "offset", "slope")

#: Every kind of scorer that can be saved, by its name in the file, which never changes: the class, the
#: attributes that hold its arrays, and the check whether loaded arrays are a scorer of so many features.
SCORER_KINDS = {
    "linear": (Linear, ("coefficients",), _linear_fits),
    "log-linear": (LogLinear, ("coefficients", "logarithm"), _log_linear_fits),
    "query-linear": (QueryLinear, ("coefficients",), _linear_fits),
    "additive": (Additive, ("coefficients", "root", *NODES), trees_fit),
}


def take_apart(scorer: Any) -> tuple[str, Tensors]:
    """Return the kind of a scorer and its tensors.

    Raises
    ------
    TypeError
        If it cannot be saved.
    """
    for weak in getattr(scorer, "others", {}).values():
        name = type(getattr(weak, "classifier", weak)).__name__
        raise TypeError(
            f"a ranker over {name} weak rankers cannot be saved: a model holds trees and single features. "
            "Use stumps or a DecisionTreeClassifier."
        )
    for name, (kind, tensors, _) in SCORER_KINDS.items():
        if type(scorer) is kind:
            return name, {each: np.ascontiguousarray(getattr(scorer, each)) for each in tensors}
    known = ", ".join(kind.__name__ for kind, *_ in SCORER_KINDS.values())
    raise TypeError(f"a {type(scorer).__name__} scorer cannot be saved; those that can: {known}")


def put_together(name: str, tensors: Tensors, n_features: int) -> Any:
    """Return the scorer of a kind and its tensors.

    Raises
    ------
    ModelFormatError
        If there is no such kind, or the tensors are not a scorer of that many features.
    """
    if name not in SCORER_KINDS or sorted(tensors) != sorted(SCORER_KINDS[name][1]):
        raise ModelFormatError(f"scorer {name!r} with tensors {sorted(tensors)} is not known")
    kind, _, fits = SCORER_KINDS[name]
    if not fits(tensors, n_features):
        raise ModelFormatError(f"its tensors do not fit {n_features} features")
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise ModelFormatError("it holds a number that is not finite")
    return kind(**tensors)
