"""The type-one bound, and what boosting over queries does with it.

J. Xu, H. Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007; J. Xu et al., "Directly
optimizing evaluation measures in learning to rank", SIGIR 2008, section 4.1.
"""

import math

import numpy as np
import pytest

from directrank.data.groups import QueryGroups
from directrank.measures import AP, NDCG, mean_value
from directrank.scorers import Linear
from directrank.solvers import QueryBoosting
from directrank.surrogates import Objective, TypeOneBound
from directrank.surrogates.margins import Exponential


class Judge:
    """Judges by the training measure."""

    def __init__(self, groups, measure):
        self.groups, self.measure, self.features = groups, measure, groups.features

    def __call__(self, scores):
        return mean_value(self.measure, self.groups.queries, scores)


def collection(seed=0, n_queries=20, n_docs=8, n_features=5, levels=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, n_features))
    if levels:
        X = np.round(X * levels) / levels  # ties
    y = np.digitize(X @ rng.normal(size=n_features) + rng.normal(size=len(X)), [0.5, 1.5]).astype(float)
    y[::n_docs], y[1::n_docs] = 1, 0  # every query can teach
    return QueryGroups(X, y, np.repeat(np.arange(n_queries), n_docs))


def boost(groups, measure, **options):
    options = {"rounds": 10, "tolerance": math.inf, **options}  # the paper's algorithm never looks back
    objective = Objective(TypeOneBound(measure), groups.queries, groups.shards)
    judge, rng = Judge(groups, measure), np.random.default_rng(0)
    solution = QueryBoosting(**options).solve(objective, Linear(), groups.features, judge, rng)
    return objective, solution


def values_by_hand(groups, measure, scores):
    """The measure of each query, one query at a time."""
    return np.array(
        [
            mean_value(measure, groups.queries.part(q, q + 1), scores[a:b])
            for q, (a, b) in enumerate(zip(groups.queries.indptr, groups.queries.indptr[1:], strict=False))
        ]
    )


def test_section_4_1_both_bounds_lie_above_the_basic_loss():
    """1 − E ≤ exp(−E) ≤ log2(1 + exp(−E)) on [0, 1]; the first "is tighter"."""
    E = np.linspace(0, 1, 1001)
    exponential = Exponential().value(E)
    assert (exponential >= 1 - E).all()
    assert (exponential <= np.log2(1 + np.exp(-E)) + 1e-15).all()
    assert exponential[0] == 1.0
    np.testing.assert_allclose(Exponential().slope(E), -np.exp(-E))


@pytest.mark.statement("Xu, type one, exponential")
@pytest.mark.parametrize("measure", [AP(), NDCG(), NDCG(3)], ids=lambda each: each.name)
def test_the_objective_is_the_mean_of_the_exponential_bound(measure):
    groups = collection(levels=2)
    scores = np.round(np.random.default_rng(1).normal(size=groups.n_docs))
    weights = np.full(groups.n_queries, 1 / groups.n_queries)
    value = TypeOneBound(measure).on(groups.queries, weights).value(scores)
    by_hand = np.exp(-values_by_hand(groups, measure, scores)).mean()
    assert value == pytest.approx(by_hand, rel=1e-13)
    assert value >= 1 - mean_value(measure, groups.queries, scores)


@pytest.mark.statement("Xu, type one, exponential")
def test_algorithm_round_by_round():
    """Weak ranker by weighted measure, α = ½ ln((1 + φ)/(1 − φ)), P ∝ exp(−E(f_t)): re-done by hand."""
    groups, measure = collection(), AP()
    _, solution = boost(groups, measure, rounds=6)
    X, m = groups.features.astype(float), groups.n_queries
    P, f = np.full(m, 1 / m), np.zeros(groups.n_docs)
    table = np.array([values_by_hand(groups, measure, X[:, k]) for k in range(X.shape[1])])
    assert len(solution.trace) == 6
    for row in solution.trace:
        merits = table @ P
        k, phi = int(np.argmax(merits)), merits.max()
        alpha = 0.5 * math.log((P @ (1 + table[k])) / (P @ (1 - table[k])))
        f = f + alpha * X[:, k]
        E = values_by_hand(groups, measure, f)
        assert row["feature"] == k
        assert row["weighted_measure"] == pytest.approx(phi, rel=1e-12)
        assert row["alpha"] == pytest.approx(alpha, rel=1e-12)
        assert row["alpha"] == pytest.approx(math.atanh(phi), rel=1e-12)
        assert row["train_measure"] == pytest.approx(E.mean(), rel=1e-12)
        assert row["bound"] == pytest.approx(np.exp(-E).mean(), rel=1e-12)
        P = np.exp(-E) / np.exp(-E).sum()


@pytest.mark.parametrize("signed", [False, True])
def test_without_repetition_each_weak_ranker_is_taken_once_and_the_best_round_is_kept(signed):
    """The loop with a mask over the weak rankers taken before, re-done by hand until none is left."""
    groups, measure = collection(), AP()
    _, solution = boost(groups, measure, rounds=100, signed=signed, repeat=False)
    X, m = groups.features.astype(float), groups.n_queries
    X = np.column_stack((X, -X)) if signed else X
    table = np.array([values_by_hand(groups, measure, column) for column in X.T])
    P, f, free = np.full(m, 1 / m), np.zeros(groups.n_docs), np.full(len(table), True)
    weights, values = [np.zeros(len(table))], []
    for row in solution.trace:
        merits = np.where(free, table @ P, -1)
        k, phi = int(np.argmax(merits)), merits.max()
        free[k] = False
        f = f + math.atanh(phi) * X[:, k]
        weights.append(weights[-1] + math.atanh(phi) * np.eye(len(table))[k])
        E = values_by_hand(groups, measure, f)
        values.append(E.mean())
        assert row["feature"] == k % groups.n_features
        assert row["alpha"] == pytest.approx(math.atanh(phi), rel=1e-12)
        assert row["train_measure"] == pytest.approx(values[-1], rel=1e-12)
        P = np.exp(-E) / np.exp(-E).sum()
    assert not free.any()
    assert solution.status == "complete"
    best = weights[1 + int(np.argmax(values))]
    best = best[: groups.n_features] - best[groups.n_features :] if signed else best
    np.testing.assert_allclose(solution.scorer.coefficients, best, rtol=1e-5, atol=1e-7)


def test_without_repetition_two_features_are_both_taken_where_the_paper_stalls():
    """Of the first feature each query has AP 1, 1, 1/2, of the second 1/2, 1/2, 1: by hand.

    The weights of queries never favour the second feature: the paper's loop takes the first again and ends.
    """
    X = [[3, 0], [0, 1], [3, 0], [0, 1], [1, 0], [0, 3]]
    groups = QueryGroups(np.array(X, float), [1, 0, 1, 0, 0, 1], np.repeat([0, 1, 2], 2))
    _, paper = boost(groups, AP(), rounds=9, tolerance=0.0)
    assert [row["feature"] for row in paper.trace] == [0, 0]
    assert [row["train_measure"] for row in paper.trace] == pytest.approx([5 / 6, 5 / 6])
    assert paper.scorer.coefficients[1] == 0
    _, once = boost(groups, AP(), rounds=9, repeat=False)
    assert [row["feature"] for row in once.trace] == [0, 1]
    # P ∝ e^−1, e^−1, e^−½ after the first round; φ is 5/6, then Σ P E.
    P = np.exp([-1, -1, -0.5]) / np.exp([-1, -1, -0.5]).sum()
    alphas = [math.atanh(5 / 6), math.atanh(P @ [0.5, 0.5, 1])]
    assert [row["alpha"] for row in once.trace] == pytest.approx(alphas)
    # In the last query the relevant document scores 3 α₂, the other one α₁.
    assert 3 * alphas[1] > alphas[0]
    assert [row["train_measure"] for row in once.trace] == pytest.approx([5 / 6, 1.0])
    assert once.scorer.coefficients == pytest.approx(alphas)


def test_ranklibs_weights_are_multiplied_each_round():
    groups, measure = collection(3), AP()
    _, solution = boost(groups, measure, rounds=4, weights="product")
    X = groups.features.astype(float)
    P, f = np.full(groups.n_queries, 1 / groups.n_queries), np.zeros(groups.n_docs)
    for row in solution.trace:
        weak = values_by_hand(groups, measure, X[:, row["feature"]])
        assert row["weighted_measure"] == pytest.approx(P @ weak / P.sum(), rel=1e-12)
        f = f + row["alpha"] * X[:, row["feature"]]
        P = P * np.exp(-row["alpha"] * values_by_hand(groups, measure, f))


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("measure", [AP(), NDCG(5)], ids=lambda each: each.name)
def test_theorem_1_of_adarank(measure, seed):
    """(1/m) Σ E(f_T) ≥ 1 − Π e^(−δ_t) √(1 − φ_t²), δ_t = min_i [E(f_t) − E(f_{t−1}) − α_t E(h_t)]."""
    groups = collection(seed)
    _, solution = boost(groups, measure, rounds=8)
    X = groups.features.astype(float)
    # No ranking precedes the first round: f_0 has measure 0 there.
    f, before, product = np.zeros(groups.n_docs), np.zeros(groups.n_queries), 1.0
    for row in solution.trace:
        weak = X[:, row["feature"]]
        f = f + row["alpha"] * weak
        now = values_by_hand(groups, measure, f)
        delta = (now - before - row["alpha"] * values_by_hand(groups, measure, weak)).min()
        product *= math.exp(-delta) * math.sqrt(1 - row["weighted_measure"] ** 2)
        assert row["train_measure"] >= 1 - product - 1e-12
        before = now


def test_a_repeated_feature_is_a_fixed_point():
    """A feature chosen twice only rescales f: E, P and φ stand still."""
    groups = collection(n_features=1)
    _, solution = boost(groups, AP(), rounds=5, tolerance=0.002)
    rounds = {tuple((k, row[k]) for k in row if k != "round") for row in solution.trace[1:]}
    assert len(solution.trace) == 5
    assert len(rounds) == 1
    assert solution.trace[0]["train_measure"] == solution.trace[4]["train_measure"]
    assert solution.status == "budget"


def test_a_perfect_feature_ends_it_alone():
    """1 − φ = 0 would give an infinite weight: that single feature is the answer."""
    groups = collection()
    X = np.column_stack((groups.X[:, 0], groups.relevance, groups.X[:, 1]))
    groups = QueryGroups(X, groups.relevance, groups.qid)
    for queue in (False, True):
        _, solution = boost(groups, NDCG(), queue=queue, tolerance=0.002)
        assert np.isfinite(solution.scorer.coefficients).all()
        assert np.flatnonzero(solution.scorer.coefficients).tolist() == [1]
        assert solution.trace[0]["train_measure"] == 1.0
        assert solution.status == "converged"


def test_features_that_rank_nothing_end_it_with_nothing():
    """φ = 0 gives α = 0: no weak ranker is worth adding."""
    X = np.array([[0.0, 1.0], [1.0, 2.0]] * 3)
    groups = QueryGroups(X, [1, 0] * 3, np.repeat([0, 1, 2], 2))
    _, solution = boost(groups, NDCG(1))
    assert solution.trace == []
    assert solution.status == "converged"
    assert (solution.scorer.coefficients == 0).all()
    assert solution.certificate == {"bound": 1.0}
