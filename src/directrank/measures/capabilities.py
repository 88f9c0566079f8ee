"""What some measures can do besides evaluating a ranking, for surrogates that need it."""

from typing import Protocol, runtime_checkable

import numpy as np

from directrank.contracts import KernelPlugin, Measure
from directrank.data.queries import Queries
from directrank.measures.families.definition import RelevantTerms

__all__ = ["PositionLinear", "Swappable", "TwoClassMeasure"]


@runtime_checkable
class PositionDifferentiable(Measure, Protocol):
    """A measure that is also defined, and differentiable, at fractional positions."""

    def position_gradient(
        self, queries: Queries, positions: np.ndarray, truncation: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Value of each query and its derivative with respect to the position of each document.

        Parameters
        ----------
        queries : Queries
        positions : ndarray of shape (n_docs,)
            Fractional positions ≥ 1; only those of the first `n_read` documents of each query are used.
        truncation : float
            Steepness of the logistic that replaces a comparison of two positions, in 1/position.

        Returns
        -------
        values : ndarray of shape (n_queries,), float64
        gradient : ndarray of shape (n_docs,), dtype of `positions`; zero beyond the first `n_read` documents.
        """
        ...


@runtime_checkable
class PositionFormed(PositionDifferentiable, Protocol):
    """A measure whose `position_gradient` a compiled loop can also compute query by query."""

    def position_form(self, queries: Queries, truncation: float) -> KernelPlugin:
        """Return the arrays that `directrank.kernels.plugins.position_slopes` reads."""
        ...


@runtime_checkable
class TwoClassMeasure(Measure, Protocol):
    """A measure that, for relevant and irrelevant documents, is a sum over the relevant ones."""

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """The terms for queries of `sizes` documents of which `n_relevant` are relevant."""
        ...


@runtime_checkable
class PositionBounded(Measure, Protocol):
    """A measure that falls at most linearly with the position of each document."""

    def position_slopes(self, queries: Queries) -> np.ndarray:
        """Slopes u ≥ 0 of the documents, float64 (n_docs,); 0 beyond the first `n_read` documents.

        For every ranking of a query, E(π) ≥ E₁ − Σ u (π − 1), where E₁ is the sum over documents if each of
        them were at position 1.
        """
        ...


@runtime_checkable
class Standardised(Measure, Protocol):
    """A measure with a standard form of its supervision (Buffoni et al. 2011, Definition 4).

    For every distribution of relevance, ranking by the expected standard form is best in expectation.
    """

    def supervision(self, queries: Queries) -> np.ndarray:
        """The standard form r(y) ≥ 0 of each document, float64 (n_docs,)."""
        ...


@runtime_checkable
class Certified(PositionDifferentiable, Protocol):
    """A measure that bounds its own error at fractional positions."""

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """Bound the error of each query's smooth value, float64 (n_queries,).

        `error`, of shape (n_queries,), is the largest error of a position that the measure reads; the
        measure is that of whole positions.
        """
        ...


@runtime_checkable
class PositionLinear(Measure, Protocol):
    """A measure that adds up over documents, each by its own position."""

    def linear_in_positions(
        self, queries: Queries, n_ranks: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a, of shape (n_docs,), and b, of `n_ranks` (the longest query's): E = Σ_i a_i b[π_i − 1].

        Swapping two documents changes E by (a_i − a_j)(b[π_j − 1] − b[π_i − 1]). Both are float64, not
        negative and not to be written to; a is zero beyond the first `n_read` documents.
        """
        ...


@runtime_checkable
class Swappable(Measure, Protocol):
    """A measure with a closed form for the change when two documents are swapped."""

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """|E after the swap − E| of all pairs of different relevance, float64 (n_pairs,).

        `rank` holds the rank of each document in its query, from 0, int64 (n_docs,), all different. The order
        of pairs is that of `directrank.measures.exchange.PairTable`. Measures without a closed form
        are evaluated after each swap.
        """
        ...
