"""Pairs of documents of different relevance within a query, as runs, and what each pair weighs.

A run is a row of four numbers: the first row and the exclusive last row of its winners, and those of its
losers. Each winner forms a pair with each loser.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.measures.exchange import pair_table, swap_differences

#: A weight ≥ 0 for pairs of grades, arrays in and out: of the better document, and of the worse.
GradeWeight = Callable[[np.ndarray, np.ndarray], np.ndarray]


def runs_of_pairs(queries: Queries, by_grades: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of different relevance as runs, int64 (n_runs, 4), and the query of each run.

    There is one run for each grade against all below it or, `by_grades`, for each two grades. With a
    confidence of documents there is one for each two grades and confidences.
    """
    number = queries.query
    changes = (queries.relevance[1:] != queries.relevance[:-1]) | (number[1:] != number[:-1])
    if queries.confidence is not None:
        changes |= queries.confidence[1:] != queries.confidence[:-1]
    start = np.concatenate(([0], np.flatnonzero(changes) + 1))
    stop, query = np.append(start[1:], queries.n_docs), number[start]  # of each segment of one grade
    if not by_grades and queries.confidence is None:
        end = queries.indptr[query + 1]
        more = stop < end
        return np.stack((start, stop, stop, end), axis=1)[more], query[more]
    found = [np.empty((0, 2), np.int64)]
    for apart in range(1, len(start)):
        first = np.flatnonzero(query[apart:] == query[:-apart])
        if not len(first):
            break
        found.append(np.stack((first, first + apart), axis=1))
    first, second = np.concatenate(found).T
    # Queries one after the other, so that the sum over one does not depend on the others.
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    differs = queries.relevance[start[first]] != queries.relevance[start[second]]
    first, second = first[differs], second[differs]
    return np.stack((start[first], stop[first], start[second], stop[second]), axis=1), query[first]


def pair_counts(queries: Queries) -> np.ndarray:
    """Return the number of pairs of different relevance of each query, float64 (n_queries,).

    With a confidence of documents, each pair counts as the product of both.
    """
    runs, query = runs_of_pairs(queries, by_grades=False)
    pairs = (runs[:, 1] - runs[:, 0]) * (runs[:, 3] - runs[:, 2])
    if queries.confidence is not None:
        pairs = pairs * queries.confidence[runs[:, 0]] * queries.confidence[runs[:, 2]]
    return np.bincount(query, pairs, minlength=queries.n_queries)


def pair_weights(queries: Queries, weights: np.ndarray, normalise: bool) -> np.ndarray:
    """Return what a pair of each query weighs, float64 (n_queries,).

    That is the weight of the query, divided by its number of pairs with `normalise`; 0 without pairs.
    """
    counts = pair_counts(queries)
    weights = np.where(counts > 0, weights, 0.0)
    return weights / np.where(counts > 0, counts, 1.0) if normalise else weights


def weighted_runs(
    queries: Queries, weights: np.ndarray, normalise: bool, by_grade: GradeWeight | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the runs whose pairs have a weight, and what a pair of each run weighs.

    Raises ValueError if a pair of grades has a negative weight.
    """
    weights = pair_weights(queries, weights, normalise)
    runs, query = runs_of_pairs(queries, by_grades=by_grade is not None)
    each = weights[query]
    if by_grade is not None:
        share = by_grade(queries.relevance[runs[:, 0]], queries.relevance[runs[:, 2]])
        if np.min(share, initial=0.0) < 0:
            raise ValueError("the weight of a pair of grades is negative; it must be ≥ 0")
        each = each * share
    if queries.confidence is not None:
        each = each * queries.confidence[runs[:, 0]] * queries.confidence[runs[:, 2]]
    return runs[each > 0], each[each > 0]


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
        drops = swap_differences(self.measure, queries, queries.place)
        grades, code = np.unique(queries.relevance, return_inverse=True)
        times = np.diff(pairs.start)
        better = np.repeat(np.arange(queries.n_docs), times)
        worse = np.arange(len(drops)) - np.repeat(pairs.start[:-1] - pairs.below, times)
        query = queries.query[better]
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
