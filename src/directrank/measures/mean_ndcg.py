"""The mean of nDCG over all cutoffs, as LETOR 4.0 reports it."""

from typing import Any, ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.jit import kernel
from directrank.measures.dcg import NDCG, discounts, gain_and_discount, gains
from directrank.measures.grammar import Named
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
    worth = np.empty(len(discount) + 1)  # of a gain of 1 at the places from the top down to each
    place = np.empty(len(discount))
    for q in range(len(indptr) - 1):
        values[q] = 0.0
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        if leading[q] == 0:
            continue
        ideal = 0.0
        for p in range(n):
            ideal += gain[start + p] * discount[p] if p < leading[q] else 0.0
            place[p] = 1.0 / ideal
        for p in range(n - 2, -1, -1):
            place[p] += place[p + 1]
        worth[0] = 0.0
        for p in range(n):
            worth[p + 1] = worth[p] + discount[p] * place[p] / n
            place[p] = 0.0
        # Summing by place, not by document, makes the value independent of the order of rows, bit for bit.
        for i in range(start, start + leading[q]):
            a, m = above[i], tied[i]
            place[a] += gain[i] * (worth[a + m] - worth[a]) / m
        for p in range(n):
            values[q] += place[p]
