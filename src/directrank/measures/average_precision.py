"""Average precision."""

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.capabilities import RelevantTerms
from directrank.measures.exchange.tables import ap_swaps, pair_table
from directrank.measures.naming.grammar import (
    Named,
    checked_choice,
    checked_cutoff,
    checked_grade,
    choice,
    grade,
)
from directrank.measures.positions import Positions
from directrank.measures.relevant import longest, n_relevant, one_class, reciprocals, terms
from directrank.measures.smooth.error import comparison_error, cutoff_error, reciprocal_sums
from directrank.measures.smooth.precision import PrecisionForm, soft_ap


class AP(Named):
    r"""Average precision: the mean, over relevant documents, of the precision at their positions.

    .. math:: \frac{1}{R} \sum_{i : y_i \ge t, \pi_i \le k} \frac{|\{j : y_j \ge t, \pi_j \le \pi_i\}|}{\pi_i}

    Parameters
    ----------
    cutoff : int, optional
        k, the last position that counts; all by default.
    rel : float, default=1
        t, the least grade of a relevant document.
    denominator : {"relevant", "min"}, default="relevant"
        What the sum is divided by: R, all relevant documents of the query; or the smaller of R and k, as
        LightGBM and XGBoost do.

    Notes
    -----
    The mean of AP over queries is called MAP. Under random order of ties a relevant document at place p of a
    block of m documents, r of them relevant, has (p − 1)(r − 1)/(m − 1) others before it there, whence a
    closed form with harmonic numbers [2]_.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Eqs. (2), (7), (14), (15).
    .. [2] F. McSherry, M. Najork, "Computing information retrieval performance measures efficiently in the
       presence of tied scores", ECIR 2008.
    """

    bare_name = "AP"
    aliases = ("MAP", "map_cut", "average_precision")
    parameters: ClassVar = {"rel": grade("rel"), "denominator": choice("denominator", "relevant", "min")}

    def __init__(self, cutoff: int | None = None, *, rel: float = 1, denominator: str = "relevant"):
        self.cutoff, self.rel = checked_cutoff(cutoff), checked_grade("rel", rel)
        self.denominator = checked_choice("denominator", denominator, ("relevant", "min"))

    def printed(self) -> dict[str, Any]:
        """The parameters that are not at their defaults."""
        words: dict[str, Any] = {} if self.rel == 1 else {"rel": self.rel}
        return words if self.denominator == "relevant" else words | {"denominator": self.denominator}

    def leading(self, queries: Queries) -> np.ndarray:
        """Relevant documents come first; the value depends on their positions alone."""
        return n_relevant(queries, self.rel)

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without a relevant document."""
        return n_relevant(queries, self.rel) == 0

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries whose documents are all relevant, or all not."""
        return one_class(queries, self.rel)

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        sums = np.empty(queries.n_queries)
        places = longest(queries)
        cutoff = min(self.cutoff or places, places)
        _ap(
            positions.above, positions.tied, queries.indptr, self.leading(queries), harmonic_numbers(places),
            cutoff, np.empty(places, np.uint8), np.empty(2 * places, np.int32), sums,
        )  # fmt: skip
        return np.minimum(sums / self._divisor(queries), 1.0)

    def position_gradient(self, queries: Queries, positions: np.ndarray, truncation: float):
        """See `PositionDifferentiable`; [1]_ (15), and (16) for a cutoff."""
        values = np.zeros(queries.n_queries)
        gradient = np.zeros(len(positions), positions.dtype)
        form, room = self.position_form(queries, truncation), np.empty(longest(queries))
        soft_ap(form, queries.indptr, self.leading(queries), positions, room, values, gradient)
        return values, gradient

    def position_form(self, queries: Queries, truncation: float) -> PrecisionForm:
        """See `PositionFormed`."""
        cutoff = float(self.cutoff) if self.cutoff else math.inf
        return PrecisionForm(self._divisor(queries), cutoff, float(truncation))

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """See `Certified`; a proved form of [1]_ Theorem 2, and the error of (16) for a cutoff."""
        relevant = self.leading(queries)
        terms = error + np.maximum(relevant - 1, 0) * comparison_error(error, truncation)
        bound = terms * reciprocal_sums(relevant, error)
        return (bound + relevant * cutoff_error(error, truncation, self.cutoff)) / self._divisor(queries)

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: the i-th relevant document adds i / p, divided by their number."""
        growth = 1.0 / self._of_relevant(n_relevant)
        return terms(reciprocals(sizes, self.cutoff), growth=growth, n_queries=len(sizes))

    def swap_differences(self, queries: Queries, place: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        pairs = pair_table(queries)
        table, worth = np.zeros(pairs.n_pairs), np.append(0.0, reciprocals(queries.sizes, self.cutoff))
        ap_swaps(
            place, queries.indptr, self.leading(queries), pairs.below, pairs.start, worth,
            self._divisor(queries), table,
        )  # fmt: skip
        return table

    def _divisor(self, queries: Queries) -> np.ndarray:
        key = ("divisor of AP", self.rel, self.denominator, self.cutoff)
        return queries.once(key, lambda: self._of_relevant(n_relevant(queries, self.rel)))

    def _of_relevant(self, relevant: np.ndarray) -> np.ndarray:
        if self.denominator == "min" and self.cutoff:
            relevant = np.minimum(relevant, self.cutoff)
        return np.maximum(relevant, 1.0)


@lru_cache(64)
def harmonic_numbers(places: int) -> np.ndarray:
    """Return the sums of 1/p over the first 0, 1, …, `places` positions, not to be written to."""
    return np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, places + 1))))


def ap_naive(above, tied, divisor, cutoff) -> float:
    """Expected AP of one query from the positions of its relevant documents, for tests."""
    total = 0.0
    for a, m in zip(above, tied, strict=True):
        ahead = sum(above < a)
        others = sum(above == a) - 1
        for p in range(a, min(a + m, cutoff)):
            beside = others * (p - a) / (m - 1) if m > 1 else 0.0
            total += (1.0 + ahead + beside) / (p + 1) / m
    return total / divisor


@kernel
def _ap(above, tied, indptr, leading, harmonic, cutoff, flags, room, sums):
    # Terms add up by place, not by document, so the value is independent of the order of rows, bit for bit.
    for q in range(len(leading)):
        start, lead, n = indptr[q], indptr[q] + leading[q], indptr[q + 1] - indptr[q]
        a, m, relevant = above[start:lead], tied[start:lead], flags[:n]
        for p in range(n):
            relevant[p] = 0
        ties = 0
        for i in range(len(a)):
            flags[np.uint64(a[i])] = 1
            ties += m[i] != 1
        if ties > 0:
            sums[q] = _sum_with_ties(a, m, harmonic, n, min(n, cutoff), room)
            continue
        found = np.uint64(0)
        for p in range(min(n, cutoff)):
            room[found] = p  # the next relevant place overwrites any other
            found += np.uint64(relevant[p])
        value = 0.0
        for i in range(np.int64(found)):
            value += (i + 1.0) / (room[i] + 1.0)
        sums[q] = value


@kernel
def _sum_with_ties(above, tied, harmonic, n, cutoff, room):
    relevant, size = room[:n], room[n : 2 * n]
    for p in range(n):
        relevant[p] = 0
    for p in range(n):
        size[p] = 1
    for i in range(len(above)):
        relevant[above[i]] += 1
        size[above[i]] = tied[i]
    value, ahead = 0.0, 0
    for p in range(cutoff):
        r, m = relevant[p], size[p]
        if m == 1:
            value += r * (ahead + 1.0) / (p + 1.0)
        else:
            b, c = min(p + m, cutoff), (r - 1.0) / (m - 1.0)
            rest = ahead + 1.0 - c * (p + 1.0)
            value += r / m * (rest * (harmonic[b] - harmonic[p]) + c * (b - p))
        ahead += r
    return value
