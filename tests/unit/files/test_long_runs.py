"""A long run has the lines of a short one: pyarrow joins them, and scores are written as Python does."""

import numpy as np
import pytest

from directrank import DataError, QueryGroups
from directrank.files import scores as files
from directrank.files.scores import trec_text


@pytest.mark.parametrize("kind", [object, str])
def test_lines_are_those_of_python(monkeypatch, kind):
    scores = np.array([3.0, 1e22, 1e9, 12345678901.5, 0.1, 1 / 3, 1e-4, 9.5e-5, 0.0, -0.0, -1.5, -1e-7, 2.0])
    n = len(scores)
    qid, docid = np.array(["é1"] * 6 + ["2"] * 7), np.array([f"doc{row}" for row in range(n)], kind)
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
    monkeypatch.setattr(files, "PIECE", 5)
    assert trec_text(groups, scores, "tag") == text
    # Lines that are in order already.
    order = np.array([row for _, row, _ in expected])
    sorted_groups = QueryGroups(np.zeros((n, 1), np.float32), None, qid[order], docid=docid[order])
    assert trec_text(sorted_groups, scores[order], "tag") == text


def test_names_are_written_as_they_are(monkeypatch):
    """NumPy's texts would all be as long as the longest, and end at NUL."""
    monkeypatch.setattr(files, "MANY", 1)
    names = ["é\0", "b" * 2000, "c"]
    groups = QueryGroups(np.zeros((3, 1), np.float32), None, np.zeros(3), docid=np.array(names, object))
    lines = trec_text(groups, -np.arange(3.0) - 0.5, "t").splitlines()
    assert [line.split(" ")[2] for line in lines] == names


@pytest.mark.parametrize("names", [["a", "b", "a", "b"], [7, 8, 7, 8]])
def test_a_document_that_a_query_has_twice_is_refused(names):
    features, scores = np.zeros((4, 1), np.float32), -np.arange(4.0)
    groups = QueryGroups(features, None, ["q", "q", "r", "r"], docid=np.array(names))
    assert len(trec_text(groups, scores, "t").splitlines()) == 4  # Two queries share both.
    groups = QueryGroups(features, None, ["q", "q", "r", "q"], docid=np.array(names))
    with pytest.raises(DataError, match=f"query q has document '{names[3]}' a second time in row 4"):
        trec_text(groups, scores, "t")
