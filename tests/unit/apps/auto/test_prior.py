"""Features weighted by their mean correlation with the grade, by hand."""

import numpy as np
import pytest

from directrank import DataError, QueryGroups, load, make_ranking, save
from directrank.apps.auto import CorrelationRanker
from directrank.apps.auto.prior import correlations

X = [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [2.0, 3.0], [0.0, 3.0], [5.0, 7.0]]
Y, QID = [0, 1, 2, 1, 0, 1], [1, 1, 1, 2, 2, 3]


def test_coefficients_are_mean_correlations_in_units_of_deviation():
    # Query 1: correlations 1 and −1/√(2 · 2/3); query 2: 1, and 0 of a constant; query 3 has one grade.
    ranker = CorrelationRanker().fit(X, Y, qid=QID)
    correlations = np.array([1.0, -1 / np.sqrt(4 / 3) / 2])
    assert ranker.coef_ * np.std(X, axis=0) == pytest.approx(correlations)
    assert ranker.left_out_.tolist() == [3]


def test_a_query_counts_by_its_weight():
    groups = QueryGroups(X, Y, QID)
    weights = np.array([3.0, 3.0, 3.0, 1.0, 1.0, 9.0])[groups.queries.row]
    found = correlations(groups.source, groups.queries.relevance, weights)
    assert found == pytest.approx([1.0, -3 / np.sqrt(4 / 3) / 4])


def test_missing_values_have_the_median_and_it_is_saved(tmp_path):
    queries = make_ranking(12, 8, 3, random_state=0)
    X = np.array(queries.X)
    X[::7, 1] = np.nan
    ranker = CorrelationRanker().fit(X, queries.relevance, qid=queries.qid)
    save(ranker, tmp_path / "prior.dr")
    again = load(tmp_path / "prior.dr")
    assert again.predict(X).tolist() == ranker.predict(X).tolist()
    assert np.isfinite(ranker.predict(X)).all()


def test_queries_of_one_grade_are_refused_in_one_line():
    with pytest.raises(DataError, match="every query has one grade only"):
        CorrelationRanker().fit(X[:2], [1, 1], qid=[1, 1])
