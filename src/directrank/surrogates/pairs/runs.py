"""Pairs of documents of different relevance within a query, as runs, and what each pair weighs.

A run is a row of four numbers: the first row and the exclusive last row of its winners, and those of its
losers. Each winner forms a pair with each loser.
"""

import numpy as np

from directrank.data.queries import Queries
from directrank.surrogates.pairs.grade_weights import GradeWeight


def runs_of_pairs(queries: Queries, by_grades: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of different relevance as runs, and the number of the query of each run.

    Parameters
    ----------
    queries : Queries
    by_grades : bool
        One run for each two grades, instead of one for each grade against all below it.

    Returns
    -------
    runs : ndarray of shape (n_runs, 4), int64
    query : ndarray of shape (n_runs,), int64
    """
    number = np.repeat(np.arange(queries.n_queries), queries.sizes)
    changes = (queries.relevance[1:] != queries.relevance[:-1]) | (number[1:] != number[:-1])
    start = np.concatenate(([0], np.flatnonzero(changes) + 1))
    stop, query = np.append(start[1:], queries.n_docs), number[start]  # of each segment of one grade
    if not by_grades:
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
    return np.stack((start[first], stop[first], start[second], stop[second]), axis=1), query[first]


def pair_counts(queries: Queries) -> np.ndarray:
    """Return the number of pairs of different relevance of each query, float64 (n_queries,)."""
    runs, query = runs_of_pairs(queries, by_grades=False)
    pairs = (runs[:, 1] - runs[:, 0]) * (runs[:, 3] - runs[:, 2])
    return np.bincount(query, pairs, minlength=queries.n_queries)


def pair_weights(queries: Queries, weights: np.ndarray, normalise: bool) -> np.ndarray:
    """Return what a pair of each query weighs, float64 (n_queries,).

    That is the weight of the query, divided by its number of pairs with `normalise`; 0 without pairs.
    """
    counts = pair_counts(queries)
    weights = np.where(counts > 0, weights, 0.0)
    return weights / np.maximum(counts, 1.0) if normalise else weights


def weighted_runs(
    queries: Queries, weights: np.ndarray, normalise: bool, by_grade: GradeWeight | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the runs whose pairs have a weight, and what a pair of each run weighs.

    Raises
    ------
    ValueError
        If a pair of grades has a negative weight.
    """
    weights = pair_weights(queries, weights, normalise)
    runs, query = runs_of_pairs(queries, by_grades=by_grade is not None)
    each = weights[query]
    if by_grade is not None:
        share = by_grade(queries.relevance[runs[:, 0]], queries.relevance[runs[:, 2]])
        if np.min(share, initial=0.0) < 0:
            raise ValueError("the weight of a pair of grades is negative; it must be ≥ 0")
        each = each * share
    return runs[each > 0], each[each > 0]
