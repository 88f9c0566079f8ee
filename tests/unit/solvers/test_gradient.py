"""L-BFGS and SGD: starts, the incumbent, budgets, and what the solution says of itself."""

import numpy as np
import pytest

from directrank.data.groups import QueryGroups
from directrank.measures import AP, NDCG, mean_value
from directrank.scorers import Linear
from directrank.solvers import LBFGS, SGD
from directrank.solvers.descent import Incumbent, starting_points
from directrank.solvers.passes import value_and_gradient
from directrank.surrogates import Objective, SmoothedPositions


class Judge:
    """Mean AP, counting how often it was asked."""

    def __init__(self, groups):
        self.groups, self.features, self.asked = groups, groups.features, 0

    def __call__(self, scores):
        self.asked += 1
        return mean_value(AP(), self.groups.queries, scores)


class Fixed:
    """Judges by a list of values, one after the other."""

    features = np.zeros((1, 2), np.float32)

    def __init__(self, *values):
        self.values = iter(values)

    def __call__(self, scores):
        return next(self.values)


def collection(n_queries=10, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * 12, n_features))
    y = np.digitize(X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=len(X)), [0.8]).astype(float)
    return QueryGroups(X, y, np.repeat(np.arange(n_queries), 12))


def solve(solver, groups, steepness=10.0, monitor=None, seed=0, start=None):
    surrogate = SmoothedPositions(NDCG(), steepness=steepness)
    objective = Objective(surrogate, groups.queries, groups.shards)
    rng = np.random.default_rng(seed)
    return objective, solver.solve(objective, Linear(start), groups.features, monitor or Judge(groups), rng)


def test_the_first_of_equal_iterates_stays():
    incumbent = Incumbent(Linear(), Fixed(0.5, 0.7, 0.7, 0.6))
    for number in range(4):
        incumbent.offer(np.full(2, float(number)))
    assert incumbent.value == 0.7
    assert incumbent.parameters.tolist() == [1.0, 1.0]


def test_starting_points():
    rng = np.random.default_rng(0)
    points = starting_points(Linear(), 4, 2, rng)
    assert points[0].tolist() == [0.0] * 4
    assert [round(np.linalg.norm(point), 12) for point in points[1:]] == [1.0, 1.0]
    own = starting_points(Linear(np.array([5.0, 6.0])), 2, 0, rng)
    assert [point.tolist() for point in own] == [[5.0, 6.0]]


def test_every_start_is_run_and_the_monitor_chooses():
    groups = collection()
    solver = LBFGS(n_restarts=3, max_iterations=15)
    _, solution = solve(solver, groups, steepness=100.0)
    ends = {row["start"]: row for row in solution.trace}
    assert sorted(ends) == [0, 1, 2, 3]
    assert all("monitor" in row for row in ends.values())
    best = max(ends, key=lambda start: ends[start]["monitor"])
    assert solution.message.startswith(f"start {best} of 4")
    assert Judge(groups)(solution.scorer.scores(groups.features)) == ends[best]["monitor"]
    assert solution.certificate["objective"] == ends[best]["objective"]


def test_keep_best_returns_the_best_iterate():
    groups = collection()
    _, last = solve(LBFGS(penalty=1e-3), groups)
    judge = Judge(groups)
    _, best = solve(LBFGS(penalty=1e-3, keep="best"), groups, monitor=judge)
    kept = Judge(groups)(best.scorer.scores(groups.features))
    assert kept == max(row["monitor"] for row in best.trace)
    assert kept >= Judge(groups)(last.scorer.scores(groups.features))
    assert judge.asked == len(best.trace)


def test_the_budget_is_kept_and_told():
    _, solution = solve(LBFGS(penalty=1e-4, max_iterations=2), collection())
    assert solution.status == "budget"
    assert len(solution.trace) == 3  # two iterations, and the end
    _, solution = solve(SGD(max_epochs=2, tolerance=0.0), collection())
    assert solution.status == "budget"
    assert len(solution.trace) == 2


def test_the_certificate_of_sgd_is_that_of_the_start_it_keeps():
    groups = collection()
    for seed in range(4):
        solver = SGD(n_restarts=2, max_epochs=6, tolerance=2e-2)
        _, solution = solve(solver, groups, steepness=100.0, seed=seed)
        best = max(solution.trace, key=lambda row: row["monitor"])["start"]
        values = [row["objective"] for row in solution.trace if row["start"] == best]
        assert solution.certificate["last_change"] == pytest.approx(abs(values[-1] - values[-2]))
        assert (solution.status != "budget") == (solution.certificate["last_change"] < 2e-2)
        flat = solution.certificate["relative_gradient"] <= 0.1
        assert (solution.status == "converged") == (flat and solution.status != "budget")


def test_one_step_of_sgd_by_hand():
    # One query: θ − η (scale · gradient + λ θ), from a given start.
    groups = collection(n_queries=1)
    start = np.array([0.1, -0.3, 0.2])
    solver = SGD(penalty=0.5, learning_rate=0.2, max_epochs=1)
    objective, solution = solve(solver, groups, steepness=2.0, start=start)
    gradient = value_and_gradient(objective, Linear(), start, groups.features)[1]
    np.testing.assert_allclose(
        solution.scorer.coefficients, start - 0.2 * (gradient + 0.5 * start), rtol=1e-12
    )


def test_an_epoch_of_sgd_follows_the_whole_objective():
    # With a tiny step an epoch over m queries moves θ by −η m times the gradient of the mean.
    groups = collection(n_queries=8)
    start = np.array([0.1, -0.3, 0.2])
    objective, solution = solve(SGD(penalty=0.0, learning_rate=1e-7, max_epochs=1), groups, start=start)
    gradient = value_and_gradient(objective, Linear(), start, groups.features)[1]
    np.testing.assert_allclose(
        (solution.scorer.coefficients - start) / -1e-7, 8 * gradient, rtol=1e-3, atol=1e-6
    )


def test_a_run_ends_once_twenty_iterations_lower_the_objective_by_less_than_asked():
    queries = collection(n_features=10)
    _, whole = solve(LBFGS(penalty=1e-4), queries, 30.0)
    _, ended = solve(LBFGS(penalty=1e-4, least_decrease=0.05), queries, 30.0)
    # The last row is that of the end.
    values, every = ([row["objective"] for row in each.trace[:-1]] for each in (ended, whole))
    assert values == every[: len(values)]
    assert len(values) < len(every)
    falls = (np.array(values[:-20]) - values[20:]) / values[20:]
    assert (falls[:-1] >= 0.05).all()
    assert falls[-1] < 0.05
    assert ended.status == "complete"
    assert f"{len(values)} iterations, the last 20 of little decrease" in ended.message
    assert ended.trace[-1]["objective"] == values[-1]
