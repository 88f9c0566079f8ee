"""Oracles of surrogates on queries, from kernels and from the values of a measure; rows of an audit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from directrank.contracts import Measure, QueryPlugin, Surrogate, ValueAndGradient
from directrank.data.queries import Queries
from directrank.measures.positions import positions_of


class KernelOracles:
    """The oracles of a surrogate on some queries, from kernels.

    `kernel` takes scores, `arguments` (such as boundaries and weights of queries) and a gradient; it returns
    the weighted sum over queries, and adds its derivative to the gradient. `curvatures` takes the same, and
    adds the curvature at each score to its last argument.
    """

    def __init__(self, kernel: Callable[..., float], curvatures: Callable[..., None], *arguments: object):
        self.kernel, self.curvatures, self.arguments = kernel, curvatures, arguments

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over queries and its derivative with respect to each score."""
        gradient = np.zeros_like(scores)
        return float(self.kernel(scores, *self.arguments, gradient)), gradient

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient and curvature; see `directrank.contracts.Curvature`."""
        out = np.zeros_like(scores)
        self.curvatures(scores, *self.arguments, out)
        return *self.value_and_gradient(scores), out


class JoinedKernel(Protocol):
    """What oracles with `Reweighable` and `GradientKernel` have besides: their weights follow a ranking."""

    def joined_plugin(
        self, queries: Queries, weights: np.ndarray, parts: "Sequence[JoinedKernel]"
    ) -> QueryPlugin:
        """Return the plug-in of all queries; each of the parts writes to its arrays when it is reweighed."""
        ...


class MeasureOracles:
    """The values of a measure on some queries."""

    def __init__(self, measure: Measure, queries: Queries, weights: np.ndarray):
        self.measure, self.queries, self.weights = measure, queries, weights
        self.n_read = measure.n_read(queries)

    def query_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the measure of each query, float64 (n_queries,)."""
        return self.measure.query_values(self.queries, positions_of(self.queries, scores, n_read=self.n_read))


def means_of_alike(values: np.ndarray, alike: np.ndarray) -> np.ndarray:
    """Return for each document the mean over those with its number in `alike`, float64 (n_docs,)."""
    return np.bincount(alike, values)[alike] / np.bincount(alike)[alike]


@dataclass(frozen=True)
class AuditRow:
    """A bound on a measure, or an approximation of it, on each query of a trained model.

    Attributes
    ----------
    name, kind : str
        Such as ``exponential`` and ``type one``.
    values : ndarray of shape (n_queries,)
        In units of 1 − E.
    error : ndarray of shape (n_queries,)
        Of an approximation: how far it can be from 1 − E, by theorem; of a bound: how far the true maximum
        can be above, by proof. NaN where no theorem says anything.
    is_bound : bool
        Whether every value lies above 1 − E.
    """

    name: str
    kind: str
    values: np.ndarray
    error: np.ndarray
    is_bound: bool


def row_of_values(name: str, surrogate: Surrogate, queries: Queries, scores: np.ndarray) -> AuditRow:
    """Return the row of a surrogate's own value, computed query by query."""
    values = np.empty(queries.n_queries)
    for q in range(queries.n_queries):
        oracles = surrogate.on(queries.part(q, q + 1), np.ones(1))
        block = scores[queries.indptr[q] : queries.indptr[q + 1]]
        by_gradient = ValueAndGradient in surrogate.offers
        values[q] = oracles.value_and_gradient(block)[0] if by_gradient else oracles.value(block)
    kind = "bound" if surrogate.is_bound else "approximation"
    # No theorem says how far these approximations can be off.
    error = np.full(queries.n_queries, 0.0 if surrogate.is_bound else np.nan)
    return AuditRow(name, kind, values, error, surrogate.is_bound)
