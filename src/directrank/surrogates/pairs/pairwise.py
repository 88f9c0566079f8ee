"""Losses on the pairs of documents of different relevance: preorder, RankSVM, RankNet."""

from collections.abc import Callable

import numpy as np

from directrank.data.queries import Queries
from directrank.surrogates.exchange.grade_weights import SwapDrop, estimated_weight
from directrank.surrogates.pairs.bound import BoundPairs
from directrank.surrogates.pairs.margins import Hinge, PairMargin, pair_margin

#: A weight ≥ 0 for pairs of grades, arrays in and out: of the better document, and of the worse.
GradeWeight = Callable[[np.ndarray, np.ndarray], np.ndarray]


def gain_difference(better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """Return the difference of the exponential gains of two grades, 2^y − 2^y'."""
    return np.exp2(better) - np.exp2(worse)


class Pairwise:
    r"""The preorder loss: a margin on each pair of documents of different relevance.

    .. math:: \sum_{i, j : y_i > y_j} w(y_i, y_j)\, \varphi(s_i - s_j)

    Parameters
    ----------
    margin : {"huber", "squared_hinge", "logistic"} or such an object, default="huber"
        φ.
    width : float, default=0.5
        Of the Huber margin, in score units.
    per_query : bool, default=False
        Divide the sum of each query by its number of pairs [2]_.
    weight : callable or SwapDrop, optional
        w(y, y') ≥ 0 of arrays of grades, such as `gain_difference`, or estimated from the training queries; 1
        by default.

    Traits
    ------
    bound: no (of a rate of wrong pairs only). convex: yes. smooth: yes. shift-invariant: yes.

    Notes
    -----
    The documents of a grade are one segment: O(number of pairs) in vectorised loops, O(G n log n) for long
    lists of G grades.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, Eqs. (5) and (14).
    .. [2] Y. Cao et al., "Adapting ranking SVM to document retrieval", SIGIR 2006.
    """

    offers = frozenset({"value_and_gradient", "hessian_vector"})
    is_bound, is_convex, is_smooth = False, True, True

    def __init__(
        self,
        *,
        margin: str | PairMargin = "huber",
        width: float = 0.5,
        per_query: bool = False,
        weight: GradeWeight | SwapDrop | None = None,
    ):
        self.margin, self.per_query, self.weight = pair_margin(margin, width), per_query, weight
        if isinstance(self.margin, Hinge):
            raise TypeError("the hinge has a corner and no second derivative: use PairwiseHinge")

    @property
    def name(self) -> str:
        """The surrogate with its margin."""
        return f"Pairwise({self.margin.name}{', per query' if self.per_query else ''})"

    def estimated(self, queries: Queries, weights: np.ndarray) -> "Pairwise":
        """See `Estimated`: the weights of grades, where they are a `SwapDrop`."""
        weight = estimated_weight(self.weight, queries, weights)
        return Pairwise(margin=self.margin, per_query=self.per_query, weight=weight)

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries of one grade: they have no pairs."""
        return of_one_grade(queries)

    def bind(self, queries: Queries, weights: np.ndarray) -> BoundPairs:
        """Bind to some queries with a weight each.

        Raises
        ------
        ValueError
            If a pair of grades has a negative weight.
        """
        runs, each = weighted_runs(queries, weights, self.per_query, self.weight)
        return BoundPairs(runs, each, np.ones(queries.n_docs), self.margin)


def of_one_grade(queries: Queries) -> np.ndarray:
    """Say which queries have documents of one grade only, bool (n_queries,)."""
    return queries.relevance[queries.indptr[:-1]] == queries.relevance[queries.indptr[1:] - 1]


def weighted_runs(
    queries: Queries, weights: np.ndarray, per_query: bool, by_grade: GradeWeight | SwapDrop | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of different relevance as runs, and what a pair of each run weighs, if anything.

    Raises
    ------
    ValueError
        If a pair of grades has a negative weight.
    """
    by_grade = estimated_weight(by_grade, queries, weights)
    runs, query = runs_of_pairs(queries, by_grades=False)
    if per_query:
        pairs = np.bincount(query, _pairs(runs), minlength=queries.n_queries)
        weights = weights / np.maximum(pairs, 1.0)
    if by_grade is None:
        each = weights[query]
    else:
        runs, query = runs_of_pairs(queries, by_grades=True)
        each = by_grade(queries.relevance[runs[:, 0]], queries.relevance[runs[:, 2]])
        if np.min(each, initial=0.0) < 0:
            raise ValueError("the weight of a pair of grades is negative; it must be ≥ 0")
        each = weights[query] * each
    return runs[each > 0], each[each > 0]


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
        See `BoundPairs`.
    query : ndarray of shape (n_runs,), int64
    """
    number = np.repeat(np.arange(queries.n_queries), queries.sizes)
    changes = (queries.relevance[1:] != queries.relevance[:-1]) | (number[1:] != number[:-1])
    start = np.concatenate(([0], np.flatnonzero(changes) + 1))
    stop, query = np.append(start[1:], queries.n_docs), number[start]
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
    order = np.lexsort((second, first))  # queries in turn: a sum over one does not depend on the others
    first, second = first[order], second[order]
    return np.stack((start[first], stop[first], start[second], stop[second]), axis=1), query[first]


def _pairs(runs: np.ndarray) -> np.ndarray:
    return (runs[:, 1] - runs[:, 0]) * (runs[:, 3] - runs[:, 2])
