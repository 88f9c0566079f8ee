"""Agreement with relevance, pair by pair and as a whole: the complements of WPD and of the 0/1 error.

Both are known as errors, where smaller is better, while a measure here is larger for a better ranking. The
classes therefore compute the agreement, which training and selection use. `evaluate` prints the error for
``WPD`` and the agreement for ``WPD(complement=1)``.
"""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.exchange import filled_table, pair_table, wpd_swaps
from directrank.measures.families.definition import (
    Definition,
    RelevantTerms,
    cached_by_queries,
    one_of,
    parameter,
)
from directrank.measures.positions import Positions


def _flag(word: str, value: object) -> bool:
    return value if isinstance(value, bool) else one_of("0", "1")(word, str(value)) == "1"


@dataclass(frozen=True, repr=False)
class Agreement(Definition):
    """A measure of document pairs with different grades, printed as an error."""

    # A pair of documents that a run does not hold is half right.
    unretrieved: ClassVar = "last"

    _: KW_ONLY
    complement: bool = parameter(False, _flag)

    @property
    def is_error(self) -> bool:
        """Whether reports print 1 − value, so that smaller is better."""
        return not self.complement

    @cached_by_queries
    def n_read(self, queries: Queries) -> np.ndarray:
        """Documents above the lowest grade of their query: every pair of different grades has one."""
        lowest = np.repeat(queries.relevance[queries.indptr[1:] - 1], queries.sizes)
        return queries.count(queries.relevance > lowest)

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without two documents of different grades."""
        return queries.single_grade


class WPD(Agreement):
    r"""Rate of weighted pairwise disagreement, the supervision being relevance itself.

    .. math:: \frac{1}{|\{(i, j) : y_i > y_j\}|} \sum_{i, j : y_i > y_j} [\![ \pi_i > \pi_j ]\!]

    Values of queries are the complement, the share of pairs in the right order; a tied pair is half right.
    With two grades that is the area under the ROC curve. The printed error of a query without a pair is 0.

    Parameters
    ----------
    complement : bool, default=False
        Whether `evaluate` prints the share of right pairs instead of the error.

    Notes
    -----
    O(R²) per query, R documents above its lowest grade.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, Eq. (12).
    """

    meaning: ClassVar = (
        "Weighted pairwise disagreement: the share of document pairs with different grades that are ranked "
        "in the wrong order. An error: smaller is better."
    )

    def supervision(self, queries: Queries) -> np.ndarray:
        """See `Standardised`; [1]_ section 5.3: documents below less documents above, over the pairs.

        It is exact under low noise. The least constant that keeps it from being negative is added, as the
        order does not depend on it.
        """
        if queries.standardised:
            return queries.relevance
        above, below = _above_and_below(queries)
        lowest = np.repeat(queries.indptr[1:] - 1, queries.sizes)
        net = below - above
        pairs = np.add.reduceat(below, queries.indptr[:-1]) if queries.n_queries else below
        return (net - net[lowest]) / np.repeat(np.maximum(pairs, 1.0), queries.sizes)

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The agreement of each query, float64 (n_queries,), larger is better; 0 where undefined."""
        values = np.empty(queries.n_queries)
        _agreement(
            queries.relevance, positions.above, positions.tied, queries.indptr, self.n_read(queries), values
        )
        return values

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        return filled_table(queries, rank, wpd_swaps, queries.relevance)

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: each position down costs one pair, as in the area under the ROC curve."""
        pairs = np.maximum(n_relevant * (sizes - n_relevant), 1)
        return RelevantTerms.of(-np.arange(1.0, int(sizes.max(initial=1)) + 1), len(sizes), level=1.0 / pairs)


class ZeroOne(Agreement):
    r"""0/1 error: 1 unless no document stands above one of a higher grade.

    Values of queries are the complement: the probability, over random orders of tied documents, of a ranking
    that relevance allows. The printed error of a query of one grade is 0.

    Parameters
    ----------
    complement : bool, default=False
        Whether `evaluate` prints the probability of a right ranking instead of the error.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, Eq. (13), whose sign is printed the
       other way round.
    """

    aliases: ClassVar = ("0/1", "zero_one", "01")
    meaning: ClassVar = (
        "0/1 error: 0 if no document is ranked above one of a higher grade, else 1. Smaller is better."
    )

    def supervision(self, queries: Queries) -> np.ndarray:
        """See `Standardised`; [1]_ section 5.4: Borda's points, their mean over the rankings allowed.

        It is exact for order-preserving distributions of permutations.
        """
        if queries.standardised:
            return queries.relevance
        above, below = _above_and_below(queries)
        return 0.5 * (np.repeat(queries.sizes, queries.sizes) + 1.0 + below - above)

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The probability of a right ranking of each query, float64 (n_queries,); 0 where undefined."""
        values = np.empty(queries.n_queries)
        _right_order(
            queries.relevance, positions.above, positions.tied, queries.indptr, self.n_read(queries),
            queries.longest, values,
        )  # fmt: skip
        return values


def _above_and_below(queries: Queries) -> tuple[np.ndarray, np.ndarray]:
    """Count the documents of a higher and of a lower grade in its query, for each document, float64."""
    pairs = pair_table(queries)
    below = pairs.stop - pairs.below
    same = np.bincount(pairs.below)[pairs.below]
    above = np.repeat(queries.sizes, queries.sizes) - same - below
    return above.astype(np.float64), below.astype(np.float64)


@kernel
def _twice_above(above, a):
    # Documents of a higher grade above the block at `a` count twice, those in it once.
    count = 0
    for j in range(len(above)):
        count += 2 * (above[j] < a) + (above[j] == a)
    return count


@kernel
def _agreement(relevance, above, tied, indptr, n_read, values):
    for q in range(len(indptr) - 1):
        start, stop, lead = indptr[q], indptr[q + 1], indptr[q] + n_read[q]
        n, grade, wrong, pairs = stop - start, start, 0, 0
        for i in range(start, lead):
            if relevance[i] != relevance[grade]:
                grade = i
            # Count the documents above it or tied with it, less those of a higher grade. Pairs of its own
            # grade are counted twice, and subtracted below.
            wrong += 2 * above[i] + tied[i] - 1 - _twice_above(above[start:grade], above[i])
            last = i + 1 == lead or relevance[i + 1] != relevance[i]
            if last:
                same = i + 1 - grade
                wrong -= same * (same - 1)
                pairs += same * (n - (i + 1 - start))
        values[q] = 1.0 - 0.5 * wrong / pairs if pairs else 0.0


@kernel
def _right_order(relevance, above, tied, indptr, n_read, n_ranks, values):
    # By block: the last query that had it, the documents of the current grade in it, and the ranks left.
    seen, count, remaining = np.full(n_ranks, -1), np.zeros(n_ranks, np.int64), np.empty(n_ranks, np.int64)
    for q in range(len(indptr) - 1):
        start, lead = indptr[q], indptr[q] + n_read[q]
        chance, first, last, end = 1.0 if start < lead else 0.0, start, 0, 0
        for i in range(start, lead):
            block = above[i]
            if seen[block] < q:
                seen[block], remaining[block] = q, tied[i]
            count[block] += 1
            if block >= last:
                last, end = block, block + tied[i]
            if i + 1 < lead and relevance[i + 1] == relevance[i]:
                continue
            # Each grade in turn must take the first of the ranks that are left in its blocks.
            for j in range(first, i + 1):
                block = above[j]
                chance *= count[block] / remaining[block]
                count[block] -= 1
                remaining[block] -= 1
            first = i + 1
            # No document may be above one of a higher grade: the blocks above the last one are full.
            if end - remaining[last] != first - start:
                chance = 0.0
                break
        values[q] = chance
