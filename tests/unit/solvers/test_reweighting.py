"""Re-weighted rounds of L-BFGS: damped steps, and a gradient at the weights of the ranking returned."""

import numpy as np
import pytest
from scipy.optimize import nnls

from directrank import LambdaLoss, LambdaRank, ListNet, make_ranking
from directrank.scorers import Linear
from directrank.solvers.descent import Problem
from directrank.solvers.reweighting import SETTLED
from directrank.surrogates import Objective
from directrank.surrogates import objective as objective_module

PENALTY = 1.0


@pytest.fixture(scope="module")
def groups():
    return make_ranking(60, noise=1.0, random_state=1)


@pytest.mark.parametrize("estimator", [LambdaLoss, LambdaRank])
def test_the_gradient_is_small_at_the_weights_of_the_ranking_returned(groups, estimator):
    ranker = estimator(penalty=PENALTY, scaling="none").fit(groups)
    objective = Objective(ranker.components()[0], groups.queries, groups.shards)
    start, end = np.zeros(10), ranker.scorer_.coefficients
    problem, gradients = Problem(objective, Linear(), groups.features, PENALTY), []
    for theta in (start, end):
        objective.reweigh(problem.scores(theta))
        gradients.append(problem.at(theta)[1])
    relative = problem.relative(*gradients[::-1])
    assert ranker.status_ == "converged"
    assert relative == pytest.approx(ranker.certificate_["relative_gradient"], rel=1e-6)
    assert relative <= SETTLED


def test_steps_are_damped_where_whole_steps_alternate(groups, monkeypatch):
    ranker = LambdaLoss(penalty=PENALTY, rounds=40)
    assert ranker.fit(groups).status_ == "converged"
    monkeypatch.setattr(Problem, "opposed", lambda self, one, other: False)
    assert ranker.fit(groups).status_ == "budget"
    assert ranker.certificate_["change"] > 0.1


def test_a_round_ends_at_a_share_of_its_first_gradient(groups, monkeypatch):
    tried = []

    def minimise(problem, start, max_iterations, tolerance, at_start):
        value, gradient = problem.at(start)
        # What the round before has computed is not computed again.
        assert at_start[0] == value
        assert at_start[1].tobytes() == gradient.tobytes()
        tried.append((float(np.abs(gradient).max()), tolerance))
        return original(problem, start, max_iterations, tolerance, at_start=at_start)

    original = Problem.minimise
    monkeypatch.setattr(Problem, "minimise", minimise)
    LambdaLoss(penalty=PENALTY, scaling="none").fit(groups)
    first, tolerances = np.transpose(tried)
    assert len(tried) > 2
    assert tolerances == pytest.approx(np.maximum(1e-4, 0.3 * first), rel=1e-6)
    assert np.ptp(tolerances) > 0


def test_directions_are_opposed_in_units_of_the_features(groups):
    objective = Objective(LambdaLoss().components()[0], groups.queries, groups.shards)
    features = groups.features * np.where(np.arange(10) == 0, 1e-3, 1.0).astype(np.float32)
    problem = Problem(objective, Linear(), features, 0.0)
    one, other = np.zeros((2, 10))
    one[:2], other[:2] = (-10.0, 1.0), (10.0, 1.0)
    assert one @ other < 0
    assert not problem.opposed(one, other)
    assert problem.opposed(one, -other)


def test_a_run_converges_where_the_gradient_jumps_across_zero():
    """The solution ties documents: of points around it some convex mean of gradients is nearly zero."""
    queries = make_ranking(8, 8, 5, random_state=1)
    ranker = LambdaLoss(penalty=1.0, scaling="none", select_by="nDCG").fit(queries)
    assert ranker.status_ == "converged"
    objective = Objective(ranker.components()[0], queries.queries, queries.shards)
    problem, end = Problem(objective, Linear(), queries.features, 1.0), ranker.scorer_.coefficients

    def gradient(theta):
        objective.reweigh(problem.scores(theta))
        return problem.at(theta)[1]

    first, at_end = gradient(np.zeros(5)), gradient(end)
    assert problem.relative(at_end, first) > SETTLED
    moves = np.random.default_rng(0).normal(size=(60, 5)) * 0.003 * np.linalg.norm(end)
    around = np.stack([gradient(end + move) for move in moves])
    # Weights of the mean, which add up to 1, by least squares.
    weights = nnls(np.vstack([around.T, np.full(60, 100.0)]), np.append(np.zeros(5), 100.0))[0]
    assert problem.relative(weights @ around, first) <= SETTLED


def test_many_pairs_of_one_shard_are_computed_in_single_precision(monkeypatch):
    # Their rankings are the same; an ordinary loss keeps its digits.
    groups = make_ranking(12, docs_per_query=250, noise=1.0, random_state=2)
    assert len(groups.shards) == 1

    def fitted():
        ranker = LambdaLoss("nDCG", penalty=PENALTY, scaling="none").fit(groups)
        loss = ranker.components()[0]
        return Objective(loss, groups.queries, groups.shards).dtype, ranker

    kind, narrow = fitted()
    monkeypatch.setattr(objective_module, "MUCH", np.inf)
    other, wide = fitted()
    assert (kind, other) == (np.float32, np.float64)
    assert narrow.coef_ == pytest.approx(wide.coef_, rel=0.02, abs=0.02 * np.abs(wide.coef_).max())
    monkeypatch.setattr(objective_module, "MUCH", 0.0)
    assert Objective(ListNet().components()[0], groups.queries, groups.shards).dtype == np.float64
