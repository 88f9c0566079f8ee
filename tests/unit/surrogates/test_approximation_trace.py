"""Annealed approximations, and what the trace says of an approximation's error."""

import numpy as np
import pytest

from directrank import ApproxRank, make_ranking
from directrank.measures import AP, NDCG
from directrank.measures.positions import positions_of
from directrank.surrogates import SmoothedPositions

KEYS = {"approximation_error", "certified_error", "largest_certified_error"}


@pytest.fixture(scope="module")
def groups():
    return make_ranking(n_queries=12, n_features=5, random_state=1)


def test_annealing_passes_through_easier_objectives(groups):
    easier = SmoothedPositions(NDCG(), steepness=30.0, truncation=2.0, anneal=(3.0, 10.0)).easier()
    assert [each.steepness for each in easier] == [3.0, 10.0]
    assert [each.truncation for each in easier] == [2.0, 2.0]
    assert SmoothedPositions(NDCG()).easier() == []


def test_each_stage_begins_where_the_one_before_ended(groups):
    """By hand: three fits, each started from the last, end where the annealed fit ends."""
    annealed = ApproxRank("nDCG", steepness=30.0, anneal=[3.0, 10.0]).fit(groups)
    start = "zero"
    for steepness in (3.0, 10.0, 30.0):
        start = ApproxRank("nDCG", steepness=steepness, start=start).fit(groups)
    np.testing.assert_array_equal(annealed.scorer_.coefficients, start.scorer_.coefficients)
    stages = [row["stage"] for row in annealed.history_]
    assert stages == sorted(stages)
    assert set(stages) == {0, 1, 2}


@pytest.mark.parametrize("solver", ["lbfgs", "sgd"])
def test_the_end_of_each_start_is_certified(groups, solver):
    ranker = ApproxRank("AP", solver=solver, n_restarts=1, max_iterations=6).fit(groups)
    ends = [row for row in ranker.history_ if row.keys() >= KEYS]
    assert [row["start"] for row in ends] == [0, 1]
    assert ends[1] is ranker.history_[-1]
    for row in ends:
        assert row["approximation_error"] <= row["certified_error"] <= row["largest_certified_error"]
    everywhere = ApproxRank("AP", solver=solver, max_iterations=6, certify="all").fit(groups)
    assert all(row.keys() >= KEYS for row in everywhere.history_)


def test_the_error_in_the_trace_is_that_of_the_model(groups):
    weights = np.arange(1.0, groups.n_queries + 1)
    ranker = ApproxRank("AP", steepness=20.0, truncation=3.0, max_iterations=8)
    ranker.fit(groups, sample_weight=weights)
    queries, scores = groups.queries, ranker.scorer_.scores(groups.features)
    weights = np.where(AP().uninformative(queries), 0.0, weights)
    exact = AP().query_values(queries, positions_of(queries, scores))
    surrogate = SmoothedPositions(AP(), steepness=20.0, truncation=3.0)
    smooth = [
        1 - surrogate.on(queries, unit).value_and_gradient(scores)[0] for unit in np.eye(groups.n_queries)
    ]
    error = np.average(np.abs(exact - smooth), weights=weights)
    assert ranker.history_[-1]["approximation_error"] == pytest.approx(error, rel=1e-9)
