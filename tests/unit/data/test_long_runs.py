"""A long run has the lines of a short one: pyarrow joins them, and scores are written as Python does."""

import numpy as np

from directrank import QueryGroups
from directrank.files import scores as files
from directrank.files.scores import trec_text


def test_lines_are_those_of_python(monkeypatch):
    scores = np.array([3.0, 1e22, 1e9, 12345678901.5, 0.1, 1 / 3, 1e-4, 9.5e-5, 0.0, -0.0, -1.5, -1e-7, 2.0])
    n = len(scores)
    qid, docid = np.array(["é1"] * 6 + ["2"] * 7), np.array([f"doc{row}" for row in range(n)], object)
    groups = QueryGroups(np.zeros((n, 1), np.float32), None, qid, docid=docid)
    expected = [
        (query, row, rank)
        for query, rows in (("é1", range(6)), ("2", range(6, n)))
        for rank, row in enumerate(sorted(rows, key=lambda row: -scores[row]), 1)
    ]
    text = "".join(
        f"{query} Q0 doc{row} {rank} {scores.tolist()[row]!r} tag\n" for query, row, rank in expected
    )
    assert trec_text(groups, scores, "tag") == text
    monkeypatch.setattr(files, "MANY", 1)
    assert trec_text(groups, scores, "tag") == text
    # Lines that are in order already.
    order = np.array([row for _, row, _ in expected])
    sorted_groups = QueryGroups(np.zeros((n, 1), np.float32), None, qid[order], docid=docid[order])
    assert trec_text(sorted_groups, scores[order], "tag") == text
