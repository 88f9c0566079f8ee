"""Logistic losses on pairs, weighted by a table of the change of the measure by each swap."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from directrank.contracts import Curvature, GradientKernel, Measure, Reweighable, Surrogate, ValueAndGradient
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH
from directrank.measures.capabilities import PositionLinear, Swappable
from directrank.measures.exchange import pair_table, swap_differences
from directrank.measures.pairwise import ZeroOne
from directrank.surrogates.draws import ROUNDING, descending
from directrank.surrogates.pairs.logistic import LogisticOracles
from directrank.surrogates.pairs.quotients import LogisticPairs, logistic_pairs
from directrank.surrogates.pairs.runs import (
    ByDistance,
    ByLevel,
    ByLevelApart,
    ByRank,
    ByTable,
    pair_counts,
    weighted_runs,
)

#: Orders of tied documents over which weights are averaged.
ORDERS = 16
#: What is added to a distance of scores that divides a weight; LightGBM's number.
NEAR = 0.01


class WeightedBySwaps(Surrogate):
    """Logistic losses on pairs, weighted by the change of a measure when they are swapped in rankings."""

    offers = frozenset({ValueAndGradient, Curvature, GradientKernel, Reweighable})
    requires = frozenset({Reweighable})
    is_bound, is_convex, is_smooth = False, True, True
    #: In how many rankings pairs are swapped whenever the weights are fixed again, and which rankings.
    rankings, among = 1, ""

    def __init__(self, measure: Measure):
        if isinstance(measure, ZeroOne):
            raise TypeError(
                f"swapping two documents hardly ever changes {measure.name}, so it gives no weights. "
                "Use WPD, which counts the pairs in the wrong order"
            )
        self.measure = measure

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: a table of all pairs, which takes memory too; or a measure of n steps for each."""
        closed = isinstance(self.measure, (PositionLinear, Swappable))
        return pair_counts(queries) * (15.0 if closed else queries.sizes)

    def notes(self, queries: Queries) -> list[str]:
        """Return what the weights cost, if the measure has no closed form for them."""
        if isinstance(self.measure, (PositionLinear, Swappable)):
            return []
        times = self.rankings * pair_table(queries).n_pairs
        return [
            f"{self.measure.name} has no closed form for swaps: it is evaluated {times} times, once for "
            f"each pair of different relevance{self.among}, whenever the weights are fixed again"
        ]


class RankedOracles(LogisticOracles):
    """Logistic losses on all pairs of some queries, whose rule follows a ranking."""

    def __init__(self, measure: Measure, queries: Queries, weights: np.ndarray):
        super().__init__(queries, *weighted_runs(queries, weights, normalise=False))
        self.measure, self.of_queries = measure, weights
        self.is_long = np.zeros(queries.n_queries, np.bool_)
        self.left = self.is_long.copy()  # of these, the queries whose pairs are not visited

    def gradient_plugin(self) -> LogisticPairs:
        """Return what `directrank.kernels.plugins.query_gradient` reads."""
        return self.joined_plugin(self.queries, self.of_queries, [self])

    def joined_plugin(self, queries: Queries, weights: np.ndarray, parts: Sequence) -> LogisticPairs:
        """Return the plug-in of all queries; see `directrank.surrogates.oracles.JoinedKernel`."""
        runs, weights_of_runs = weighted_runs(queries, weights, normalise=False)
        is_long, first = np.concatenate([part.left for part in parts]), 0
        for part in parts:
            part.left = is_long[first : first + len(part.left)]
            first += len(part.left)
        return logistic_pairs(queries, runs, weights_of_runs, self.joined_rule(queries, parts), is_long)

    @abstractmethod
    def joined_rule(
        self, queries: Queries, parts: Sequence[object]
    ) -> ByLevel | ByLevelApart | ByDistance | ByRank | ByTable:
        """Return the rule of all queries; the parts keep views of its arrays: no number is stored twice."""


class SwapTableOracles(RankedOracles):
    """The oracles of `SwapWeighted` on some queries, for a measure that needs a number for each pair.

    The table is stored in single precision, four bytes per pair.
    """

    def __init__(self, measure: Measure, queries: Queries, weights: np.ndarray, distance: bool = False):
        super().__init__(measure, queries, weights)
        self.distance = distance
        self.table = np.zeros(pair_table(queries).n_pairs, np.float32)
        self.reweigh(np.zeros(queries.n_docs))

    def rule(self) -> ByTable:
        """Return what a pair weighs besides the weight of its run."""
        return ByTable(pair_table(self.queries).start, self.table)

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix the weights at the ranking of these scores."""
        changes = expected_differences(self.measure, self.queries, scores)
        if self.distance:
            pairs = pair_table(self.queries)
            times = np.diff(pairs.start)
            better = np.repeat(np.arange(len(scores)), times)
            worse = np.arange(len(changes)) - np.repeat(pairs.start[:-1] - pairs.below, times)
            changes /= near_scores(self.queries, scores)[better] + np.abs(scores[better] - scores[worse])
        self.table[:] = changes

    def joined_rule(self, queries: Queries, parts: Sequence[Any]) -> ByTable:
        """See `RankedOracles`."""
        start, first = pair_table(queries).start, 0
        table = np.zeros(start[-1] + WIDTH, np.float32)
        for part in parts:
            view = table[first : first + len(part.table)]
            view[:], part.table, first = part.table, view, first + len(view)
        return ByTable(start, table)


def near_scores(queries: Queries, scores: np.ndarray) -> np.ndarray:
    """Return what is added to distances of scores, (n_docs,): 1 in queries whose scores are all equal."""
    ends = queries.indptr[:-1]
    apart = np.maximum.reduceat(scores, ends) > np.minimum.reduceat(scores, ends)
    return np.where(apart, NEAR, 1.0)[queries.query]


def expected_differences(measure: Measure, queries: Queries, scores: np.ndarray) -> np.ndarray:
    """Return the change of the measure by each swap at some scores, in the mean over some orders of ties.

    The order of pairs is that of `directrank.measures.exchange.PairTable`. Documents of one score and
    one relevance are twins: any order of them gives the mean over their orders, once the entries of twins are
    averaged. Where different relevance is tied, `ORDERS` random orders are averaged instead; they are drawn
    for ranks, not for documents, so that the order of rows does not matter. The standard error of an entry is
    then at most half its range over √ORDERS, an eighth.
    """
    pairs = pair_table(queries)
    ranking, place = strict_ranking(queries, scores)
    table = swap_differences(measure, queries, place)
    mixed, twin = ties(queries, scores, ranking)
    if mixed.any():
        some, rows = queries.chosen(mixed)
        several = (strict_ranking(some, scores[rows], number)[1] for number in range(ORDERS))
        cells = np.repeat(mixed, pairs.start[queries.indptr[1:]] - pairs.start[queries.indptr[:-1]])
        table[cells] = sum(swap_differences(measure, some, ranking) for ranking in several) / ORDERS
    if (twin != np.arange(queries.n_docs)).any():
        sizes = np.bincount(twin, minlength=queries.n_docs)
        average_over_twins(table, pairs.below, pairs.stop, pairs.start, twin, sizes)
    return table


def strict_ranking(
    queries: Queries, scores: np.ndarray, number: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows by descending score, and the rank of each document in its query, from 0.

    Tied documents are ordered by descending relevance; or, with a number, in the random order of that number.
    """
    query, inner = queries.query, queries.place
    ranking = descending(queries, scores)
    s = scores[ranking]
    tied = np.concatenate(([False], (s[1:] == s[:-1]) & (query[1:] == query[:-1]), [False]))
    if tied.any():
        tied = tied[1:] | tied[:-1]
        rows = np.sort(ranking[tied])
        ranking[tied] = rows[np.lexsort((-queries.relevance[rows], -scores[rows], query[rows]))]
    if number is not None:
        key = np.random.default_rng(number).random(int(queries.sizes.max(initial=0)))
        ranking = ranking[np.lexsort((key[inner], -scores[ranking], query))]
    place = np.empty(queries.n_docs, np.int64)
    place[ranking] = inner
    return ranking, place


def ties(queries: Queries, scores: np.ndarray, ranking: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which queries tie documents of different relevance, and the first twin of each document."""
    query = queries.query
    s, y = scores[ranking], queries.relevance[ranking]
    tied = (s[1:] == s[:-1]) & (query[1:] == query[:-1])
    mixed = np.zeros(queries.n_queries, np.bool_)
    mixed[query[1:][tied & (y[1:] != y[:-1])]] = True
    first = np.append(True, ~(tied & (y[1:] == y[:-1])))[: len(s)]
    twin = np.empty(queries.n_docs, np.int64)
    twin[ranking] = ranking[np.flatnonzero(first)][np.cumsum(first) - 1]
    return mixed, twin


def ranks_and_twins(queries: Queries, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of each document, from 0, and its first twin; scores that round alike are tied."""
    rank, twin = np.empty((2, queries.n_docs), np.int64)
    order, rounding = descending(queries, scores), scores.dtype.type(ROUNDING)
    _rank_by_levels(order, scores, queries.relevance, queries.indptr, rounding, rank, twin)
    return rank, twin


@kernel
def _rank_by_levels(order, scores, relevance, indptr, rounding, rank, twin):
    # The level of a document is where its first document is in the order; rows come by descending relevance.
    level, taken, first = np.empty(len(order), np.int64), np.zeros(len(order), np.int64), np.empty_like(order)
    for q in range(len(indptr) - 1):
        a, b, largest = indptr[q], indptr[q + 1], scores.dtype.type(0)
        for s in scores[a:b]:
            largest = max(largest, abs(s))
        start = a
        for k in range(a, b):
            if k > a and scores[order[k - 1]] - scores[order[k]] > rounding * largest:
                start = k
            level[order[k]] = start
        for i in range(a, b):
            start = level[i]
            if taken[start] == 0 or relevance[i] != relevance[first[start]]:
                first[start] = i
            rank[i], twin[i] = start - a + taken[start], first[start]
            taken[start] += 1


@kernel
def average_over_twins(table, below, stop, start, twin, sizes):
    """Replace each entry of a table by the mean over the twins of its two documents."""
    for i in range(len(twin)):
        for j in range(below[i], stop[i]):
            a, b = twin[i], twin[j]
            if a != i or b != j:
                table[start[a] + b - below[i]] += table[start[i] + j - below[i]]
    for i in range(len(twin)):
        if twin[i] == i:
            for j in range(below[i], stop[i]):
                if twin[j] == j:
                    table[start[i] + j - below[i]] /= sizes[i] * sizes[j]
    for i in range(len(twin)):
        for j in range(below[i], stop[i]):
            table[start[i] + j - below[i]] = table[start[twin[i]] + twin[j] - below[i]]
