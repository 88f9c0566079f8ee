"""Logistic losses on pairs, weighted by a table of the change of the measure by each swap."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH
from directrank.measures.exchange.tables import pair_table, swap_differences
from directrank.surrogates.bound import BoundKernel
from directrank.surrogates.exchange.kernels import logistic_curvature, weighted_logistic
from directrank.surrogates.pairs.compiled.logistic import BY_TABLE, LogisticPairs, plugin_of
from directrank.surrogates.pairs.runs import weighted_runs

#: Orders of tied documents over which weights are averaged.
ORDERS = 16


class BoundSwapTable(BoundKernel):
    """The oracles of `SwapWeighted` on some queries, for a measure that needs a number for each pair.

    The table is stored in single precision, four bytes a pair.
    """

    def __init__(self, measure: Measure, queries: Queries, weights: np.ndarray):
        pairs = pair_table(queries)
        super().__init__(
            table_sums,
            table_curvatures,
            queries.indptr,
            np.asarray(weights, np.float64),
            pairs.below,
            pairs.start,
        )
        self.measure, self.queries, self.pairs = measure, queries, self.arguments
        self.weights, self.table = self.pairs[1], np.zeros(pairs.n_pairs, np.float32)
        self.reweigh(np.zeros(queries.n_docs))

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix the weights at the ranking of these scores."""
        self._fill(expected_differences(self.measure, self.queries, scores))

    def gradient_plugin(self) -> LogisticPairs:
        """Return what `directrank.kernels.plugins.query_gradient` reads."""
        return self.joined_plugin(self.queries, self.weights, [self])

    def joined_plugin(self, queries: Queries, weights: np.ndarray, parts: Sequence[Any]) -> LogisticPairs:
        """Return the plug-in of all queries; see `directrank.contracts.GradientKernel`."""
        start, first = pair_table(queries).start, 0
        table = np.zeros(start[-1] + WIDTH, np.float32)
        for part in parts:
            view = table[first : first + len(part.table)]
            # The part keeps a view, so that no pair is stored twice.
            view[:], part.table, first = part.table, view, first + len(view)
            part.arguments = (*part.pairs, view)
        runs, each = weighted_runs(queries, weights, normalise=False)
        return plugin_of(queries, runs, each, BY_TABLE, start=start, table=table)

    def _fill(self, table: np.ndarray) -> None:
        self.table[:] = table
        self.arguments = (*self.pairs, self.table)


def expected_differences(measure: Measure, queries: Queries, scores: np.ndarray) -> np.ndarray:
    """Return the change of the measure by each swap at some scores, in the mean over some orders of ties.

    Documents of one score and one relevance are twins: any order of them gives the mean over their orders,
    once the entries of twins are averaged. Where different relevance is tied, `ORDERS` random orders are
    averaged instead; they are drawn for ranks, not for documents, so that the order of rows does not matter.
    The standard error of an entry is then at most half its range over √ORDERS, an eighth.

    Returns
    -------
    ndarray of shape (n_pairs,), float64
        See `directrank.measures.exchange.tables.PairTable`.
    """
    pairs = pair_table(queries)
    ranking, place = strict_ranking(queries, scores)
    table = swap_differences(measure, queries, place)
    mixed, twin = ties(queries, scores, ranking)
    if mixed.any():
        some, rows = queries.chosen(mixed)
        several = (strict_ranking(some, scores[rows], number)[1] for number in range(ORDERS))
        cells = np.repeat(mixed, pairs.start[queries.indptr[1:]] - pairs.start[queries.indptr[:-1]])
        table[cells] = sum(swap_differences(measure, some, each) for each in several) / ORDERS
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
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    inner = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
    ranking = np.lexsort((-queries.relevance, -scores, query))
    if number is not None:
        key = np.random.default_rng(number).random(int(queries.sizes.max(initial=0)))
        ranking = ranking[np.lexsort((key[inner], -scores[ranking], query))]
    place = np.empty(queries.n_docs, np.int64)
    place[ranking] = inner
    return ranking, place


def ties(queries: Queries, scores: np.ndarray, ranking: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which queries tie documents of different relevance, and the first twin of each document."""
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    s, y = scores[ranking], queries.relevance[ranking]
    tied = (s[1:] == s[:-1]) & (query[1:] == query[:-1])
    mixed = np.zeros(queries.n_queries, np.bool_)
    mixed[query[1:][tied & (y[1:] != y[:-1])]] = True
    first = np.append(True, ~(tied & (y[1:] == y[:-1])))[: len(s)]
    twin = np.empty(queries.n_docs, np.int64)
    twin[ranking] = ranking[np.flatnonzero(first)][np.cumsum(first) - 1]
    return mixed, twin


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


@kernel
def table_sums(scores, indptr, weights, below, start, table, gradient):
    """Return the value, and add its derivative to `gradient`; pairs weigh their entry times the query's."""
    total = 0.0
    for q in range(len(indptr) - 1):
        last = indptr[q + 1]
        w = np.empty(last - indptr[q])
        for i in range(indptr[q], last):
            if below[i] == last or weights[q] == 0.0:
                continue
            losers, slopes = scores[below[i] : last], gradient[below[i] : last]
            cells = table[start[i] : start[i + 1]]
            row = w[: len(losers)]
            for j in range(len(row)):
                row[j] = weights[q] * cells[j]
            value, pull = weighted_logistic(scores[i], losers, row, slopes)
            total += value
            gradient[i] -= scores.dtype.type(pull)
    return total


@kernel
def table_curvatures(scores, indptr, weights, below, start, table, out):
    """Add the second derivative with respect to each score to `out`; arguments as in `table_sums`."""
    for q in range(len(indptr) - 1):
        last = indptr[q + 1]
        w = np.empty(last - indptr[q])
        for i in range(indptr[q], last):
            if below[i] == last or weights[q] == 0.0:
                continue
            cells = table[start[i] : start[i + 1]]
            row = w[: len(cells)]
            for j in range(len(row)):
                row[j] = weights[q] * cells[j]
            curved = logistic_curvature(scores[i], scores[below[i] : last], row, out[below[i] : last])
            out[i] += scores.dtype.type(curved)
