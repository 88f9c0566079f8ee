"""Oracles: what a solver may ask of an objective, one Protocol each.

All take one flat vector of scores, shape (n_docs,), float32 or float64. A bound surrogate has them for its
own queries, each counted with its weight; an objective adds up over all queries, under the same names. A
surrogate `offers` a set of these types, and a solver `needs` some and `uses` others where they are offered:
it calls the methods of the types that it declares and no others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Step:
    """A step along a direction of scores.

    Attributes
    ----------
    size : float
        0 where no step helps; negative where a step backwards does.
    decrease : float
        How much the objective falls: at least, in closed form; measured, after a search.
    gained, lost : float
        Weight of the pairs that the direction puts right, and of those it inverts; NaN after a search.
    """

    size: float
    decrease: float
    gained: float = float("nan")
    lost: float = float("nan")


@runtime_checkable
class Value(Protocol):
    """The value alone."""

    def value(self, scores: np.ndarray) -> float:
        """Return the weighted sum over queries."""
        ...


@runtime_checkable
class ValueAndGradient(Protocol):
    """The value and its first derivative."""

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over queries and its derivative, (n_docs,), of the type of `scores`."""
        ...


@runtime_checkable
class Curvature(Protocol):
    """The diagonal of the second derivative, made positive."""

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """Return how fast the derivative with respect to each score changes, (n_docs,), ≥ 0.

        It is the exact diagonal where the surrogate is convex with a second derivative everywhere, and for
        hinges that of a parabola above them. For smooth positions it bounds the diagonal of the measure made
        linear in them; the measure itself can bend many times as much. Elsewhere it bounds the diagonal's
        absolute value. It is 0 only where the derivative with respect to that score is 0 for good, as for the
        documents of a query of weight 0, or by underflow.
        """
        ...


@runtime_checkable
class HessianVector(Protocol):
    """The second derivative."""

    def hessian_vector(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the second derivative at `scores` times a direction of scores, (n_docs,)."""
        ...


@runtime_checkable
class Targets(Protocol):
    """The scores that a closed form fits."""

    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the score that each document should have, and its weight, float64 (n_docs,)."""
        ...


@runtime_checkable
class QueryValues(Protocol):
    """The measure, query by query."""

    def query_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the measure of each query, float64 (n_queries,)."""
        ...


@runtime_checkable
class QueryWeights(Protocol):
    """The weights of boosting over queries."""

    def query_weights(self, scores: np.ndarray) -> np.ndarray:
        """Return the weight of each query, float64 (n_queries,); 0 for queries that are skipped."""
        ...


@runtime_checkable
class DocumentWeights(Protocol):
    """The weights of boosting over documents."""

    def document_weights(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over queries and minus its derivative, (n_docs,)."""
        ...


@runtime_checkable
class StepAlong(Value, Protocol):
    """The best step along a direction of scores: in closed form from sums, else by a search for the value.

    An objective has `step_along`, which combines these methods.
    """

    def has_closed_form(self, direction: np.ndarray) -> bool:
        """Say whether the step along a direction has a closed form."""
        ...

    def along(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return what the closed form reads; such arrays add up over queries."""
        ...

    def closed_form_step(self, sums: np.ndarray) -> Step:
        """Return the step that the sums over all queries give."""
        ...


@runtime_checkable
class WindowStep(Value, Protocol):
    """The step along a direction to the best average over a window; see `window_step_along`."""

    def line_sums(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return what the step is computed from; such arrays add up over queries."""
        ...

    def window_step(self, sums: np.ndarray) -> Step:
        """Return the step that the sums give; its decrease is that of the average."""
        ...


@runtime_checkable
class MostViolated(Protocol):
    """One cut per query: a plane below its value that touches it."""

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the offset of each query's cut, float64 (n_queries,), and its direction, (n_docs,).

        The value of query q, not weighted, is ``offsets[q] + direction[rows] @ scores[rows]``.
        """
        ...


@runtime_checkable
class ViolatedPairs(Protocol):
    """Pairs of a perfect and an imperfect ranking, for working sets of rankings."""

    def violated_pairs(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return each query's perfect ranking of least F and its imperfect one of greatest F.

        Returns
        -------
        perfect, imperfect : ndarray of shape (n_docs,), float64
            F of each as coefficients of the scores; zeros for a query without an imperfect ranking.
        losses : ndarray of shape (n_queries,), float64
            The measure of the first less that of the second.
        """
        ...

    def pair_loss(self) -> Any:
        """Return what a pair adds to the bound, a `directrank.surrogates.rankings.working_set.PairLoss`."""
        ...


@runtime_checkable
class Reweighable(Protocol):
    """Weights that depend on the ranking."""

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix the weights at the ranking of these scores."""
        ...


@runtime_checkable
class ApproximationErrors(Protocol):
    """How far an approximation is from its measure."""

    def approximation_errors(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return each query's error, and a proved bound on it, float64 (n_queries,)."""
        ...


@runtime_checkable
class GradientKernel(Protocol):
    """The gradient inside a compiled loop over queries.

    Where weights follow a ranking (`Reweighable`) there is ``joined_plugin(queries, weights, parts)`` too:
    the plug-in of all queries, with the arrays to which each of its parts writes when it fixes its weights.
    """

    def gradient_plugin(self) -> Any:
        """Return the arrays that `directrank.kernels.plugins.query_gradient` reads."""
        ...


@runtime_checkable
class CutKernel(Protocol):
    """The most violated cut inside a compiled loop over queries."""

    def cut_plugin(self) -> Any:
        """Return the arrays that `directrank.kernels.plugins.cut_of_query` reads."""
        ...


@runtime_checkable
class Staged(Protocol):
    """An objective that is reached through easier ones."""

    @property
    def stages(self) -> Sequence[Any]:
        """Objectives on the same data to minimise before this one, each from where the one before ended."""
        ...


@dataclass(frozen=True)
class Part:
    """Some consecutive queries of an objective: their rows and numbers, and the oracles on their scores."""

    rows: slice
    queries: slice
    oracles: Any
