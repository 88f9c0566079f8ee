"""Weights of pairs of grades, estimated from the change of a measure when they are swapped: IR-SVM's."""

from collections.abc import Callable
from functools import partial

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.measures.exchange.tables import pair_table, swap_differences

#: A weight ≥ 0 for pairs of grades, arrays in and out: of the better document, and of the worse.
GradeWeight = Callable[[np.ndarray, np.ndarray], np.ndarray]


class SwapDrop:
    """The weight of two grades: how much a measure drops when two such documents are swapped.

    They are swapped in a perfect ranking. The weight is the mean over the pairs of these grades of a query,
    and then over the training queries that have such pairs. The paper estimates it by random swaps, with
    nDCG@1; here all pairs are counted.

    Parameters
    ----------
    measure : Measure
        Such as nDCG@1.

    References
    ----------
    .. [1] Y. Cao, J. Xu, T.-Y. Liu, H. Li, Y. Huang, H.-W. Hon, "Adapting ranking SVM to document retrieval",
       SIGIR 2006.
    """

    def __init__(self, measure: Measure):
        self.measure = measure

    def estimated(self, queries: Queries, weights: np.ndarray) -> GradeWeight:
        """Return the weights of grades on training queries, each counted with its weight ≥ 0."""
        pairs = pair_table(queries)
        place = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
        drops = swap_differences(self.measure, queries, place)
        grades, code = np.unique(queries.relevance, return_inverse=True)
        times = np.diff(pairs.start)
        better = np.repeat(np.arange(queries.n_docs), times)
        worse = np.arange(len(drops)) - np.repeat(pairs.start[:-1] - pairs.below, times)
        query = np.repeat(np.arange(queries.n_queries), queries.sizes)[better]
        kind = code[better] * len(grades) + code[worse]
        # First the mean for each query and kind of pair, then the mean over queries.
        cell, number = np.unique(query * len(grades) ** 2 + kind, return_inverse=True)
        mean = np.bincount(number, drops) / np.bincount(number)
        query, kind = np.divmod(cell, len(grades) ** 2)
        total = np.bincount(kind, weights[query] * mean, len(grades) ** 2)
        weight = np.bincount(kind, weights[query], len(grades) ** 2)
        table = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
        return partial(_looked_up, grades, table.reshape(len(grades), len(grades)))


def _looked_up(grades: np.ndarray, table: np.ndarray, better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    return table[np.searchsorted(grades, better), np.searchsorted(grades, worse)]
