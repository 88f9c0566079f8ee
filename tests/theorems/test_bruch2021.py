"""XE-NDCG, from its paper: Bruch, WWW 2021. A convex bound on nDCG, consistent in some scenarios."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from directrank.data.grouping import group_rows
from directrank.surrogates import GainCrossEntropy
from oracles import exponential_gain, ndcg, slope, standard_discount

GAMMAS = (0.0, 0.3, 1.0)


def one_query(grades):
    return group_rows(np.asarray(grades, float), np.zeros(len(grades)))[0]


def loss(gamma, grades, scores):
    """The value on one query whose documents are in the order of their grades."""
    oracles = GainCrossEntropy(gamma).on(one_query(grades), np.ones(1))
    return oracles.value_and_gradient(np.asarray(scores, float))[0]


def ranked_ndcg(grades, scores):
    return ndcg()(np.asarray(grades)[np.argsort(-np.asarray(scores), kind="stable")])


def random_lists(count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        grades = np.sort(rng.integers(0, 5, rng.integers(2, 8)))[::-1].astype(float)
        if grades[0] > grades[-1]:
            yield grades, rng.normal(size=len(grades)) * 10.0 ** rng.uniform(-2, 1)


def test_definition():
    """−Σ φ ln ρ, φ = (2^y − γ) / Σ (2^y − γ): here (4 − ½, 2 − ½, 1 − ½) / 5.5."""
    scores = np.array([0.3, -1.0, 2.0])
    share = np.array([3.5, 1.5, 0.5]) / 5.5
    assert loss(0.5, [2, 1, 0], scores) == pytest.approx(-share @ log_softmax(scores), rel=1e-13)
    oracles = GainCrossEntropy(0.5).on(one_query([2, 1, 0]), np.ones(1))
    np.testing.assert_allclose(oracles.value_and_gradient(scores)[1], softmax(scores) - share, rtol=1e-12)
    np.testing.assert_allclose(
        slope(lambda s: loss(0.5, [2, 1, 0], s), scores), softmax(scores) - share, atol=1e-10
    )


def test_bound_on_the_logarithm_of_ndcg():
    """At γ = 1 the value is at least −ln nDCG; it is so because ρ ≤ 1/π ≤ 1/log2(1 + π)."""
    for grades, scores in random_lists(300):
        value = ranked_ndcg(grades, scores)
        position = 1 + (scores[None, :] > scores[:, None]).sum(axis=1)
        assert (softmax(scores) <= 1 / position + 1e-12).all()
        assert loss(1.0, grades, scores) >= -np.log(value) - 1e-12
        assert -np.log(value) >= 1 - value - 1e-12


@pytest.mark.parametrize("gamma", GAMMAS)
def test_bound_translated(gamma):
    """For every γ the value is at least −ln((DCG + 1 − γ) / Σ (2^y − γ)), and at least 1 − nDCG."""
    for grades, scores in random_lists(300):
        gains, order = exponential_gain(grades), np.argsort(-scores)
        dcg = sum(gains[i] * standard_discount(p) for p, i in enumerate(order, start=1))
        value = loss(gamma, grades, scores)
        assert value >= -np.log((dcg + 1 - gamma) / (2.0**grades - gamma).sum()) - 1e-12
        assert value >= 1 - ranked_ndcg(grades, scores) - 1e-12


def test_the_bound_is_attained_in_the_limit():
    """One relevant document far above the others: value and 1 − nDCG are both 0."""
    assert loss(1.0, [1, 0, 0], [40.0, 0.0, 0.0]) == pytest.approx(0.0, abs=1e-15)


def minimiser(gamma, outcomes, probabilities):
    """The scores of least mean loss; an outcome is a grade for each document, in one order of documents."""
    order = np.argsort(-np.array(outcomes), axis=1, kind="stable")
    grades = np.take_along_axis(np.array(outcomes, float), order, 1).ravel()
    queries = group_rows(grades, np.repeat(np.arange(len(outcomes)), order.shape[1]))[0]
    oracles = GainCrossEntropy(gamma).on(queries, np.asarray(probabilities))

    def mean(scores):
        value, gradient = oracles.value_and_gradient(scores[order.ravel()])
        return value, np.bincount(order.ravel(), gradient)

    return minimize(mean, np.zeros(order.shape[1]), jac=True, tol=1e-10).x


def best_orders(outcomes, probabilities):
    """The rankings of largest mean nDCG."""
    mean = {
        order: sum(p * ndcg()(np.array(y)[list(order)]) for y, p in zip(outcomes, probabilities, strict=True))
        for order in itertools.permutations(range(len(outcomes[0])))
    }
    return [order for order, value in mean.items() if value > max(mean.values()) - 1e-12]


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("grades", [(1, 0, 0, 0), (3, 1, 0, 0), (2, 2, 1, 0)])
def test_consistent_where_grades_of_a_query_are_the_same_in_another_order(gamma, grades):
    """Such as one click a query: the minimiser of the mean orders documents best for the mean nDCG."""
    outcomes = sorted(set(itertools.permutations(grades)))
    probabilities = np.random.default_rng(len(outcomes)).dirichlet(np.ones(len(outcomes)))
    found = minimiser(gamma, outcomes, probabilities)
    raised = 2.0 ** np.array(outcomes) - gamma
    share = probabilities @ (raised / raised.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(softmax(found), share, atol=1e-5)
    assert tuple(np.argsort(-found).tolist()) in best_orders(outcomes, probabilities)


def test_not_consistent_in_general():
    """nDCG divides by the ideal DCG, which is 1 or 1.63, and φ by the sum of gains, 1 or 2.

    Either the second document alone is relevant, or the two others: 0.64 / 1.63 > 0.36 > 0.64 / 2.
    """
    outcomes, probabilities = [(0, 1, 0), (1, 0, 1)], [0.36, 0.64]
    assert np.argmax(minimiser(1.0, outcomes, probabilities)) == 1
    assert all(order[0] != 1 for order in best_orders(outcomes, probabilities))


def test_drawn_gammas_are_new_each_time_and_the_same_for_a_seed():
    queries, scores = one_query([2, 1, 1, 0, 0, 0]), np.array([0.4, 0.1, 0.3, 0.2, 0.9, 0.5])

    def shares(seed, times):
        oracles = GainCrossEntropy("uniform", seed=seed).on(queries, np.ones(1))
        drawn = []
        for _ in range(times):
            oracles.reweigh(scores)
            drawn.append(oracles.arguments[0])
        return np.array(drawn)

    first = shares(1, 400)
    np.testing.assert_array_equal(first, shares(1, 400))
    assert len(np.unique(first[:, 0])) == 400
    assert not np.array_equal(first[:5], shares(2, 5))
    np.testing.assert_allclose(first.sum(axis=1), 1.0)
    # (2^y − γ) / Σ (2^y − γ) is between its values where γ is 1 here and 0 elsewhere, and the reverse.
    raised = 2.0**queries.relevance
    assert (first > (raised - 1) / (raised.sum() - 1)).all()
    assert (first < raised / (raised + (raised.sum() - raised) - 5)).all()
    # On average they are near the shares at γ = ½.
    np.testing.assert_allclose(first.mean(axis=0), (raised - 0.5) / (raised - 0.5).sum(), atol=0.02)


def test_gamma_is_checked():
    for wrong in (-0.1, 1.5, "normal"):
        with pytest.raises(ValueError, match="from 0 to 1"):
            GainCrossEntropy(wrong)
