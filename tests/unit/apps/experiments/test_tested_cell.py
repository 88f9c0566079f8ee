"""What is kept of a tested model: curve, ties, bounds, and the interval of its mean."""

import math

import numpy as np
import pytest

from directrank import QueryGroups, Regression, make_ranking
from directrank.apps.experiments.results.measured import Scored, curve, ties
from directrank.apps.experiments.run import cells as details


def groups(relevance, qid) -> QueryGroups:
    rows = len(relevance)
    return QueryGroups(np.arange(2.0 * rows).reshape(rows, 2), np.array(relevance, float), np.array(qid))


def test_curve_is_ndcg_at_every_place():
    # One relevant document, third of four: DCG 1 / log2(4) of an ideal of 1.
    found = curve(Scored(groups([0, 0, 1, 0], [1] * 4), np.array([4.0, 3.0, 2.0, 1.0]), None), "standard")
    assert found == [0.0, 0.0] + [pytest.approx(1 / math.log2(4))] * 8


def test_ties_count_documents_and_the_queries_where_they_matter():
    # Query 1 ties a relevant and an irrelevant document; query 2 ties two irrelevant ones; query 3 none.
    data = groups([1, 0, 0, 0, 0, 1, 1, 0], [1, 1, 1, 2, 2, 2, 3, 3])
    scores = np.array([2.0, 2.0, 1.0, 0.0, 0.0, 5.0, 2.0, 1.0])
    found = ties(Scored(data, scores, None), ("P@1",))
    assert (found.documents, found.queries) == (4, 1)
    # By the order of rows the relevant document of query 1 comes first.
    assert found.input == {"P@1": pytest.approx(1.0)}


def test_bounds_hold_and_name_the_measure():
    data = make_ranking(12, 8, 4, random_state=1)
    scores = Regression().fit(data).predict(data)
    found = details.bounds(data, scores, "AP")
    assert found is not None
    assert (found.measure, found.queries) == ("AP", 12)
    kinds = {row.kind: row for row in found.rows}
    assert kinds["type one"].holds is True
    assert kinds["type one"].mean >= found.loss
    assert math.isclose(kinds["type one"].distance, kinds["type one"].mean - found.loss)
