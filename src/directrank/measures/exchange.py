"""The change of a measure when two documents are swapped: a table of pairs, in closed form or by evaluation.

Rankings here are strict: `rank` is the rank of each document in its query, counted from 0. A table has one
number for each pair of documents of different relevance, |E after the swap − E|: document by document in the
inner order, each with all the documents of lower relevance of its query (`PairTable`).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.capabilities import PositionLinear, Swappable
from directrank.measures.positions import Positions

__all__ = ["pair_table", "swap_differences"]

#: How many documents to evaluate at once, in many copies of a query.
AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class PairTable:
    """The order of the pairs in a table."""

    # (n_docs,), int64: The first row of lower relevance in the query; its end if there is none
    below: np.ndarray
    stop: np.ndarray  # (n_docs,), int64: The end of the query
    # (n_docs + 1,), int64: Document i has the entries ``start[i]:start[i + 1]``, one for each row of
    # ``below[i]:stop[i]``
    start: np.ndarray

    @property
    def n_pairs(self) -> int:
        """The number of pairs of different relevance."""
        return int(self.start[-1])


def pair_table(queries: Queries) -> PairTable:
    """Return where a table has the pairs of some queries that differ in relevance."""
    return queries.cached("table of pairs", lambda: _pair_table(queries))


def _pair_table(queries: Queries) -> PairTable:
    ends = np.zeros(queries.n_docs, np.bool_)
    ends[:-1] = queries.relevance[1:] != queries.relevance[:-1]
    ends[queries.indptr[1:][queries.sizes > 0] - 1] = True
    row = np.arange(queries.n_docs)
    last = np.minimum.accumulate(np.where(ends, row, queries.n_docs)[::-1])[::-1]
    stop = np.repeat(queries.indptr[1:], queries.sizes)
    return PairTable(last + 1, stop, np.append(0, np.cumsum(stop - last - 1)))


def filled_table(queries: Queries, rank: np.ndarray, kernel, *arguments) -> np.ndarray:
    """Return a table that a kernel fills, from places, pairs and further arguments; see `ap_swaps`."""
    pairs = pair_table(queries)
    table = np.zeros(pairs.n_pairs)
    kernel(rank, queries.indptr, pairs.below, pairs.start, *arguments, table)
    return table


def swap_differences(measure: Measure, queries: Queries, rank: np.ndarray) -> np.ndarray:
    """Return the table of a measure, in closed form or by evaluation."""
    if isinstance(measure, Swappable):
        return measure.swap_differences(queries, rank)
    if not isinstance(measure, PositionLinear):
        return swaps_by_evaluation(measure, queries, rank)
    gain, discount = measure.linear_in_positions(queries)
    return filled_table(queries, rank, gain_swaps, np.asarray(gain, np.float64), discount[queries.place])


def swaps_by_evaluation(measure: Measure, queries: Queries, rank: np.ndarray) -> np.ndarray:
    """Return the same table for any measure, by evaluating it after each swap.

    Each pair costs an evaluation of n documents: O(n³) a query, where closed forms take O(n²).
    """
    tables = [np.zeros(0)]
    for q, (first, last) in enumerate(pairwise(queries.indptr)):
        query, strict = queries.part(q, q + 1), rank[first:last]
        i, j = np.nonzero(query.relevance[:, None] > query.relevance)
        before = values_at_ranks(measure, query, strict[None])
        batch = max(1, AT_ONCE // len(strict))
        for begin in range(0, len(i), batch):
            upper, lower = i[begin : begin + batch], j[begin : begin + batch]
            swapped, number = np.tile(strict, (len(upper), 1)), np.arange(len(upper))
            swapped[number, upper], swapped[number, lower] = strict[lower], strict[upper]
            tables.append(np.abs(values_at_ranks(measure, query, swapped) - before))
    return np.concatenate(tables)


def values_at_ranks(measure: Measure, query: Queries, ranks: np.ndarray) -> np.ndarray:
    """Evaluate one query at many rankings; a row of `ranks` has the rank of each document, counted from 0."""
    times, n = ranks.shape
    above = ranks.ravel().astype(np.int32)
    return measure.query_values(query.repeated(times), Positions(above, np.ones(times * n, np.int32)))


@kernel
def ap_swaps(rank, indptr, below, start, n_read, reciprocal, divisor, table):
    """Fill the table of average precision; `reciprocal` is 1/t at rank t from 1, 0 beyond the cutoff."""
    for q in range(len(indptr) - 1):
        first, last = indptr[q], indptr[q + 1]
        relevant = first + n_read[q]
        # Over the first t ranks: the number of relevant documents, and the sum of 1/rank over them.
        count, share = np.zeros(last - first + 1), np.zeros(last - first + 1)
        for i in range(first, relevant):
            count[rank[i] + 1] = 1.0
        for t in range(1, len(count)):
            share[t] = share[t - 1] + count[t] * reciprocal[t]
            count[t] += count[t - 1]
        for i in range(first, relevant):
            p = rank[i] + 1
            precision, ahead = count[p] * reciprocal[p], share[p] - reciprocal[p]
            irrelevant = max(below[i], relevant)
            others = rank[irrelevant:last]
            cells = table[start[i] + irrelevant - below[i] : start[i + 1]]
            for j in range(len(others)):
                t = others[j] + 1
                # The document moves up, and those it passes get one more relevant document ahead of them; or
                # it moves down, and they get one fewer.
                if t < p:
                    change = (count[t] + 1.0) * reciprocal[t] + ahead - share[t] - precision
                else:
                    change = count[t] * reciprocal[t] - share[t] + share[p] - precision
                cells[j] = abs(change) / divisor[q]


@kernel
def err_swaps(rank, indptr, below, start, stopping, reciprocal, norm, table):
    r"""Fill the table of (expected) reciprocal rank; `reciprocal` as in `ap_swaps`.

    Let u be the stopping probability at rank p and v that at a later rank q. A is the share of users who pass
    the ranks before p, M the share who pass the ranks between, and B what those ranks add. The swap changes
    the measure by A |u − v| |1/p − B − M/q|.
    """
    for q in range(len(indptr) - 1):
        first, last = indptr[q], indptr[q + 1]
        n = last - first
        at, stops = np.empty(n, np.int64), np.full(n + 1, n)
        for i in range(first, last):
            at[rank[i]] = i
        for p in range(n - 1, -1, -1):  # the first rank from p on at which someone stops
            stops[p] = p if stopping[at[p]] > 0 else stops[p + 1]
        p, reach = 0, 1.0
        while p < n and reach > 0:
            u, passed, added = stopping[at[p]], 1.0, 0.0
            # A swap of two documents at which no one stops changes nothing.
            t = p + 1 if u > 0 else stops[p + 1]
            while t < n:
                high, low = min(at[p], at[t]), max(at[p], at[t])
                v = stopping[at[t]]
                if low >= below[high]:
                    change = (u - v) * (reciprocal[p + 1] - added - passed * reciprocal[t + 1])
                    table[start[high] + low - below[high]] = reach * abs(change) / norm[q]
                added += passed * v * reciprocal[t + 1]
                passed *= 1.0 - v
                t = t + 1 if u > 0 else stops[t + 1]
            reach *= 1.0 - u
            p += 1


@kernel
def wpd_swaps(rank, indptr, below, start, relevance, table):
    """Fill the table of the agreement with relevance.

    A document that moves up past others gains a right pair for each of lower relevance, and loses one for
    each of higher relevance.
    """
    for q in range(len(indptr) - 1):
        first, last = indptr[q], indptr[q + 1]
        n, pairs = last - first, start[last] - start[first]
        at, y, between = np.empty(n, np.int64), np.empty(n), np.zeros(n)
        for i in range(first, last):
            at[rank[i]] = i
        for p in range(n):
            y[p] = relevance[at[p]]
        for p in range(n):
            for t in range(p):
                between[p] += np.sign(y[p] - y[t])
        for p in range(n):
            own_weight = 0.0
            for t in range(p + 1, n):
                between[t] -= np.sign(y[t] - y[p])
                high, low = min(at[p], at[t]), max(at[p], at[t])
                if low >= below[high]:
                    change = np.sign(y[t] - y[p]) + between[t] - own_weight
                    table[start[high] + low - below[high]] = abs(change) / pairs
                own_weight += np.sign(y[p] - y[t])


@kernel
def gain_swaps(rank, indptr, below, start, gain, discount, table):
    """Fill the table of a sum of gains times discounts; `discount` has the ranks of each query, (n_docs,)."""
    for q in range(len(indptr) - 1):
        first, last = indptr[q], indptr[q + 1]
        curve = discount[first:last]
        for i in range(first, last):
            others, lower = rank[below[i] : last], gain[below[i] : last]
            cells, here = table[start[i] : start[i + 1]], curve[rank[i]]
            for j in range(len(others)):
                cells[j] = (gain[i] - lower[j]) * abs(here - curve[others[j]])
