"""Which scorers a model file can hold, and as which tensors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrank.scorers import Additive, Linear
from directrank.scorers.additive import fits as trees_fit


@dataclass(frozen=True)
class ScorerKind:
    """A scorer as named tensors.

    Attributes
    ----------
    name : str
        As written in the file; never changes.
    scorer : type
    tensors : tuple of str
        Attributes of the scorer, and parameters of its constructor, that hold its arrays.
    fits : callable
        Whether the loaded tensors are a scorer of so many features: ``fits(tensors, n_features)``.
    check : callable
        Raises TypeError for a scorer of this kind that tensors cannot hold.
    """

    name: str
    scorer: type
    tensors: tuple[str, ...]
    fits: Callable[[dict[str, np.ndarray], int], bool]
    check: Callable[[Any], None] = lambda scorer: None

    def take_apart(self, scorer: Any) -> dict[str, np.ndarray]:
        """Return the tensors of a scorer."""
        return {name: np.ascontiguousarray(getattr(scorer, name)) for name in self.tensors}

    def put_together(self, tensors: dict[str, np.ndarray]) -> Any:
        """Return the scorer of some tensors."""
        return self.scorer(**tensors)


def _linear_fits(tensors: dict[str, np.ndarray], n_features: int) -> bool:
    coefficients = tensors["coefficients"]
    return coefficients.dtype == np.float64 and coefficients.shape == (n_features,)


def _only_trees(scorer: Additive) -> None:
    for weak in scorer.others.values():
        name = type(getattr(weak, "classifier", weak)).__name__
        raise TypeError(
            f"a ranker over {name} weak rankers cannot be saved: a model holds trees and single features. "
            "Use stumps or a DecisionTreeClassifier."
        )


NODES = ("feature", "threshold", "left", "right", "offset", "slope")

#: Every kind of scorer that can be saved.
SCORER_KINDS = (
    ScorerKind("linear", Linear, ("coefficients",), _linear_fits),
    ScorerKind("additive", Additive, ("coefficients", "root", *NODES), trees_fit, _only_trees),
)


def kind_of(scorer: Any) -> ScorerKind:
    """Return the kind of a scorer.

    Raises
    ------
    TypeError
        If it cannot be saved.
    """
    for kind in SCORER_KINDS:
        if type(scorer) is kind.scorer:
            kind.check(scorer)
            return kind
    known = ", ".join(kind.scorer.__name__ for kind in SCORER_KINDS)
    raise TypeError(f"a {type(scorer).__name__} scorer cannot be saved; those that can: {known}")
