"""Shards of queries: their number, their limits, and results in their order."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directrank.features import shards
from directrank.features.shards import (
    BLOCK_BYTES,
    cut_by_documents,
    make_shards,
    map_in_order,
    results_in_order,
    shard_count,
)


def indptr_of(sizes) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


class TestShards:
    def test_their_number_is_one_a_mebibyte_from_1_to_64(self):
        for n_docs, n_features, count in [
            (10, 5, 1),
            (2**18, 1, 1),
            (2**19 - 1, 1, 1),
            (2**19, 1, 2),
            (2**18, 64, 64),
            (2**22, 136, 64),
            (0, 5, 1),
        ]:
            assert shard_count(n_docs, n_features) == count

    @settings(deadline=None, max_examples=200)
    @given(st.lists(st.integers(1, 5000), min_size=1, max_size=60), st.sampled_from([1, 100, 1000, 4000]))
    def test_shard_i_begins_at_the_first_query_at_or_after_its_row(self, sizes, n_features):
        indptr = indptr_of(sizes)
        n_docs = int(indptr[-1])
        count = shard_count(n_docs, n_features)
        begins = []
        for i in range(count):
            after = [q for q in range(len(sizes)) if indptr[q] * count >= i * n_docs]
            begins.append(after[0] if after else len(sizes))
        expected = [(a, b) for a, b in zip(begins, [*begins[1:], len(sizes)], strict=True) if b > a]
        shards = make_shards(indptr, n_features)
        assert [(s.first_query, s.last_query) for s in shards] == expected
        assert [(s.first_row, s.last_row) for s in shards] == [(indptr[a], indptr[b]) for a, b in expected]

    @settings(deadline=None, max_examples=50)
    @given(st.lists(st.integers(1, 5000), min_size=1, max_size=60), st.sampled_from([1, 100, 1000, 4000]))
    def test_shards_and_their_blocks_hold_every_query_once_in_order(self, sizes, n_features):
        indptr = indptr_of(sizes)
        shards = make_shards(indptr, n_features)
        for parts in (shards, [block for shard in shards for block in shard.blocks]):
            assert [p.first_query for p in parts] == [0, *(p.last_query for p in parts[:-1])]
            assert parts[-1].last_query == len(sizes)
            assert all(indptr[p.first_query] == p.rows.start for p in parts)
            assert all(indptr[p.last_query] == p.rows.stop for p in parts)
        for block in (block for shard in shards for block in shard.blocks):
            whole = block.last_query - block.first_query == 1
            assert whole or (block.last_row - block.first_row) * n_features * 4 <= BLOCK_BYTES

    def test_a_query_that_spans_several_shards_is_in_one(self):
        # 8 MiB of features: shards start at or after rows 0, 2048, …, 14336. The second query covers five of
        # these starts; the queries start at rows 0, 1000, 12000 and 13000, none at or after 14336.
        sizes = [1_000, 11_000, 1_000, 3_384]
        indptr = indptr_of(sizes)
        assert shard_count(16_384, 128) == 8
        shards = make_shards(indptr, 128)
        assert [(s.first_query, s.last_query) for s in shards] == [(0, 2), (2, 3), (3, 4)]

    def test_a_start_between_two_rows_is_rounded_up(self):
        # Three shards of 769 / 3 rows: the second starts at or after row 256 1/3, so not at row 256.
        assert shard_count(769, 1024) == 3
        shards = make_shards(indptr_of([256, 44, 469]), 1024)
        assert [(s.first_query, s.last_query) for s in shards] == [(0, 2), (2, 3)]

    def test_many_queries_make_64_shards_of_the_like_size(self):
        indptr = indptr_of(np.full(40_000, 100))
        shards = make_shards(indptr, 136)
        assert len(shards) == 64
        rows = [s.last_row - s.first_row for s in shards]
        assert max(rows) - min(rows) <= 100

    def test_results_keep_the_order_of_items_for_any_number_of_threads(self):
        items = list(range(50))
        for n_threads in (1, 2, 4):
            assert map_in_order(lambda k: k * k, items, n_threads) == [k * k for k in items]


def test_calls_that_map_over_items_themselves_end_though_all_threads_wait():
    def total(depth: int) -> int:
        return 1 if depth == 0 else sum(map_in_order(total, [depth - 1] * 3, 2))

    assert total(4) == 3**4


def test_the_first_error_in_the_order_of_items_is_raised_and_no_call_runs_on():
    begun, ended, three = [], [], threading.Barrier(3)

    def call(k: int) -> None:
        begun.append(k)
        three.wait(timeout=60)
        if k != 1:
            raise ValueError(f"item {k}")
        time.sleep(0.2)
        ended.append(k)

    with pytest.raises(ValueError, match="item 0"):
        map_in_order(call, range(3), 3)
    assert sorted(begun) == [0, 1, 2]
    assert ended == [1]


def test_this_thread_works_too_and_no_more_threads_than_wanted():
    names, three = set(), threading.Barrier(3)

    def call(k: int) -> None:
        names.add(threading.get_ident())
        if k < 3:
            three.wait(timeout=60)
        time.sleep(0.01)

    map_in_order(call, range(3), 3)
    map_in_order(call, range(3, 30), 3)
    assert threading.get_ident() in names
    assert len(names) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_process_has_threads_of_its_own():
    code = (
        "import os, threading; from directrank.features.shards import map_in_order\n"
        "def both():\n"
        "    two = threading.Barrier(2)\n"
        "    map_in_order(lambda k: two.wait(timeout=30), [1, 2], 2)\n"
        "both()\n"
        "child = os.fork()\n"
        "if child: os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "both()\n"
        "os._exit(0)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


@pytest.mark.parametrize("n_threads", [1, 2])
def test_few_results_wait_while_others_are_used(n_threads):
    started = []
    results = results_in_order(started.append, range(100), n_threads)
    next(results)
    assert len(started) <= 2 * n_threads + 1
    assert len(list(results)) == 99


@pytest.mark.parametrize(("mapped", "expected"), [({"a file"}, 3), (set(), 0)])
def test_rows_of_mapped_files_are_dropped_after_each_shard(mapped, expected, monkeypatch):
    dropped = []
    monkeypatch.setattr(shards, "mappings", mapped)
    monkeypatch.setattr(shards, "relieve", lambda: dropped.append(1))
    assert map_in_order(len, ["a", "bc", ""]) == [1, 2, 0]
    assert len(dropped) == expected


@pytest.mark.parametrize(
    "sizes", [np.full(1000, 100), np.full(40, 100), np.full(200_000, 10), np.array([5, 30_000, 7, 20_000])]
)
def test_work_without_features_is_cut_into_runs_of_thousands_of_documents(sizes):
    indptr = np.append(0, np.cumsum(sizes))
    every = make_shards(indptr, 136)
    runs = cut_by_documents(every, indptr)
    edges = [run.first_query for run in runs]
    assert edges[0] == 0
    assert edges == sorted(set(edges) & {shard.first_query for shard in every})
    assert 2 <= len(runs) == max(2, min(len(every), indptr[-1] // 16384))
    blocks = [block for run in runs for block in run.blocks]
    assert [block.last_query for block in blocks] == [*(b.first_query for b in blocks[1:]), len(sizes)]
    assert all(indptr[b.first_query] == b.first_row and indptr[b.last_query] == b.last_row for b in blocks)
    assert all(b.last_row - b.first_row <= 32768 for b in blocks if b.last_query - b.first_query > 1)


def test_one_shard_is_not_cut_anew():
    indptr = np.arange(0, 1001, 10)
    every = make_shards(indptr, 5)
    assert cut_by_documents(every, indptr) is every
