"""Positions of documents under ties: what measures know of scores.

Documents with the same score form a block. Under random tie-breaking each of them takes each rank of the
block with equal probability, so two integers describe a document's position: how many documents are `above`
its block, and how many are `tied` in it. Every other way to break ties yields blocks of one document.
"""

import itertools
from collections import defaultdict

import numpy as np

from directrank.contracts import Positions
from directrank.data.queries import Queries
from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.prefetching import fetch_bytes
from directrank.kernels.vector_math import extremes

TIES = ("expected", "input", "worst", "best", "docid")

# So few documents are sorted, until the kernel that counts is compiled for their type or a process has sorted
# as many as take the time of compiling it: a fit on little data does not compile it. Positions are equal.
FEW_DOCUMENTS = 4096
documents_to_sort: dict[np.dtype, int] = defaultdict(lambda: 2**21)
# Beyond this many documents, sorting a query is cheaper than counting for more than a few documents.
COUNTING_LIMIT = 2048
COUNTED_ANYWAY = 32
# The kernel compares `WIDE` documents with one other at once; a rest of `WIDTH`, with `DEPTH` others.
WIDE, WIDTH, DEPTH = 32, 16, 4
# How many bytes before their use numbers are asked for.
AHEAD = 2**12
# Scores are rounded to whole numbers of 16 bits, cells; documents of one cell are compared again by score.
# The padding of a query is a cell of no document, below all of them.
LOWEST_CELL, CELLS, PADDING = -32767, 65534.0, np.int16(-32768)


def positions_of(
    queries: Queries,
    scores: np.ndarray,
    *,
    ties: str = "expected",
    n_read: np.ndarray | None = None,
    retrieved: np.ndarray | None = None,
) -> Positions:
    """Rank the documents of each query by descending score; scores are in the inner order, without NaN.

    Ties are in random order in expectation ("expected"), or in the caller's row order ("input"), the least
    ("worst") or the most relevant first ("best"), or by descending docid ("docid"). `n_read` is how many
    first documents of each query to compute positions for, and only `retrieved` documents have ties to break;
    all by default.
    """
    wanted = queries.sizes if n_read is None else n_read
    above, tied = np.empty((2, queries.n_docs), np.int32)
    by_sorting = (queries.sizes > COUNTING_LIMIT) & (wanted > COUNTED_ANYWAY)
    if queries.n_docs <= FEW_DOCUMENTS and documents_to_sort[scores.dtype] > 0:
        documents_to_sort[scores.dtype] -= queries.n_docs
        by_sorting[:] = True
    if not by_sorting.all():
        counted = np.where(by_sorting, 0, wanted)
        # Scratch arrays, cells and two counters per cell, are allocated here to shorten compilation.
        cells, greater, equal = np.empty((3, min(queries.longest, COUNTING_LIMIT) + WIDE), np.int16)
        with np.errstate(over="ignore"):  # Without compilation NumPy would warn of ranges that overflow.
            _count(scores, queries.indptr, counted, cells, greater, equal, above, tied)
        documents_to_sort[scores.dtype] = 0
    if by_sorting.any():
        rows = slice(None) if by_sorting.all() else np.flatnonzero(np.repeat(by_sorting, queries.sizes))
        positions = _sorted_positions(queries.query[rows], scores[rows])
        # Beyond `n_read` all are 0, as where they are counted.
        above[rows], tied[rows] = positions * (queries.place[rows] < np.repeat(wanted, queries.sizes)[rows])
    if ties != "expected":
        _break_ties(queries, scores, ties, True if retrieved is None else retrieved, above, tied)
    return Positions(above, tied)


def _sorted_positions(query: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return how many documents are above each, and how many are tied with it, int32 (2, n_docs)."""
    new_query = np.ediff1d(query, to_begin=1) != 0
    bounds = [*np.flatnonzero(new_query).tolist(), len(query)]
    if len(query) > COUNTING_LIMIT * (len(bounds) - 1):
        lists = itertools.pairwise(bounds)
        order = np.concatenate([first + np.argsort(-scores[first:last]) for first, last in lists])
    else:
        # Faster than a sort by two keys, as small whole numbers are sorted in linear time.
        order = np.argsort(-scores)
        order = order[np.argsort(query[order].astype(np.min_scalar_type(query[-1])), kind="stable")]
    ranked = scores[order]
    new_block = new_query | np.append(True, ranked[1:] != ranked[:-1])
    place = np.arange(len(query))
    starts = place[new_block]
    first = np.maximum.accumulate(np.where(new_query, place, 0))[starts]
    sizes = np.ediff1d(starts, to_end=len(query) - starts[-1])
    positions = np.empty((2, len(query)), np.int32)
    for row, of_block in zip(positions, (starts - first, sizes), strict=True):
        row[order] = np.repeat(of_block, sizes)
    return positions


def _break_ties(queries: Queries, scores, ties: str, breakable, above: np.ndarray, tied: np.ndarray) -> None:
    """Give every breakable document of a query with ties a rank of its own, in place."""
    which = np.maximum.reduceat(np.where(breakable, tied, 0), queries.indptr[:-1]) > 1
    if which.any():
        some, rows = queries.chosen(which)
        strict = _strict(some, scores[rows], ties)
        broken = np.broadcast_to(breakable, queries.n_docs)[rows]
        above[rows[broken]], tied[rows[broken]] = strict.above[broken], strict.tied[broken]


def with_unretrieved(positions: Positions, retrieved: np.ndarray, beyond: float | np.int32) -> Positions:
    """Return positions where `beyond` documents are above each document that was not retrieved.

    That is infinity, or the largest number of documents of a query; see `directrank.contracts.Measure`.
    """
    above = np.where(retrieved, positions.above, beyond)
    return Positions(above, np.where(retrieved, positions.tied, np.int32(1)))


def perfect_positions(queries: Queries) -> Positions:
    """Positions of the documents of each query in its best ranking."""
    return Positions(queries.place.astype(np.int32), np.ones(queries.n_docs, np.int32))


def _strict(queries: Queries, scores: np.ndarray, ties: str) -> Positions:
    query = queries.query
    if ties == "docid" and queries.docid is not None:
        # trec_eval breaks ties by descending docid.
        # Texts sort slowly: only the documents that are tied have a place in the alphabet.
        tied, second = _tied(query, scores), np.zeros(len(scores), np.int64)
        second[tied] = -np.unique(queries.docid[tied], return_inverse=True)[1]
    else:
        y, row = queries.relevance, queries.row
        second = {"input": row, "docid": -row, "worst": y, "best": -y}[ties]
    ranking = np.lexsort((second, -scores, query))
    perfect = perfect_positions(queries)
    above = np.empty_like(perfect.above)
    above[ranking] = perfect.above
    return Positions(above, perfect.tied)


def _tied(query: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return which documents have the score of another one of their query, bool (n_docs,)."""
    order = np.lexsort((scores, query))
    same = (query[order[1:]] == query[order[:-1]]) & (scores[order[1:]] == scores[order[:-1]])
    tied = np.zeros(len(scores), bool)
    tied[order[1:]] |= same
    tied[order[:-1]] |= same
    return tied


@kernel
def _count(scores, indptr, n_read, cells, greater, equal, above, tied):
    for q in range(len(n_read)):
        start, lead, stop = indptr[q], indptr[q] + n_read[q], indptr[q + 1]
        s, a, m = scores[start:stop], above[start:lead], tied[start:lead]
        _fetch_ahead(scores, start, stop)
        _fetch_ahead(above, start, stop)
        _fetch_ahead(tied, start, stop)
        # 0 stays for documents that are not read; where cells do not count, it says that nothing is known.
        _fill_zeros(above[start:stop])
        _fill_zeros(tied[start:stop])
        if len(a) == 0:
            continue
        if len(s) <= COUNTING_LIMIT:
            _fill_cells(s, cells)
            first = 0
            while first + WIDTH < len(a):
                _compare_wide(first, cells, len(s), greater, equal)
                first += WIDE
            if first < len(a):
                _compare_cells(first, cells, (len(s) + DEPTH - 1) // DEPTH, greater, equal)
            shared = 0
            for i in range(len(a)):
                a[i] = greater[i]
            for i in range(len(a)):
                m[i] = equal[i]
                shared += equal[i] != 1
            if shared == 0:
                continue
        for i in range(len(a)):
            if m[i] != 1:
                a[i], m[i] = _greater_and_equal(s, s[i], a[i], m[i])


@inline_kernel
def _fill_zeros(numbers):
    for i in range(len(numbers)):
        numbers[i] = 0


@inline_kernel
def _fetch_ahead(numbers, start, stop):
    # The memory delivers the next queries while this one is counted.
    fetch_bytes(numbers, start * numbers.itemsize + AHEAD, stop * numbers.itemsize + AHEAD)


@inline_kernel
def _fill_cells(s, cells):
    # Rounding preserves the order. If the range or its inverse overflows, all documents share a cell.
    low, high = extremes(s)
    scale = s.dtype.type(CELLS) / (high - low) if high > low else s.dtype.type(0)
    usable = scale > 0.0 and scale < np.inf
    for j in range(len(s)):
        cells[j] = np.int32((s[j] - low) * scale) + LOWEST_CELL if usable else 0
    for j in range(WIDE):
        cells[len(s) + j] = PADDING


@inline_kernel
def _compare_wide(first, cells, n, greater, equal):
    # A vector holds several documents and its counters stay in registers; no vector is summed across.
    x, g, e = cells[first : first + WIDE], greater[first : first + WIDE], equal[first : first + WIDE]
    for i in range(WIDE):
        g[i] = 0
    for i in range(WIDE):
        e[i] = 0
    for j in range(n):
        c = cells[j]
        for i in range(WIDE):
            g[i] += np.int16(c > x[i])
            e[i] += np.int16(c == x[i])


@inline_kernel
def _compare_cells(first, cells, depth, greater, equal):
    x, g, e = cells[first : first + WIDTH], greater[first : first + WIDTH], equal[first : first + WIDTH]
    for i in range(WIDTH):
        g[i] = 0
    for i in range(WIDTH):
        e[i] = 0
    for step in range(depth):
        j = DEPTH * step
        c0, c1, c2, c3 = cells[j], cells[j + 1], cells[j + 2], cells[j + 3]
        for i in range(WIDTH):
            v = x[i]
            # Without compilation a sum of truth values alone would be a truth value.
            g[i] += 0 + (c0 > v) + (c1 > v) + (c2 > v) + (c3 > v)
            e[i] += 0 + (c0 == v) + (c1 == v) + (c2 == v) + (c3 == v)


@inline_kernel
def _greater_and_equal(s, x, greater, equal):
    # The counts of cells are right if all documents of the cell are tied; else the scores are compared.
    same, larger = 0, 0
    for j in range(len(s)):
        same += s[j] == x
    if same == equal:
        return greater, equal
    for j in range(len(s)):
        larger += s[j] > x
    return larger, same
