"""Precision at a cutoff, and of the first document alone."""

from typing import Any, ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.errors import MeasureNameError
from directrank.kernels.compile import kernel
from directrank.measures.capabilities import RelevantTerms
from directrank.measures.naming.grammar import (
    Named,
    checked_choice,
    checked_cutoff,
    checked_grade,
    choice,
    grade,
)
from directrank.measures.positions import Positions
from directrank.measures.relevant import longest, n_relevant, one_class, terms
from directrank.measures.smooth.error import cutoff_error
from directrank.measures.smooth.precision import soft_precision


def read_rel(value: Any) -> dict[str, Any]:
    """Read ``rel=`` into an argument of `WTA`."""
    return {"rel": value if value == "max" else checked_grade("rel", value)}


class P(Named):
    r"""Precision: the relevant share of the first `cutoff` positions.

    .. math:: \frac{1}{k} |\{i : y_i \ge t,\; \pi_i \le k\}|

    Parameters
    ----------
    cutoff : int
        k, the last position that counts.
    rel : float, default=1
        t, the least grade of a relevant document.
    denominator : {"k", "list"}, default="k"
        What the number of relevant documents is divided by: k for a shorter query too, as if irrelevant
        documents followed; or the smaller of k and the length of the list, as XGBoost does.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Eqs. (1), (5), (16).
    """

    bare_name = "P"
    aliases = ("precision", "prec")
    parameters: ClassVar = {"rel": grade("rel"), "denominator": choice("denominator", "k", "list")}
    cutoff_is = "required"

    def __init__(self, cutoff: int, *, rel: float = 1, denominator: str = "k"):
        self.cutoff, self.rel = checked_cutoff(cutoff), checked_grade("rel", rel)
        self.denominator = checked_choice("denominator", denominator, ("k", "list"))
        if self.cutoff is None:
            raise MeasureNameError(f"{self.bare_name} needs a cutoff, such as {self.bare_name}@10")

    def printed(self) -> dict[str, Any]:
        """The parameters that are not at their defaults."""
        words: dict[str, Any] = {} if self.rel == 1 else {"rel": self.rel}
        return words if self.denominator == "k" else words | {"denominator": self.denominator}

    def leading(self, queries: Queries) -> np.ndarray:
        """Relevant documents come first; the value depends on their positions alone."""
        return n_relevant(queries, self.rel)

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without a relevant document."""
        return n_relevant(queries, self.rel) == 0

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries whose documents are all of one class, or all within the cutoff."""
        return one_class(queries, self.rel) | (queries.sizes <= self.cutoff)

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,)."""
        values = np.empty(queries.n_queries)
        cutoff = min(self.cutoff, longest(queries))
        _hits(positions.above, positions.tied, queries.indptr, self.leading(queries), cutoff, values)
        return values / self._divisor(queries)

    def position_gradient(self, queries: Queries, positions: np.ndarray, truncation: float):
        """See `PositionDifferentiable`; [1]_ (16)."""
        values = np.zeros(queries.n_queries)
        gradient = np.zeros_like(positions)
        soft_precision(
            positions, queries.indptr, self.leading(queries), self._divisor(queries), float(self.cutoff),
            float(truncation), values, gradient,
        )  # fmt: skip
        return values, gradient

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """See `Certified`; the error of [1]_ (16) on each relevant document."""
        return self.leading(queries) * cutoff_error(error, truncation, self.cutoff) / self._divisor(queries)

    def linear_in_positions(
        self, queries: Queries, places: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PositionLinear`."""
        within = np.zeros(places or longest(queries))
        within[: self.cutoff] = 1.0
        return (queries.relevance >= self.rel) / np.repeat(self._divisor(queries), queries.sizes), within

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: each position within the cutoff is worth the same."""
        inside = (np.arange(int(sizes.max(initial=1))) < self.cutoff).astype(float)
        return terms(inside, level=1.0 / self._of_sizes(sizes), n_queries=len(sizes))

    def _divisor(self, queries: Queries) -> np.ndarray:
        return self._of_sizes(queries.sizes)

    def _of_sizes(self, sizes: np.ndarray) -> np.ndarray:
        longest_list = sizes if self.denominator == "list" else self.cutoff
        return np.broadcast_to(np.minimum(longest_list, float(self.cutoff)), len(sizes))


class WTA(Named):
    r"""Winner takes all: whether the first document is relevant.

    .. math:: [\![ y_{(1)} \ge t ]\!]

    Parameters
    ----------
    rel : float or "max", default=1
        t, the least grade of a relevant document; "max" for the largest grade of the query.
    """

    bare_name = "WTA"
    aliases = ("winner_takes_all",)
    parameters: ClassVar = {"rel": read_rel}
    cutoff_is = "none"

    def __init__(self, *, rel: float | str = 1):
        self.rel = read_rel(rel)["rel"]

    def printed(self) -> dict[str, Any]:
        """The parameters that are not at their defaults."""
        return {} if self.rel == 1 else {"rel": self.rel}

    def leading(self, queries: Queries) -> np.ndarray:
        """Relevant documents come first; the value depends on their positions alone."""
        if self.rel != "max":
            return n_relevant(queries, self.rel)
        return queries.once("of the largest grade", lambda: _n_best(queries))

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without a relevant document."""
        return self.leading(queries) == 0

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries whose documents are all relevant, or all not."""
        return (self.leading(queries) == 0) | (self.leading(queries) == queries.sizes)

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,)."""
        values = np.empty(queries.n_queries)
        _hits(positions.above, positions.tied, queries.indptr, self.leading(queries), 1, values)
        return values

    def linear_in_positions(
        self, queries: Queries, places: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PositionLinear`."""
        first = np.zeros(places or longest(queries))
        first[:1] = 1.0
        place = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
        return (place < np.repeat(self.leading(queries), queries.sizes)).astype(np.float64), first

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: only the first position is worth anything."""
        winner = (np.arange(int(sizes.max(initial=1))) < 1).astype(float)
        return terms(winner, level=1.0, n_queries=len(sizes))

    @property
    def fixed_places(self) -> int:
        """The first position decides."""
        return 1


def _n_best(queries: Queries) -> np.ndarray:
    largest = np.repeat(queries.relevance[queries.indptr[:-1]], queries.sizes)
    reached = np.concatenate(([0], np.cumsum((queries.relevance == largest) & (largest > 0))))
    return reached[queries.indptr[1:]] - reached[queries.indptr[:-1]]


def hits_naive(above, tied, cutoff) -> float:
    """Expected number of relevant documents within the cutoff, of one query, for tests."""
    return float(sum(np.mean(np.arange(a, a + m) < cutoff) for a, m in zip(above, tied, strict=True)))


@kernel
def _hits(above, tied, indptr, leading, cutoff, values):
    # Counting by place, not by document, makes the value independent of the order of rows, bit for bit.
    relevant, size = np.empty(cutoff, np.int64), np.empty(cutoff, np.int64)
    for q in range(len(indptr) - 1):
        length = min(cutoff, indptr[q + 1] - indptr[q])
        for p in range(length):
            relevant[p], size[p] = 0, 1
        for i in range(indptr[q], indptr[q] + leading[q]):
            a = above[i]
            if a < length:
                relevant[a] += 1
                size[a] = tied[i]
        value = 0.0
        for p in range(length):
            value += relevant[p] * min(size[p], length - p) / size[p]
        values[q] = value
