"""Positions of documents under ties: where scores end and measures begin.

Documents with the same score form a block. Under random tie-breaking each of them takes each place of the
block with equal probability, so a document's position is known by two integers: how many documents are
`above` its block, and how many are `tied` in it. Every other policy yields blocks of one.
"""

from dataclasses import dataclass

import numpy as np

from directrank.data.queries import Queries
from directrank.jit import kernel
from directrank.measures.relevant import longest

TIES = ("expected", "input", "worst", "best", "docid")

# Beyond this many documents, sorting a query is cheaper than counting for more than a few documents.
COUNTING_LIMIT = 2048
COUNTED_ANYWAY = 32
# Counting vectorises in steps of so many documents.
LANES = 16
# Two counts of at most COUNTING_LIMIT share one number: the second is multiplied by 2^12.
PACK_BITS = 12
PACK = 2**PACK_BITS


@dataclass(frozen=True, eq=False)
class Positions:
    """Where each document may stand.

    Document i takes each position ``above[i] + 1, …, above[i] + tied[i]`` with equal probability.

    Parameters
    ----------
    above : ndarray of shape (n_docs,), int32
        Documents ranked before the block of the document.
    tied : ndarray of shape (n_docs,), int32
        Documents in its block, itself included; 0 where the position was not asked for.
    """

    above: np.ndarray
    tied: np.ndarray


def positions_of(
    queries: Queries, scores: np.ndarray, *, ties: str = "expected", leading: np.ndarray | None = None
) -> Positions:
    """Rank the documents of each query by descending score.

    Parameters
    ----------
    queries : Queries
    scores : ndarray of shape (n_docs,), float32 or float64
        In the inner order, without NaN.
    ties : {"expected", "input", "worst", "best", "docid"}, default="expected"
        Random order in expectation; the caller's row order; least or most relevant first; descending docid.
    leading : ndarray of shape (n_queries,), int64, optional
        How many first documents of each query are asked for (all by default).

    Returns
    -------
    Positions
    """
    if ties != "expected":
        return _strict(queries, scores, ties)
    wanted = queries.sizes if leading is None else leading
    above = np.zeros(queries.n_docs, np.int32)
    tied = np.zeros(queries.n_docs, np.int32)
    by_sorting = (queries.sizes > COUNTING_LIMIT) & (wanted > COUNTED_ANYWAY)
    counted = np.where(by_sorting, 0, wanted)
    _count(scores, queries.indptr, counted, min(longest(queries), COUNTING_LIMIT), above, tied)
    for query in np.flatnonzero(by_sorting):
        block = slice(queries.indptr[query], queries.indptr[query + 1])
        above[block], tied[block] = _by_sorting(scores[block])
    return Positions(above, tied)


def perfect_positions(queries: Queries) -> Positions:
    """Positions of the documents of each query in its best ranking."""
    place = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
    return Positions(place.astype(np.int32), np.ones(queries.n_docs, np.int32))


def _strict(queries: Queries, scores: np.ndarray, ties: str) -> Positions:
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    if ties == "docid" and queries.docid is not None:
        # trec_eval breaks ties by descending docid.
        _, place = np.unique(queries.docid, return_inverse=True)
        second = -place
    else:
        second = {
            "input": queries.row,
            "docid": -queries.row,
            "worst": queries.relevance,
            "best": -queries.relevance,
        }[ties]
    ranking = np.lexsort((second, -scores, query))
    above = np.empty(queries.n_docs, np.int32)
    above[ranking] = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
    return Positions(above, np.ones(queries.n_docs, np.int32))


def _by_sorting(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ranking = np.argsort(-scores)
    sorted_scores = scores[ranking]
    starts = np.flatnonzero(np.append(True, sorted_scores[1:] != sorted_scores[:-1]))
    sizes = np.diff(np.append(starts, len(scores)))
    above = np.empty(len(scores), np.int32)
    tied = np.empty(len(scores), np.int32)
    above[ranking] = np.repeat(starts, sizes)
    tied[ranking] = np.repeat(sizes, sizes)
    return above, tied


def positions_naive(queries: Queries, scores: np.ndarray) -> Positions:
    """Positions by definition, for tests."""
    above = np.zeros(queries.n_docs, np.int32)
    tied = np.zeros(queries.n_docs, np.int32)
    for query in range(queries.n_queries):
        block = slice(queries.indptr[query], queries.indptr[query + 1])
        s = scores[block]
        above[block] = (s[None, :] > s[:, None]).sum(axis=1)
        tied[block] = (s[None, :] == s[:, None]).sum(axis=1)
    return Positions(above, tied)


@kernel
def _count(scores, indptr, leading, longest, above, tied):
    narrow = np.empty(longest + LANES, np.float32)
    packed = np.empty(longest + LANES, np.float32)
    for q in range(len(leading)):
        start, lead = indptr[q], indptr[q] + leading[q]
        s, a, m = scores[start : indptr[q + 1]], above[start:lead], tied[start:lead]
        counted = len(s) <= COUNTING_LIMIT
        if counted and len(a) > 0:
            _count_columns(s, a, m, narrow, packed)
        for i in range(len(a)):
            # Rounding to float32 keeps the order but can tie what is not tied.
            if not counted or (m[i] != 1 and s.itemsize > 4):
                a[i], m[i] = _greater_and_equal(s, s[i])


@kernel
def _count_columns(s, a, m, narrow, packed):
    # Whole vectors: padded with NaN, which is neither above nor equal; what is counted for the documents
    # after the leading ones is forgotten.
    n, wide = len(s), (len(a) + 15) // 16 * 16
    for j in range(n):
        narrow[j] = s[j]
    for j in range(n, n + LANES):
        narrow[j] = np.nan
    x, counts = narrow[:wide], packed[:wide]
    counts[:] = np.float32(0)
    for j in range(0, n, 8):
        near = (narrow[j], narrow[j + 1], narrow[j + 2], narrow[j + 3])
        far = (narrow[j + 4], narrow[j + 5], narrow[j + 6], narrow[j + 7])
        _compare_columns(x, near, far, counts)
    for i in range(len(a)):
        whole = np.int32(counts[i])
        a[i], m[i] = whole & (PACK - 1), whole >> PACK_BITS


@kernel
def _compare_columns(x, near, far, counts):
    # How many of eight scores are above each document's, plus PACK times how many are equal: one number,
    # which float32 holds exactly up to 2^24. Documents stand side by side, so no vector is summed across.
    one, pack, none = np.float32(1), np.float32(PACK), np.float32(0)
    s0, s1, s2, s3 = near
    s4, s5, s6, s7 = far
    for i in range(len(counts)):
        v, count = x[i], counts[i]
        count += (one if s0 > v else none) + (one if s1 > v else none)
        count += (one if s2 > v else none) + (one if s3 > v else none)
        count += (one if s4 > v else none) + (one if s5 > v else none)
        count += (one if s6 > v else none) + (one if s7 > v else none)
        count += (pack if s0 == v else none) + (pack if s1 == v else none)
        count += (pack if s2 == v else none) + (pack if s3 == v else none)
        count += (pack if s4 == v else none) + (pack if s5 == v else none)
        count += (pack if s6 == v else none) + (pack if s7 == v else none)
        counts[i] = count


@kernel
def _greater_and_equal(s, x):
    one, none = s.dtype.type(1), s.dtype.type(0)
    greater, equal = none, none
    for j in range(len(s)):
        greater += one if s[j] > x else none
        equal += one if s[j] == x else none
    return np.int32(greater), np.int32(equal)
