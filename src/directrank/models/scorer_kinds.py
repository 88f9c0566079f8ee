"""The scorers that a model file can hold, as named tensors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrank.errors import ModelFormatError
from directrank.scorers import Additive, Linear
from directrank.scorers.additive import fits as trees_fit

Tensors = dict[str, np.ndarray]


@dataclass(frozen=True)
class ScorerKind:
    """A class of scorers, the attributes that hold its arrays, and the check of loaded arrays.

    ``fits(tensors, n_features)`` says whether the tensors are a scorer of that many features.
    """

    scorer: type
    tensors: tuple[str, ...]
    fits: Callable[[Tensors, int], bool]


def _linear_fits(tensors: Tensors, n_features: int) -> bool:
    coefficients = tensors["coefficients"]
    return coefficients.dtype == np.float64 and coefficients.shape == (n_features,)


NODES = ("feature", "threshold", "left", "right", "offset", "slope")

#: Every kind of scorer that can be saved, by its name in the file, which never changes.
SCORER_KINDS = {
    "linear": ScorerKind(Linear, ("coefficients",), _linear_fits),
    "additive": ScorerKind(Additive, ("coefficients", "root", *NODES), trees_fit),
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
    for name, kind in SCORER_KINDS.items():
        if type(scorer) is kind.scorer:
            return name, {each: np.ascontiguousarray(getattr(scorer, each)) for each in kind.tensors}
    known = ", ".join(kind.scorer.__name__ for kind in SCORER_KINDS.values())
    raise TypeError(f"a {type(scorer).__name__} scorer cannot be saved; those that can: {known}")


def put_together(name: str, tensors: Tensors, n_features: int) -> Any:
    """Return the scorer of a kind and its tensors.

    Raises
    ------
    ModelFormatError
        If there is no such kind, or the tensors are not a scorer of that many features.
    """
    kind = SCORER_KINDS.get(name)
    if kind is None or sorted(tensors) != sorted(kind.tensors):
        raise ModelFormatError(f"scorer {name!r} with tensors {sorted(tensors)} is not known")
    if not kind.fits(tensors, n_features):
        raise ModelFormatError(f"its tensors do not fit {n_features} features")
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise ModelFormatError("it holds a number that is not finite")
    return kind.scorer(**tensors)
