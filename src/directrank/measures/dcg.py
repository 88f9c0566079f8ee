"""Discounted cumulative gain, plain and over its largest value, that mean over all cutoffs, and smooth."""

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np

from directrank.data.queries import Queries
from directrank.errors import DataError, MeasureNameError
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import position_slopes, register_kernel
from directrank.kernels.vector_math import LARGEST_EXPONENT, exponential
from directrank.measures.exchange import filled_table, gain_swaps
from directrank.measures.families.definition import (
    Definition,
    MeasureParameters,
    RelevantTerms,
    best_values,
    cached_by_queries,
    one_of,
)
from directrank.measures.families.gain_sum import GainSum, cut_discounts
from directrank.measures.families.smooth import Smooth, cutoff_error
from directrank.measures.positions import Positions, perfect_positions

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


#: The gain of a document: a rule, or that of each grade from 0.
Gain = str | tuple[float, ...]


def gains_of(queries: Queries, gain: Gain) -> np.ndarray:
    """Return the gain of each document, float64 (n_docs,).

    Raises DataError if a grade is above 31 and the gain is exponential, or a grade has no gain of its own.
    """
    if gain == "linear":
        return queries.relevance
    return queries.cached(("gains", gain), lambda: gains_of_grades(queries.relevance, gain))


def gains_of_grades(grades: np.ndarray, gain: Gain) -> np.ndarray:
    """Return the gains of grades, float64, of the same shape; raise DataError if one has no gain."""
    if gain == "linear":
        return grades
    if gain == "exponential":
        if (most := grades.max(initial=0.0)) > MAX_EXPONENTIAL_GRADE:
            raise DataError(
                f"relevance {most:g} is too large for the gain 2^y - 1 (at most {MAX_EXPONENTIAL_GRADE}); "
                "use the linear gain, nDCG(dcg='log2'), as the measure or as select_by, or smaller grades"
            )
        gains = np.exp2(grades)
        gains -= 1.0
        return gains
    without = grades[(grades != np.floor(grades)) | (grades >= len(gain))]
    if len(without):
        raise DataError(
            f"grade {without.max():g} has no gain; gains are given for the grades 0 to {len(gain) - 1}"
        )
    return np.array(gain)[grades.astype(np.int64)]


def _has_gain(queries: Queries, gain: Gain) -> np.ndarray:
    """Return which documents have a gain above 0, bool (n_docs,); they come first in their query."""
    return gains_of(queries, gain) > 0 if isinstance(gain, tuple) else queries.relevance > 0


def discounts_of(n_ranks: int, discount: str) -> np.ndarray:
    """Return the discounts of ranks 1 to `n_ranks`, float64."""
    return 1.0 / np.log2(np.maximum(np.arange(1.0, n_ranks + 1) + SHIFTS[discount], 2.0))


@dataclass(frozen=True, repr=False)
class GradedGains(Definition):
    """A measure with a gain for each grade and a discount for each rank: ``dcg=`` and ``gains=`` in names."""

    _: KW_ONLY
    gain: Gain = "exponential"
    discount: str = "log2"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.gain, str):
            one_of("exponential", "linear")("gain", self.gain)
        else:
            object.__setattr__(self, "gain", _checked_gains(self.gain))
            one_of("log2")("discount", self.discount)  # which names with gains do not say
        one_of(*SHIFTS)("discount", self.discount)

    @classmethod
    def readers(cls) -> dict[str, Callable[[str], MeasureParameters]]:
        """Return, by word, what turns a parameter written in a name into arguments of the constructor."""
        return {"dcg": _gain_and_discount, "gains": lambda text: {"gain": gains_in(text)}}

    def printed(self) -> MeasureParameters:
        """Return the gain and discount in the words of ``dcg=``, unless they are the default."""
        if isinstance(self.gain, tuple):
            return {"gains": ",".join(f"{gain:g}" for gain in self.gain)}
        words = next(words for words, pair in DCG_WORDS.items() if pair == (self.gain, self.discount))
        return {} if words == "exp-log2" else {"dcg": words}

    def with_dcg(self, words: str) -> Self:
        """Return the measure with another gain and discount, in the words of ``dcg=``."""
        return replace(self, **_gain_and_discount(words))

    def with_gains(self, gains: Sequence[float]) -> Self:
        """Return the measure with another gain for each grade."""
        return replace(self, gain=gains)

    def n_read(self, queries: Queries) -> np.ndarray:
        """Documents with a gain come first; the value depends on their positions alone."""
        return (
            queries.count(_has_gain(queries, self.gain)) if type(self.gain) is tuple else queries.n_positive
        )


def _gain_and_discount(words: str) -> MeasureParameters:
    gain, discount = DCG_WORDS[one_of(*DCG_WORDS)("dcg", words)]
    return {"gain": gain, "discount": discount}


def gains_in(text: str) -> tuple[float, ...]:
    """Return the gain of each grade from 0: of ``0,1,3,7``, or of ``{0:0,1:1,3:20}``, as ir_measures writes.

    Grades that a mapping leaves out have themselves as gain. Raises MeasureNameError if there are no numbers.
    """
    try:
        if not text.startswith("{"):
            return tuple(float(gain) for gain in text.split(","))
        pairs = {
            int(grade): float(gain) for grade, gain in (pair.split(":") for pair in text[1:-1].split(","))
        }
        return tuple(pairs.get(grade, float(grade)) for grade in range(max(pairs) + 1))
    except ValueError:
        raise MeasureNameError(
            f"gains={text!r}: expected a number for each grade from 0, such as 0,1,3,7"
        ) from None


def _checked_gains(gains: Sequence[float]) -> tuple[float, ...]:
    values = tuple(map(float, gains))
    rises = all(low <= high for low, high in pairwise(values))
    if len(values) < 2 or values[0] != 0 or not rises or not 0 < values[-1] < math.inf:
        raise MeasureNameError(
            f"gains {','.join(f'{gain:g}' for gain in values)}: expected a number for each grade from 0, the "
            "first 0 and none below the one before, such as 0,1,3,7"
        )
    return values


@lru_cache(64)
def logarithms(longest: int) -> np.ndarray:
    """Return ln 1 (for 0), ln 1, ln 2, … for positions of `longest` documents; not to be written to."""
    return np.log(np.maximum(np.arange(longest + 3.0), 1.0))


class GainForm(NamedTuple):
    """A smooth DCG of all queries.

    The discount is 1 / log2(max(p + shift, 2)), times a logistic function of steepness `truncation` that
    replaces the cutoff if that is finite.
    """

    gain: np.ndarray  # (n_docs,), float64
    indptr: np.ndarray  # (n_queries + 1,)
    norm: np.ndarray  # (n_queries,), float64: What the sum of each query is divided by
    shift: float
    logs: np.ndarray  # `logarithms` of the longest query
    cutoff: float
    truncation: float


@register_kernel(position_slopes, GainForm)
@kernel
def gain_slopes(form, q, p, scratch, slopes):
    """Return the smooth DCG of a query over its norm, and write its slopes at the positions p."""
    # Slices: an index that might be negative would let the bits depend on where the arrays lie.
    g, weight = form.gain[form.indptr[q] : form.indptr[q] + len(p)], scratch[: len(p)]
    _discount(p, form.shift, form.logs, weight, slopes)
    if form.cutoff < math.inf:
        _cut(p, form.cutoff, form.truncation, weight, slopes)
    value, scale = 0.0, 1.0 / form.norm[q]
    for i in range(len(g)):
        value += g[i] * weight[i]
        slopes[i] = slopes[i] * g[i] * scale
    return value * scale


@kernel
def _discount(p, shift, logs, weight, slopes):
    # The logarithm is that of the nearest whole number, plus a short series: it vectorises. No position is
    # beyond the table, but NaN must not become an index into it either.
    for i in range(len(p)):
        x = max(p[i] + shift, 2.0)
        rank = min(max(np.int64(x + 0.5), 2), len(logs) - 1)
        z = (x - rank) / (x + rank)
        y = z * z
        series = 1.0 / 9.0 + y * (1.0 / 11.0 + y * (1.0 / 13.0 + y / 15.0))
        series = 1.0 + y * (1.0 / 3.0 + y * (1.0 / 5.0 + y * (1.0 / 7.0 + y * series)))
        log = logs[np.uint64(rank)] + 2.0 * z * series
        discount = math.log(2.0) / log
        weight[i] = discount
        slopes[i] = -discount / (x * log) if shift == 1.0 or x > 2.0 else 0.0


@kernel
def _cut(p, cutoff, truncation, weight, slopes):
    for i in range(len(p)):
        z = truncation * (cutoff + 0.5 - p[i])
        decay = exponential(-min(abs(z), LARGEST_EXPONENT))
        inside = (1.0 if z >= 0.0 else decay) / (1.0 + decay)
        # Outside is not 1 − inside, which loses its small values.
        outside = (decay if z >= 0.0 else 1.0) / (1.0 + decay)
        slopes[i] = slopes[i] * inside - weight[i] * truncation * inside * outside
        weight[i] *= inside


@dataclass(frozen=True, repr=False)
class DCG(GradedGains, GainSum, Smooth):
    r"""Discounted cumulative gain of the first `cutoff` positions.

    .. math:: \sum_{i : \pi_i \le k} g(y_i) \, D(\pi_i)

    Parameters
    ----------
    cutoff : int, optional
        The last position that counts; all by default.
    gain : {"exponential", "linear"} or tuple of float, default="exponential"
        :math:`2^y - 1` or :math:`y`; or the gain of each grade from 0, ``gains='0,1,3,7'`` in names.
    discount : {"log2", "letor"}, default="log2"
        :math:`1/\log_2(1 + p)`; or LETOR's, which is 1 at positions 1 and 2 and :math:`1/\log_2 p` after.

    References
    ----------
    .. [1] K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20, 2002.
    .. [2] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    aliases: ClassVar = ("dcg_cut",)
    meaning: ClassVar = "Sum of gains, discounted by rank; not divided by the best possible value."
    bounded: ClassVar = False
    over_grades: ClassVar = "rises"

    cutoff: int | None = None

    def gains(self, queries: Queries) -> np.ndarray:
        """The gain of each document, float64 (n_docs,)."""
        return gains_of(queries, self.gain)

    def discounts(self, n_ranks: int) -> np.ndarray:
        """The discount of each rank, float64 (n_ranks,)."""
        return discounts_of(n_ranks, self.discount)

    def read_gains(self, queries: Queries) -> np.ndarray:
        """The gains of the documents that are read, one array for all cutoffs."""
        return queries.cached(
            ("read gains", self.gain),
            lambda: gains_of_grades(queries.relevance[_has_gain(queries, self.gain)], self.gain),
        )

    def smooth_form(self, queries: Queries, truncation: float) -> GainForm:
        """See `Smooth`; [2]_ (13), and (16) for a cutoff."""
        return GainForm(
            self.gains(queries), queries.indptr, self.norm(queries), SHIFTS[self.discount],
            logarithms(queries.longest), float(self.cutoff or math.inf), float(truncation),
        )  # fmt: skip

    position_form = smooth_form

    def approximation_bound(self, queries: Queries, error: np.ndarray, truncation: float) -> np.ndarray:
        """See `Certified`; [2]_ Theorem 3, and the error of (16) on every gain for a cutoff."""
        everything = DCG(gain=self.gain, discount=self.discount)
        largest = everything.query_values(queries, perfect_positions(queries))
        off = error / (2.0 * math.log(2.0)) + cutoff_error(error, truncation, self.cutoff)
        return off * largest / self.norm(queries)

    @cached_by_queries
    def position_slopes(self, queries: Queries) -> np.ndarray:
        """See `PositionBounded`: gain over norm, times the steepest chord of the discount from rank 1."""
        discount = cut_discounts(self, max(queries.longest, 1))[0]
        chords = (discount[0] - discount[1:]) / np.arange(1.0, len(discount))
        # Each query takes the steepest chord to one of its own ranks.
        steepest = np.concatenate(([0.0], np.maximum.accumulate(chords)))[np.maximum(queries.sizes, 1) - 1]
        return self.gains(queries) * np.repeat(steepest / self.norm(queries), queries.sizes)

    def supervision(self, queries: Queries) -> np.ndarray:
        """See `Standardised`: the gain over the norm; the same for every cutoff of DCG."""
        return self.gains(queries) / np.repeat(self.norm(queries), queries.sizes)


class NDCG(DCG):
    r"""DCG divided by the DCG of the best ranking, in [0, 1].

    Parameters
    ----------
    cutoff : int, optional
        The last position that counts, here and in the ideal; all by default.
    gain : {"exponential", "linear"} or tuple of float, default="exponential"
        :math:`2^y - 1` or :math:`y`; or the gain of each grade from 0, ``gains='0,1,3,7'`` in names.
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

    bare_name: ClassVar = "nDCG"
    aliases: ClassVar = ("ndcg_cut",)
    meaning: ClassVar = (
        "How good the ranking is compared with the best possible one. High grades and top ranks count most; "
        "@10 reads the first ten documents only."
    )
    bounded: ClassVar = True
    over_grades: ClassVar = "swaps"

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: relevant documents have one gain, 1."""
        discounts, sums = cut_discounts(self, int(sizes.max(initial=1)))
        ideal = sums[n_relevant]
        return RelevantTerms.of(discounts, len(sizes), level=1.0 / np.where(ideal > 0, ideal, 1.0))

    @cached_by_queries
    def norm(self, queries: Queries) -> np.ndarray:
        """The DCG of the best ranking of each query; 1 where the query is undefined."""
        return best_values(DCG(self.cutoff, gain=self.gain, discount=self.discount), queries)


@dataclass(frozen=True, repr=False)
class MeanNDCG(GradedGains):
    r"""Mean of nDCG@k over k = 1 … n, n the documents of the query.

    .. math:: \frac{1}{n} \sum_{k=1}^{n} \mathrm{nDCG@}k = \sum_i g(y_i)\, D(\pi_i)\,
        \frac{1}{n} \sum_{k \ge \pi_i} \frac{1}{\mathrm{ideal}_k}

    Parameters
    ----------
    gain : {"exponential", "linear"}, default="exponential"
    discount : {"log2", "letor"}, default="log2"
        As in `NDCG`. LETOR 4.0 has ``MeanNDCG(dcg='exp-letor')``.
    """

    unretrieved: ClassVar = "beyond"
    meaning: ClassVar = "The mean of nDCG@k over all k up to the length of the list, as LETOR 4.0 reports it."

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values = np.empty(queries.n_queries)
        _mean_ndcg(
            gains_of(queries, self.gain), positions.above, positions.tied, queries.indptr,
            self.n_read(queries), self._weights(queries), queries.longest, values,
        )  # fmt: skip
        return np.minimum(values, 1.0)

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        gain = gains_of(queries, self.gain)
        return filled_table(queries, rank, gain_swaps, gain, self._weights(queries))

    @cached_by_queries
    def _weights(self, queries: Queries) -> np.ndarray:
        """Return what a gain of 1 at each rank of each query adds to the value, float64 (n_docs,)."""
        gain, weights = gains_of(queries, self.gain), np.zeros(queries.n_docs)
        discount = discounts_of(queries.longest, self.discount)
        _weights_of_ranks(gain, queries.indptr, self.n_read(queries), discount, weights)
        return weights


@kernel
def _mean_ndcg(gain, above, tied, indptr, n_read, weights, n_ranks, values):
    at_rank = np.empty(n_ranks)
    sums = np.zeros(n_ranks + 1)  # of the weights of the first 0, 1, … ranks
    for q in range(len(n_read)):
        values[q] = 0.0
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        if n_read[q] == 0:
            continue
        for p in range(n):
            sums[p + 1] = sums[p] + weights[start + p]
            at_rank[p] = 0.0
        # Terms are added rank by rank, not document by document: the order of rows then changes no bit.
        for i in range(start, start + n_read[q]):
            a, m = above[i], tied[i]
            if a < n:
                at_rank[a] += gain[i] * (sums[a + m] - sums[a]) / m
        for p in range(n):
            values[q] += at_rank[p]


@kernel
def _weights_of_ranks(gain, indptr, n_read, discount, weights):
    # A gain of 1 at a rank adds the discount there, divided by the ideals of all cutoffs from that rank on.
    for q in range(len(n_read)):
        if n_read[q] > 0:
            start, n, ideal = indptr[q], indptr[q + 1] - indptr[q], 0.0
            weight = weights[start : start + n]
            for p in range(n):
                ideal += gain[start + p] * discount[p] if p < n_read[q] else 0.0
                weight[p] = 1.0 / ideal
            for p in range(n - 2, -1, -1):
                weight[p] += weight[p + 1]
            for p in range(n):
                weight[p] *= discount[p] / n
