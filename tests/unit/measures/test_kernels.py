"""Kernels of measures against their naive twins, on queries of uneven length."""

import functools
import itertools
from collections import defaultdict

import numpy as np
import pytest

import dirty_memory
from directrank import evaluate
from directrank.data.grouping import group_rows
from directrank.measures import AP
from directrank.measures import positions as positions_module
from directrank.measures.positions import positions_of
from naive import (
    positions_naive,
)


@pytest.fixture(params=[0, 2**21], ids=["counted", "sorted"], autouse=True)
def documents_to_sort(request, monkeypatch):
    """Positions are counted by the kernel, and sorted where there are few documents."""
    monkeypatch.setattr(positions_module, "documents_to_sort", defaultdict(lambda: request.param))
    return request.param


@functools.cache
def collection(levels=6):
    """Sixty queries of 1 to 90 documents, with ties."""
    rng = np.random.default_rng(levels)
    sizes = rng.integers(1, 91, 60)
    relevance = np.minimum(rng.integers(0, 5, sizes.sum()), np.repeat(rng.integers(0, 5, 60), sizes))
    queries, _ = group_rows(relevance.astype(float), np.repeat(np.arange(60), sizes))
    return queries, rng.integers(0, levels, queries.n_docs).astype(float)


@pytest.mark.parametrize("sizes", [[2047, 2048, 2049, 2050], [3000, 10], [2500, 2049]])
@pytest.mark.parametrize("digits", [1, 9])
def test_positions_of_long_lists_are_numbers_of_higher_and_equal_scores(sizes, digits):
    """Lists of more than 2,048 documents are sorted, one by one where all are long."""
    scores = np.round(np.random.default_rng(0).normal(size=sum(sizes)), digits)
    queries, order = group_rows(np.zeros(len(scores)), np.repeat(np.arange(len(sizes)), sizes))
    found = positions_of(queries, scores[order])
    for first, last in itertools.pairwise(queries.indptr):
        s = scores[order][first:last]
        assert np.array_equal(found.above[first:last], (s > s[:, None]).sum(axis=1))
        assert np.array_equal(found.tied[first:last], (s == s[:, None]).sum(axis=1))


tied = pytest.mark.parametrize("levels", [1, 6, 10**6])


@tied
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_positions(levels, kind):
    queries, scores = collection(levels)
    found, expected = positions_of(queries, scores.astype(kind)), positions_naive(queries, scores)
    np.testing.assert_array_equal(found.above, expected.above)
    np.testing.assert_array_equal(found.tied, expected.tied)
    assert (found.above.dtype, found.tied.dtype) == (np.int32, np.int32)


def test_positions_of_scores_that_single_precision_would_tie():
    queries, _ = collection()
    scores = 1.0 + np.random.default_rng(0).permutation(queries.n_docs) * 2.0**-50
    assert np.all(scores.astype(np.float32) == 1)
    found, expected = positions_of(queries, scores), positions_naive(queries, scores)
    np.testing.assert_array_equal(found.above, expected.above)
    np.testing.assert_array_equal(found.tied, expected.tied)


@pytest.mark.parametrize("extreme", [[np.inf, -np.inf, 0.0, -0.0], [1e300, 1e301, -1e300, 5e-324]])
def test_positions_of_extreme_scores(extreme):
    queries, _ = collection()
    scores = np.random.default_rng(1).choice(extreme, queries.n_docs)
    found, expected = positions_of(queries, scores), positions_naive(queries, scores)
    np.testing.assert_array_equal(found.above, expected.above)
    np.testing.assert_array_equal(found.tied, expected.tied)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("outlier", [1e30, -1e30, np.inf, 1e6])
def test_positions_of_scores_that_share_cells(kind, outlier):
    # One far score squeezes the others into a few cells, in which some are tied and some are not.
    queries, scores = collection(levels=40)
    scores = (1e3 + scores / 1e3).astype(kind)
    scores[queries.indptr[:-1]] = outlier
    found, expected = positions_of(queries, scores), positions_naive(queries, scores)
    np.testing.assert_array_equal(found.above, expected.above)
    np.testing.assert_array_equal(found.tied, expected.tied)


def test_positions_only_where_asked(documents_to_sort):
    queries, scores = collection()
    leading = np.minimum(queries.sizes, np.arange(queries.n_queries) % 7)
    found, expected = positions_of(queries, scores, n_read=leading), positions_naive(queries, scores)
    for q in range(queries.n_queries):
        start, stop = queries.indptr[q], queries.indptr[q + 1]
        asked, rest = slice(start, start + leading[q]), slice(start + leading[q], stop)
        np.testing.assert_array_equal(found.above[asked], expected.above[asked])
        np.testing.assert_array_equal(found.tied[asked], expected.tied[asked])
        assert documents_to_sort or not found.tied[rest].any()


@pytest.mark.share(4)
@pytest.mark.parametrize("fill", dirty_memory.FILLS)
@pytest.mark.parametrize("n", [1, 31, 32, 33, 2047, 2048, 2049, 2050, 5000])
def test_positions_around_the_size_switches_whatever_memory_held(n, fill, monkeypatch):
    rng = np.random.default_rng(n)
    scores = rng.integers(0, 900, 2 * n + 3).astype(float)
    queries, _ = group_rows(np.zeros(len(scores)), np.repeat([0, 1, 2], [n, 3, n]))
    expected = positions_naive(queries, scores)
    positions_of(queries, scores, n_read=queries.sizes)  # Kernels are compiled with NumPy as it is.
    empty, _ = dirty_memory.spoiled(*dirty_memory.FILLS[fill])
    monkeypatch.setattr(np, "empty", empty)
    for asked in {0, 1, n, *(min(n, k) for k in (16, 17, 32, 33, 48, 49))}:
        found = positions_of(queries, scores, n_read=np.array([asked, min(asked, 3), n]))
        read = np.arange(len(scores)) - np.repeat(queries.indptr[:-1], queries.sizes) < asked
        read[-n:] = True
        np.testing.assert_array_equal(found.above[read], expected.above[read])
        np.testing.assert_array_equal(found.tied[read], expected.tied[read])
        assert not found.above[~read].any()
        assert not found.tied[~read].any()


def test_three_relevant_documents_of_three_thousand_whatever_memory_held(monkeypatch):
    # Only three positions are read of a query that is too long for cells.
    relevance = np.zeros(3000)
    relevance[[999, 1999, 2999]] = 1
    empty, _ = dirty_memory.spoiled(*dirty_memory.FILLS["ones"])
    values = []
    for allocate in (np.empty, empty):  # Kernels are compiled with NumPy as it is.
        monkeypatch.setattr(np, "empty", allocate)
        values += [evaluate(relevance, -np.arange(3000.0), np.zeros(3000), measures=["AP"])["AP"]]
    assert values == pytest.approx(2 * [(1 / 1000 + 2 / 2000 + 3 / 3000) / 3], rel=1e-12)


def test_average_precision_of_perfect_rankings_is_exactly_one():
    sizes = np.arange(1, 400)
    queries, _ = group_rows(np.ones(sizes.sum()), np.repeat(sizes, sizes))
    positions = positions_of(queries, -np.arange(queries.n_docs, dtype=float))
    assert np.all(AP().query_values(queries, positions) == 1.0)
