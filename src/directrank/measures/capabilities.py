"""What some measures can do besides judging a ranking, for surrogates that ask for it."""

from typing import Protocol, runtime_checkable

import numpy as np

from directrank.contracts import Measure, PositionDifferentiable
from directrank.data.queries import Queries


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
        self, queries: Queries, places: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a, of shape (n_docs,), and b, of `places` (the longest query's): E = Σ_i a_i b[π_i − 1].

        Exchanging two documents changes E by (a_i − a_j)(b[π_j − 1] − b[π_i − 1]). Both are float64 and
        not negative; a is zero beyond the `leading` documents.
        """
        ...
