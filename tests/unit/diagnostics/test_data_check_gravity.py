"""The gravest finding of the data check comes first, and on the command line alone."""

import numpy as np
import pandas as pd
import pytest

from directrank import QueryGroups, check_data, from_frame
from directrank.apps.cli.output import data_check_lines


def collection(n_queries, n_docs, n_columns=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_docs, n_columns))
    X[:, 0] = 1.0
    return QueryGroups(X, rng.integers(0, 2, n_docs), np.arange(n_docs) * n_queries // n_docs)


@pytest.mark.parametrize(
    ("n_queries", "n_docs", "counts"),
    [
        (4, 5128, "4 queries for 5,128 documents"),
        (1, 600, "1 query for 600 documents"),
        (90, 100, "90 queries for 100 documents, fewer than 2 each"),
    ],
)
def test_a_column_that_is_hardly_the_query_comes_first(n_queries, n_docs, counts):
    lines = check_data(collection(n_queries, n_docs)).lines()
    assert lines[0] == f"{counts}: is the right column the query (qid)?"
    assert "constant over all documents" in lines[-1]


def test_the_gravest_remark_is_printed_alone():
    lines = ["grave", "less grave", "little"]
    assert data_check_lines(lines, verbose=False) == ["data check: grave (2 more: --verbose)"]
    assert data_check_lines(lines, verbose=True) == [f"data check: {line}" for line in lines]
    assert data_check_lines(lines[:1], verbose=False) == ["data check: grave"]
    assert data_check_lines([], verbose=False) == []


def test_queries_with_a_document_twice_are_named():
    names = ["a", "b", "a", "a", "b", "c"]  # twice in q, and in each of q and r
    groups = QueryGroups(
        np.random.default_rng(0).normal(size=(6, 2)), [0, 1, 1, 0, 1, 0], [*"qqqrrr"], docid=names
    )
    (found,) = (found for found in check_data(groups).findings if found.code == "duplicate_names")
    assert found.message == "1 query has a document twice, by docid (qid q): every row counts."
    assert (found.count, found.examples) == (1, ["q"])
    once = QueryGroups(groups.X, groups.relevance, [*"qqqrrr"], docid=[*"abcdef"])
    assert not [found for found in check_data(once).findings if found.code == "duplicate_names"]


def test_no_value_left_for_the_feature_of_other_categories_is_no_finding():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "qid": np.repeat(np.arange(30), 10), "relevance": rng.integers(0, 3, 300), "brand": ["a", "b"] * 150,
        "price": rng.normal(size=300), "year": 2026.0,
    })  # fmt: skip
    (finding,) = (each for each in check_data(from_frame(frame)).findings if "constant" in each.code)
    assert finding.examples == ["year"]
