"""Candidates that may be a sample: what is noticed, and what is not."""

import numpy as np
import pytest

from directrank import QueryGroups, check_data, evaluate_runs
from directrank.data.sampling import sampling_note


def groups(n_queries=10, size=5, positives=1, docid=None):
    relevance = np.tile([1] * positives + [0] * (size - positives), n_queries)
    X = np.random.default_rng(0).normal(size=(len(relevance), 2))
    return QueryGroups(X, relevance, np.repeat(np.arange(n_queries), size), docid=docid)


def test_one_relevant_document_among_equal_numbers_is_noticed():
    note = sampling_note(groups().queries)
    assert note.startswith("Each of 10 queries has one relevant document among 5.")
    assert "HR and nDCG on sampled items are not those of the catalogue" in note
    assert note in check_data(groups()).lines()
    result = evaluate_runs(groups(), {"a": np.random.default_rng(1).normal(size=50)}, measures=["RR"])
    assert note in result.content.data_check.lines


@pytest.mark.parametrize(
    "data",
    [
        groups(n_queries=9), groups(positives=2), groups(size=1),
        # Every query has all five documents of the catalogue, or five of nine.
        groups(docid=[f"d{n}" for n in range(5)] * 10),
        groups(docid=[f"d{(n + 2 * (n // 5)) % 9}" for n in range(50)]),
        QueryGroups(np.eye(51), [1, 0] * 25 + [0], [*np.repeat(np.arange(25), 2), 24]),
    ],
)  # fmt: skip
def test_other_candidates_are_not(data):
    assert sampling_note(data.queries) == ""
