"""Boosting over queries: RankLib's queue and removals, stopping, and the prefix that is kept."""

from itertools import pairwise

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.measures import AP, NDCG, mean_value
from directrank.scorers import Linear
from directrank.solvers import QueryBoosting
from directrank.surrogates import Objective, TypeOneBound


class Scripted:
    """A monitor that returns what it is told, round by round."""

    def __init__(self, groups, values=None):
        self.groups, self.features, self.values = groups, groups.features, list(values or [])

    def __call__(self, scores):
        if self.values:
            return self.values.pop(0)
        return mean_value(AP(), self.groups.queries, scores)


def collection(seed=0, n_features=4, n_queries=15):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_queries * 8, n_features)), 1)
    y = (X[:, 0] + X[:, 1] + 1.5 * rng.normal(size=len(X)) > 1).astype(float)
    y[::8], y[1::8] = 1, 0
    return QueryGroups(X, y, np.repeat(np.arange(n_queries), 8))


def boost(groups, monitor=None, measure=None, **options):
    objective = Objective(TypeOneBound(measure or AP()), groups.queries, groups.shards)
    solver = QueryBoosting(**options)
    monitor = monitor or Scripted(groups)
    return solver.solve(objective, Linear(), groups.features, monitor, np.random.default_rng(0))


def rebuilt(trace, n_features):
    w = np.zeros(n_features)
    for row in trace:
        w[row["feature"]] += row["alpha"]
    return w


def test_the_prefix_that_the_monitor_likes_best_is_kept():
    groups = collection()
    solution = boost(groups, Scripted(groups, [0.3, 0.9, 0.5, 0.9, 0.1]), rounds=5, tolerance=np.inf)
    assert [row["monitor"] for row in solution.trace] == [0.3, 0.9, 0.5, 0.9, 0.1]
    np.testing.assert_array_equal(solution.scorer.coefficients, rebuilt(solution.trace[:2], 4))
    assert solution.message == "Trained 5 rounds, kept the first 2"
    assert solution.status == "budget"


def test_a_round_that_falls_by_the_tolerance_ends_it():
    groups = collection(10)
    free = boost(groups, rounds=30, tolerance=np.inf).trace
    falls = [a["train_measure"] - b["train_measure"] for a, b in pairwise(free)]
    first = next(number for number, fall in enumerate(falls) if fall > 0)
    stopped = boost(groups, rounds=30, tolerance=falls[first] / 2)
    assert stopped.status == "converged"
    assert len(stopped.trace) == first + 2  # the round that fell is seen, and is the last
    assert boost(groups, rounds=first + 2, tolerance=2 * falls[first]).status == "budget"


def test_the_queue_undoes_the_round_of_a_feature_that_comes_again():
    # The best feature comes twice: its round is undone, and another one starts anew from nothing.
    groups = collection()
    plain = boost(groups, rounds=2, queue=False, tolerance=np.inf).trace
    assert plain[0]["feature"] == plain[1]["feature"]
    queued = boost(groups, rounds=2, queue=True, tolerance=np.inf).trace
    second = queued[1]["feature"]
    assert second != queued[0]["feature"]
    alone = mean_value(AP(), groups.queries, groups.features[:, second].astype(float))
    assert queued[1]["train_measure"] == np.float64(alone) or abs(queued[1]["train_measure"] - alone) < 1e-15


def two_features():
    """Feature 0 is better than feature 1 under any weights, so the paper's algorithm never leaves it."""
    X = [[2.0, 1.0], [1.0, 2.0], [0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 2.0], [0.0, 0.0], [1.0, 1.0]]
    return QueryGroups(X, [1, 0, 0, 1, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1, 2, 2])


def test_a_feature_that_changes_nothing_is_barred_after_five_repeats():
    # 0 comes twice and is set aside, so does 1; nothing is left. 1 comes back, once and five times over, and
    # is barred; then 0 comes back, mixed with what 1 has left.
    trace = boost(two_features(), rounds=9, queue=True, tolerance=0.002, measure=NDCG()).trace
    assert [row["feature"] for row in trace] == [0, 1, 1, 1, 1, 1, 1, 1, 0]


def test_signed_features_are_offered_turned_round():
    groups = collection()
    turned = QueryGroups(-groups.X, groups.relevance, groups.qid)
    plain = boost(groups, rounds=5, tolerance=np.inf)
    signed = boost(turned, rounds=5, signed=True, tolerance=np.inf)
    both = boost(groups, rounds=5, signed=True, tolerance=np.inf)
    np.testing.assert_allclose(signed.scorer.coefficients, -both.scorer.coefficients)
    assert signed.trace[0]["weighted_measure"] >= plain.trace[0]["weighted_measure"]
    assert boost(turned, rounds=5, tolerance=np.inf).trace[0] != signed.trace[0]
