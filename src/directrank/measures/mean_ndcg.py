"""The mean of nDCG over all cutoffs, as LETOR 4.0 reports it."""

from typing import Any, ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.dcg import NDCG, discounts, gain_and_discount, gains
from directrank.measures.exchange.graded import gain_swaps
from directrank.measures.exchange.tables import pair_table
from directrank.measures.naming.grammar import Named
from directrank.measures.positions import Positions
from directrank.measures.relevant import longest


class MeanNDCG(Named):
    r"""Mean of nDCG@k over k = 1 … n, n the documents of the query.

    .. math:: \frac{1}{n} \sum_{k=1}^{n} \mathrm{nDCG@}k = \sum_i g(y_i)\, D(\pi_i)\,
        \frac{1}{n} \sum_{k \ge \pi_i} \frac{1}{\mathrm{ideal}_k}

    Parameters
    ----------
    gain : {"exponential", "linear"}, default="exponential"
    discount : {"log2", "letor"}, default="log2"
        As in `NDCG`. LETOR 4.0 has ``MeanNDCG(dcg='exp-letor')``.
    """

    bare_name = "MeanNDCG"
    graded = True
    parameters: ClassVar = {"dcg": gain_and_discount}
    cutoff_is = "none"

    def __init__(self, *, gain="exponential", discount="log2"):
        self._of = NDCG(gain=gain, discount=discount)
        self.gain, self.discount = self._of.gain, self._of.discount

    def printed(self) -> dict[str, Any]:
        """Gain and discount, unless they are ours."""
        return self._of.printed()

    def with_dcg(self, words: str) -> "MeanNDCG":
        """Return the measure with another gain and discount, in the words of ``dcg=``."""
        return MeanNDCG(**gain_and_discount(words))

    def leading(self, queries: Queries) -> np.ndarray:
        """Documents with a gain come first; the value depends on their positions alone."""
        return queries.n_positive

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without a gain."""
        return self._of.undefined(queries)

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries whose documents all have the same gain."""
        return self._of.constant(queries)

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values = np.empty(queries.n_queries)
        _mean_ndcg(
            gains(queries, self.gain), positions.above, positions.tied, queries.indptr, queries.n_positive,
            discounts(longest(queries), self.discount), values,
        )  # fmt: skip
        return np.minimum(values, 1.0)

    def swap_differences(self, queries: Queries, place: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        pairs, gain = pair_table(queries), gains(queries, self.gain)
        table, worth = np.zeros(pairs.n_pairs), np.zeros(queries.n_docs)
        _worth_of_places(
            gain, queries.indptr, queries.n_positive, discounts(longest(queries), self.discount), worth
        )
        gain_swaps(gain, place, worth, queries.indptr, pairs.below, pairs.start, table)
        return table


def mean_ndcg_naive(gain, above, tied, discount) -> float:
    """Expected MeanNDCG of one query, from all its documents by descending gain, for tests."""
    n = len(gain)
    ideal = np.cumsum(np.sort(gain)[::-1] * discount[:n])
    total = 0.0
    for g, a, m in zip(gain, above, tied, strict=True):
        for p in range(a, a + m) if g > 0 else ():
            total += g / m * discount[p] * sum(1.0 / ideal[k] for k in range(p, n))
    return total / n


@kernel
def _mean_ndcg(gain, above, tied, indptr, leading, discount, values):
    worth, place = np.empty(len(discount)), np.empty(len(discount))
    total = np.empty(len(discount) + 1)  # of a gain of 1 at the places from the top down to each
    for q in range(len(indptr) - 1):
        values[q] = 0.0
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        if leading[q] == 0:
            continue
        _of_one_query(gain[start : start + leading[q]], discount, worth[:n])
        total[0] = 0.0
        for p in range(n):
            total[p + 1] = total[p] + worth[p]
            place[p] = 0.0
        # Summing by place, not by document, makes the value independent of the order of rows, bit for bit.
        for i in range(start, start + leading[q]):
            a, m = above[i], tied[i]
            place[a] += gain[i] * (total[a + m] - total[a]) / m
        for p in range(n):
            values[q] += place[p]


@kernel
def _worth_of_places(gain, indptr, leading, discount, worth):
    for q in range(len(indptr) - 1):
        if leading[q] > 0:
            first = indptr[q]
            _of_one_query(gain[first : first + leading[q]], discount, worth[first : indptr[q + 1]])


@kernel
def _of_one_query(gain, discount, worth):
    # What a gain of 1 at each place adds: its discount over the ideals of all cutoffs from there on.
    n, ideal = len(worth), 0.0
    for p in range(n):
        ideal += gain[p] * discount[p] if p < len(gain) else 0.0
        worth[p] = 1.0 / ideal
    for p in range(n - 2, -1, -1):
        worth[p] += worth[p + 1]
    for p in range(n):
        worth[p] *= discount[p] / n
