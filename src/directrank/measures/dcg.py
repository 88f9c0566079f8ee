"""Discounted cumulative gain, as it stands and divided by its ideal."""

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.kernels.compile import kernel
from directrank.measures.capabilities import RelevantTerms
from directrank.measures.naming.grammar import Named, checked_choice, checked_cutoff
from directrank.measures.positions import Positions, perfect_positions
from directrank.measures.relevant import longest, terms
from directrank.measures.smooth.error import cutoff_error
from directrank.measures.smooth.gain import GainForm, logarithms, soft_dcg

MAX_EXPONENTIAL_GRADE = 31
# D(p) = 1 / log2(max(p + shift, 2)); the shift of each named discount.
SHIFTS = {"log2": 1.0, "letor": 0.0}
# What ``dcg=`` says in a name: gain and discount.
DCG_WORDS = {
    "exp-log2": ("exponential", "log2"),
    "log2": ("linear", "log2"),
    "exp-letor": ("exponential", "letor"),
    "letor": ("linear", "letor"),
}


def gains(queries: Queries, gain: str) -> np.ndarray:
    """Return the gain of each document, float64 (n_docs,).

    Raises
    ------
    DataError
        If a grade above 31 meets the exponential gain.
    """
    if gain == "linear":
        return queries.relevance
    if queries.max_relevance > MAX_EXPONENTIAL_GRADE:
        raise DataError(
            f"relevance {queries.max_relevance:g} is too large for the gain 2^y - 1 (at most "
            f"{MAX_EXPONENTIAL_GRADE}); use the linear gain, nDCG(dcg='log2'), or smaller grades"
        )
    return queries.once("exponential gain", lambda: np.exp2(queries.relevance) - 1.0)


def leading_gains(queries: Queries, gain: str) -> np.ndarray:
    """Return the gains of the documents that have one, close together: a kernel then reads no others."""
    key = ("leading gains", gain)
    return queries.once(key, lambda: gains(queries, gain)[queries.relevance > 0])


def discounts(length: int, discount: str) -> np.ndarray:
    """Return the discounts of positions 1 to `length`, float64."""
    return 1.0 / np.log2(np.maximum(np.arange(1.0, length + 1) + SHIFTS[discount], 2.0))


@lru_cache(64)
def worth_of_places(length: int, discount: str, cutoff: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the discounts of positions, 0 beyond the cutoff, and their sums from 0; not to be written to."""
    worth = discounts(length, discount)
    worth[cutoff or length :] = 0.0
    return worth, np.concatenate(([0.0], np.cumsum(worth)))


def gain_and_discount(words: str) -> dict[str, Any]:
    """Read ir_measures' ``dcg=`` into arguments of `DCG`."""
    checked_choice("dcg", words, tuple(DCG_WORDS))
    gain, discount = DCG_WORDS[words]
    return {"gain": gain, "discount": discount}


class DCG(Named):
    r"""Discounted cumulative gain of the first `cutoff` positions.

    .. math:: \sum_{i : \pi_i \le k} g(y_i) \, D(\pi_i)

    Parameters
    ----------
    cutoff : int, optional
        The last position that counts; all by default.
    gain : {"exponential", "linear"}, default="exponential"
        :math:`2^y - 1` or :math:`y`.
    discount : {"log2", "letor"}, default="log2"
        :math:`1/\log_2(1 + p)`; or LETOR's, which is 1 at positions 1 and 2 and :math:`1/\log_2 p` after.

    References
    ----------
    .. [1] K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20, 2002.
    .. [2] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    normalised = False
    graded = True
    bare_name = "DCG"
    aliases = ("dcg_cut",)
    parameters: ClassVar = {"dcg": gain_and_discount}

    def __init__(self, cutoff: int | None = None, *, gain="exponential", discount="log2"):
        self.cutoff = checked_cutoff(cutoff)
        self.gain = checked_choice("gain", gain, ("exponential", "linear"))
        self.discount = checked_choice("discount", discount, tuple(SHIFTS))

    def printed(self) -> dict[str, Any]:
        """Gain and discount, unless they are ours."""
        words = next(words for words, pair in DCG_WORDS.items() if pair == (self.gain, self.discount))
        return {} if words == "exp-log2" else {"dcg": words}

    def with_dcg(self, words: str) -> "DCG":
        """Return the measure with another gain and discount, in the words of ``dcg=``."""
        return type(self)(self.cutoff, **gain_and_discount(words))

    def leading(self, queries: Queries) -> np.ndarray:
        """Documents with a gain come first; the value depends on their positions alone."""
        return queries.n_positive

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without a gain."""
        return queries.n_positive == 0

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries whose documents all have the same gain."""
        first, last = queries.indptr[:-1], queries.indptr[1:] - 1
        return queries.relevance[first] == queries.relevance[last]

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,)."""
        values, places = np.empty(queries.n_queries), longest(queries)
        worth, total = worth_of_places(places, self.discount, self.cutoff)
        _dcg(
            leading_gains(queries, self.gain), positions.above, positions.tied, queries.indptr,
            queries.n_positive, worth, total, self.cutoff or places, np.empty(places + 1), values,
        )  # fmt: skip
        # A tied block of the best documents may round to a hair above the ideal.
        return np.minimum(values / self._norm(queries), 1.0) if self.normalised else values

    def position_gradient(self, queries: Queries, positions: np.ndarray, truncation: float):
        """See `PositionDifferentiable`; [2]_ (13), and (16) for a cutoff."""
        values = np.zeros(queries.n_queries)
        gradient = np.zeros(len(positions), positions.dtype)
        form, room = self.position_form(queries, truncation), np.empty(longest(queries))
        soft_dcg(form, queries.n_positive, positions, room, values, gradient)
        return values, gradient

    def position_form(self, queries: Queries, truncation: float) -> GainForm:
        """See `PositionFormed`."""
        cutoff = float(self.cutoff) if self.cutoff else math.inf
        return GainForm(
            gains(queries, self.gain), queries.indptr, self._norm(queries),
            SHIFTS[self.discount], logarithms(longest(queries)), cutoff, float(truncation),
        )  # fmt: skip

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """See `Certified`; [2]_ Theorem 3, and the error of (16) on every gain for a cutoff."""
        everything = DCG(gain=self.gain, discount=self.discount)
        ideal = everything.query_values(queries, perfect_positions(queries))
        off = error / (2.0 * math.log(2.0)) + cutoff_error(error, truncation, self.cutoff)
        return off * ideal / self._norm(queries)

    def linear_in_positions(
        self, queries: Queries, places: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PositionLinear`."""
        places = places or longest(queries)
        worth = discounts(places, self.discount)
        worth[self.cutoff or places :] = 0.0
        return gains(queries, self.gain) / np.repeat(self._norm(queries), queries.sizes), worth

    def position_slopes(self, queries: Queries) -> np.ndarray:
        """See `PositionBounded`: gain over ideal, times the steepest chord of the discount from place 1."""
        return queries.once(("position slopes", self.name), lambda: self._position_slopes(queries))

    def _position_slopes(self, queries: Queries) -> np.ndarray:
        discount = discounts(max(longest(queries), 1), self.discount)
        discount[self.cutoff or len(discount) :] = 0.0
        chords = (discount[0] - discount[1:]) / np.arange(1.0, len(discount))
        # The chord to the last place of a query: those beyond it do not exist for it.
        steepest = np.concatenate(([0.0], np.maximum.accumulate(chords)))[np.maximum(queries.sizes, 1) - 1]
        return gains(queries, self.gain) * np.repeat(steepest / self._norm(queries), queries.sizes)

    def supervision(self, queries: Queries) -> np.ndarray:
        """See `Standardised`: the gain, divided by the ideal if normalised; for every cutoff."""
        return gains(queries, self.gain) / np.repeat(self._norm(queries), queries.sizes)

    def _norm(self, queries: Queries) -> np.ndarray:
        """What the sum of each query is divided by; 1 where the query is undefined."""
        return np.ones(queries.n_queries)


class NDCG(DCG):
    r"""DCG divided by the DCG of the best ranking, in [0, 1].

    Parameters
    ----------
    cutoff : int, optional
        The last position that counts, here and in the ideal; all by default.
    gain : {"exponential", "linear"}, default="exponential"
        :math:`2^y - 1` or :math:`y`.
    discount : {"log2", "letor"}, default="log2"
        :math:`1/\log_2(1 + p)`; or LETOR's, which is 1 at positions 1 and 2 and :math:`1/\log_2 p` after.

    Notes
    -----
    ir_measures calls our default ``nDCG(dcg='exp-log2')``; its own plain ``nDCG`` has the linear gain.

    References
    ----------
    .. [1] K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20, 2002.
    .. [2] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    normalised = True
    bare_name = "nDCG"
    aliases = ("ndcg_cut",)

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: relevant documents have one gain, 1."""
        curve = self._curve(int(sizes.max(initial=1)))
        total = np.concatenate(([0.0], np.cumsum(curve)))
        ideal = total[n_relevant]
        return terms(curve, level=1.0 / np.where(ideal > 0, ideal, 1.0), n_queries=len(sizes))

    def graded_terms(self, queries: Queries) -> tuple[np.ndarray, np.ndarray]:
        """See `GradedGainMeasure`."""
        gain = gains(queries, self.gain) / np.repeat(self._norm(queries), queries.sizes)
        return gain, np.concatenate(([0.0], self._curve(max(longest(queries), 1))))

    def _curve(self, length: int) -> np.ndarray:
        return worth_of_places(length, self.discount, self.cutoff)[0]

    def _norm(self, queries: Queries) -> np.ndarray:
        key = ("ideal", self.cutoff, self.gain, self.discount)
        return queries.once(key, lambda: self._ideal(queries))

    def _ideal(self, queries: Queries) -> np.ndarray:
        plain = DCG(self.cutoff, gain=self.gain, discount=self.discount)
        ideal = plain.query_values(queries, perfect_positions(queries))
        return np.where(ideal > 0, ideal, 1.0)


def dcg_naive(gain, above, tied, discount, cutoff) -> float:
    """Expected DCG of one query by definition, for tests."""
    total = 0.0
    for g, a, m in zip(gain, above, tied, strict=True):
        if m:
            total += g / m * sum(discount[p] for p in range(a, a + m) if p < cutoff)
    return total


@kernel
def _dcg(gain, above, tied, indptr, leading, worth, total, cutoff, place, values):
    # Summing by place, not by document, makes the value independent of the order of rows, bit for bit.
    first = 0
    for q in range(len(leading)):
        start, lead, n = indptr[q], indptr[q] + leading[q], indptr[q + 1] - indptr[q]
        g, a, m = gain[first : first + leading[q]], above[start:lead], tied[start:lead]
        first += leading[q]
        last = min(n, cutoff)
        for p in range(last + 1):
            place[p] = 0.0
        ties = 0
        for i in range(len(a)):
            # What stands beyond the cutoff goes to one place after it, which is worth nothing.
            place[np.uint64(min(a[i], last))] = g[i]
            ties += m[i] != 1
        value = 0.0
        if ties == 0:
            for p in range(last):
                value += place[p] * worth[p]
        else:
            for p in range(last):
                place[p] = 0.0
            for i in range(len(a)):
                p = a[i]
                if p < last:
                    place[p] += g[i] * (total[p + m[i]] - total[p]) / m[i]
            for p in range(last):
                value += place[p]
        values[q] = value
