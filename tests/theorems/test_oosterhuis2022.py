"""PL-Rank against the enumeration of all rankings: unbiased gradients, whatever the measure."""

from itertools import permutations

import numpy as np
import pytest

from directrank.data import QueryGroups
from directrank.data.grouping import group_rows
from directrank.measures import parse_measure, values_of
from directrank.surrogates import policy
from directrank.surrogates.policy import PolicyMeasure, expected_exposure
from naive import policy_naive
from surrogate_examples import measures

GRADES = np.array([3.0, 2.0, 1.0, 1.0, 0.0])
SCORES = np.array([0.3, -0.8, 1.1, 0.2, 0.6])
SAMPLES, SEEDS = 200, 20
DRAWN = {}


def one_query(grades):
    return QueryGroups(np.zeros((len(grades), 1)), grades, np.zeros(len(grades))).queries


def value_of(measure, queries):
    """Return the value of each ranking of one query: a query of its own has each of them."""
    rankings = [*permutations(range(queries.n_docs))]
    grades, qid = (
        np.tile(queries.relevance, len(rankings)),
        np.repeat(np.arange(len(rankings)), queries.n_docs),
    )
    scores = -np.argsort(rankings, axis=1).ravel().astype(float)
    values = values_of([measure], group_rows(grades, qid)[0], scores)[0]
    return dict(zip(rankings, values, strict=True)).__getitem__


@pytest.fixture
def drawn_once(monkeypatch):
    """Let all measures and discounts have the rankings drawn first: they depend on scores and seed alone."""

    def kept(queries, scores, rank, samples, seed):
        key = scores.tobytes(), samples, seed
        if key not in DRAWN:
            DRAWN[key] = list(draw(queries, scores, rank, samples, seed))
        return DRAWN[key]

    draw = policy.rankings
    monkeypatch.setattr(policy, "rankings", kept)


def errors(measure, grades, scores, samples=SAMPLES, seeds=SEEDS):
    """The error of the estimated gradient, the mean of some seeds, in standard errors."""
    queries = one_query(grades)
    value, gradient = policy_naive(scores, value_of(measure, queries))
    estimates, values = [], []
    surrogate = PolicyMeasure(measure, samples=samples)
    oracles = surrogate.on(queries, np.ones(1))
    for surrogate.seed in range(seeds):
        oracles.reweigh(scores)
        found, slope = oracles.value_and_gradient(scores)
        estimates.append(-slope)
        values.append(1.0 - found)
    together = np.column_stack([values, estimates])
    error = together.std(axis=0, ddof=1) / np.sqrt(seeds)
    return (together.mean(axis=0) - [value, *gradient]) / np.maximum(error, 1e-12)


@pytest.mark.share(3)
@pytest.mark.parametrize("measure", [pytest.param(each, id=each.name) for each in measures()])
def test_the_gradient_is_that_of_the_expected_measure(measure, drawn_once):
    assert np.abs(errors(measure, GRADES, SCORES)).max() < 4.0


@pytest.mark.parametrize("name", ["AP", "nDCG"])
def test_two_rankings_are_enough_for_an_unbiased_gradient(name):
    """Each ranking is compared with the others alone, so that few of them give no bias."""
    assert np.abs(errors(parse_measure(name), GRADES[1:], SCORES[1:], samples=2, seeds=1500)).max() < 4.0


def test_the_enumerated_gradient_is_the_derivative_of_the_enumerated_value():
    value = value_of(parse_measure("AP"), one_query(GRADES))
    gradient = policy_naive(SCORES, value)[1]
    for i, step in enumerate(np.eye(len(SCORES)) * 1e-5):
        rise = policy_naive(SCORES + step, value)[0] - policy_naive(SCORES - step, value)[0]
        assert rise / 2e-5 == pytest.approx(gradient[i], abs=1e-9)


def test_far_apart_scores_neither_overflow_nor_move():
    oracles = PolicyMeasure(parse_measure("nDCG")).on(one_query(GRADES), np.ones(1))
    oracles.reweigh(np.array([900.0, 400.0, 0.0, -500.0, -1000.0]))
    value, gradient = oracles.value_and_gradient(oracles.at)
    assert value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    assert (oracles.derivatives(oracles.at)[2] >= 0).all()


@pytest.mark.parametrize("discounts", [None, [1.0, 1.0, 0.25], [1.0] * 9])
def test_exposure_is_the_expected_discount_of_the_rank(discounts, drawn_once):
    """By enumeration; documents of two queries in mixed rows, and of equal scores."""
    n, scores = len(SCORES), np.append(SCORES, [0.7, 0.7])
    by_rank = (
        1.0 / np.log2(np.arange(n) + 2.0) if discounts is None else np.append(discounts, np.zeros(n))[:n]
    )
    rows = np.array([3, 5, 0, 1, 6, 4, 2])
    qid = np.where(rows < n, "first", "second")
    estimates = np.empty((SEEDS, n + 2))
    for seed in range(SEEDS):
        estimates[seed, rows] = expected_exposure(scores[rows], qid, discounts, samples=400, seed=seed)
    expected = np.zeros(n)
    for ranking in permutations(range(n)):
        chance, left = 1.0, np.exp(SCORES)
        for document in ranking:
            chance *= left[document] / left.sum()
            left[document] = 0.0
        expected[list(ranking)] += chance * by_rank
    error = np.std(estimates[:, :n], axis=0, ddof=1) / np.sqrt(SEEDS)
    assert (np.abs(np.mean(estimates[:, :n], axis=0) - expected) <= 4.0 * error + 1e-12).all()
    np.testing.assert_allclose(estimates[:, :n].sum(axis=1), by_rank.sum(), rtol=1e-12)
    np.testing.assert_allclose(estimates[:, n:], by_rank[:2].mean(), rtol=1e-12)


def test_equal_scores_have_an_equal_gradient_and_equal_documents_too():
    queries, surrogate = one_query(GRADES), PolicyMeasure(parse_measure("nDCG@3"), samples=8, seed=2)
    oracles, again = surrogate.on(queries, np.ones(1)), surrogate.on(queries, np.ones(1))
    for each in (oracles, again):
        each.reweigh(np.zeros(5))
    oracles.reweigh(SCORES)
    oracles.reweigh(np.zeros(5))
    assert oracles.gradient.tobytes() == again.gradient.tobytes()
    assert oracles.gradient[2] == oracles.gradient[3]


def test_no_ranking_is_drawn_again_where_training_starts(monkeypatch):
    draws, draw = [], policy.rankings
    monkeypatch.setattr(policy, "rankings", lambda *of: draws.append(of) or draw(*of))
    oracles = PolicyMeasure(parse_measure("nDCG")).on(one_query(GRADES), np.ones(1))
    oracles.reweigh(np.zeros(5))
    assert len(draws) == 1
    oracles.reweigh(SCORES)
    oracles.reweigh(np.zeros(5))
    assert len(draws) == 3
