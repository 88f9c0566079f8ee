"""Evaluation by batches of queries, on threads where they pay off."""

import numpy as np
import pytest

from directrank.data.grouping import group_rows
from directrank.measures import AP, ERR, NDCG, P, values_of
from directrank.measures import values as batches
from directrank.measures.positions import positions_of

MEASURES = [AP(), AP(3, rel=2), NDCG(10), NDCG(gain="linear"), P(5), ERR(max_grade=3)]


def collection():
    """Sixty queries of 1 to 90 documents, every third with ties; and a query without a relevant document."""
    rng = np.random.default_rng(0)
    sizes = np.append(rng.integers(1, 91, 60), 4)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    relevance = rng.integers(0, 4, len(qid)).astype(float) * (qid < 60)
    scores = rng.normal(size=len(qid))
    queries, order = group_rows(relevance, qid)
    return queries, np.where(qid % 3, scores, np.round(scores))[order]


def fresh(queries):
    """The same queries, remembering nothing."""
    return queries.part(0, queries.n_queries)


@pytest.mark.parametrize("n_threads", [None, 1, 3])
@pytest.mark.parametrize("batch_docs", [1, 7, 200, 10**6])
def test_neither_batches_nor_threads_matter(monkeypatch, batch_docs, n_threads):
    queries, scores = collection()
    positions = positions_of(queries, scores)
    monkeypatch.setattr(batches, "BATCH_DOCS", batch_docs)
    found = values_of(MEASURES, fresh(queries), scores, n_threads=n_threads)
    for measure, values in zip(MEASURES, found, strict=True):
        np.testing.assert_array_equal(values, measure.query_values(queries, positions))


def test_batches_are_whole_queries_in_order(monkeypatch):
    queries, _ = collection()
    monkeypatch.setattr(batches, "BATCH_DOCS", 100)
    parts = batches._batches(queries)
    assert len(parts) > 10
    assert sum(each.n_queries for _, each in parts) == queries.n_queries
    assert [rows.start for rows, _ in parts[1:]] == [rows.stop for rows, _ in parts[:-1]]
    assert np.concatenate([queries.relevance[rows] for rows, _ in parts]).shape == (queries.n_docs,)


def test_threads_start_for_much_work_only(monkeypatch):
    # Two queries, 100² + 164² pairs with what a query takes beside its documents.
    queries, _ = group_rows(np.zeros(136), np.repeat([0, 1], [36, 100]))
    monkeypatch.setattr(batches, "processors", lambda: 3)
    assert batches._threads(queries, 2, "expected") == 1
    assert batches._threads(queries, 2, "input") == 3
    passes = 3 * (100**2 + 164**2)
    for per_thread, threads in ((passes // 2 + 1, 1), (passes // 2, 2), (passes // 3, 3), (passes // 50, 3)):
        monkeypatch.setattr(batches, "PAIRS_PER_THREAD", per_thread)
        assert batches._threads(queries, 2, "expected") == threads
