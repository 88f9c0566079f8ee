"""Curvatures of single queries: by definition, by hand, at corners."""

import math

import numpy as np
import pytest

from directrank.apps.papers import CosineDistance
from directrank.data.grouping import group_rows
from directrank.measures import NDCG, P, parse_measure
from directrank.measures.exchange import pair_table
from directrank.surrogates import (
    ExpectedMeasure,
    GaussianNoise,
    OrderPreserving,
    Pairwise,
    PairwiseHinge,
    SmoothedPositions,
    SwapWeighted,
    TypeTwoBound,
    gain_difference,
)
from directrank.surrogates.margins import Huber, Logistic, SquaredHinge
from naive import curvature_naive as pairs_naive
from naive import margin_curvature
from naive import noise_curvature_naive as gaussian_naive
from naive import position_curvature_naive as positions_naive

GRADES = np.array([3.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
HINGES = [Huber(0.5), Huber(0.05), SquaredHinge()]


def one_query(grades=GRADES):
    return group_rows(np.asarray(grades, float), np.zeros(len(grades)))[0]


def spread_scores(seed, spread):
    return np.random.default_rng(seed).normal(size=len(GRADES)) * spread


@pytest.mark.parametrize("margin", [*HINGES, Logistic()])
@pytest.mark.parametrize("spread", [0.2, 2.0, 20.0])
def test_pairs_by_definition(margin, spread):
    scores, y = spread_scores(1, spread), GRADES
    table = np.maximum(2.0 ** y[:, None] - 2.0 ** y[None, :], 0.0)
    ours = Pairwise(margin=margin, weight=gain_difference).on(one_query(), np.array([0.7]))
    np.testing.assert_allclose(
        ours.derivatives(scores)[2], pairs_naive(scores, 0.7 * table, margin), rtol=1e-12
    )
    if isinstance(margin, Logistic):
        return
    form = NDCG().supervision(one_query())
    ours = OrderPreserving(NDCG(), margin=margin).on(one_query(), np.array([0.7]))
    table = 0.7 * form[:, None] * (1.0 - np.eye(len(y)))
    np.testing.assert_allclose(ours.derivatives(scores)[2], pairs_naive(scores, table, margin), rtol=1e-12)


@pytest.mark.parametrize("margin", [*HINGES, Logistic()])
def test_the_parabola_touches_the_margin_and_lies_nowhere_below(margin):
    away = np.append(np.linspace(-30.0, 30.0, 4001), -1e4)
    for m in (-3.0, 0.0, 0.4, 0.97, 1.0, 1.2, 1.7, 4.0):
        c = pairs_naive(np.array([m, 0.0]), np.array([[0.0, 1.0], [0.0, 0.0]]), margin)[0]
        parabola = (
            margin.value(np.array(m)) + margin.slope(np.array(m)) * (away - m) + c / 2 * (away - m) ** 2
        )
        if not isinstance(margin, Logistic):
            assert (parabola >= margin.value(away) * (1 - 1e-12) - 1e-12).all()
            flatter = parabola - 0.02 * c / 2 * (away - m) ** 2
            assert (flatter < margin.value(away)).any()
        assert c >= margin_curvature(margin, np.array(m))


def test_the_hinge_by_hand():
    oracles = PairwiseHinge().on(one_query([1, 0]), np.ones(1))
    np.testing.assert_allclose(oracles.derivatives(np.array([0.0, 0.0]))[2], [0.5, 0.5])  # 1 / 2 |1 − 0|
    np.testing.assert_allclose(oracles.derivatives(np.array([1.0, 0.0]))[2], [1.0, 1.0])  # 1 / 2 · ½
    np.testing.assert_allclose(oracles.derivatives(np.array([-3.0, 0.0]))[2], [0.125, 0.125])  # 1 / 2 |1 + 3|


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [0.3, 30.0, 3000.0])
def test_smooth_positions_by_definition(spread, dtype):
    """Near scores by quotients in their own type, far ones in double precision, others by differences."""
    scores = spread_scores(2, spread).astype(dtype)
    ours = ExpectedMeasure(NDCG()).on(one_query(), np.array([0.7])).derivatives(scores)[2]
    theirs = positions_naive(scores.astype(float), 1.0, 0.7 * NDCG().position_slopes(one_query()))
    np.testing.assert_allclose(ours, theirs, rtol=2e-5 if dtype == np.float32 else 1e-9, atol=1e-35)


def test_no_step_of_smooth_positions_is_longer_than_one_over_the_steepness():
    for name in ("nDCG", "nDCG@3", "AP", "ERR(max=3)", "P@2"):
        surrogate = SmoothedPositions(parse_measure(name), steepness=4.0)
        oracles = surrogate.on(one_query(), np.ones(1))
        for seed in range(5):
            scores = spread_scores(seed, 10.0 ** (seed - 3))
            gradient = oracles.value_and_gradient(scores)[1]
            assert (4.0 * np.abs(gradient) <= oracles.derivatives(scores)[2] * (1 + 1e-9)).all()


@pytest.mark.share(3)
@pytest.mark.parametrize("measure", [NDCG(), NDCG(3), P(2)])
def test_gaussian_noise_by_definition(measure):
    gain, curve = measure.linear_in_positions(one_query())
    for spread in (0.0, 0.5, 5.0):
        scores = spread_scores(3, spread)
        ours = GaussianNoise(measure, noise=0.4).on(one_query(), np.array([0.7])).derivatives(scores)[2]
        # Documents whose order is sure are left out: e^(-z²/2) is 1.5e-8 where z = 6.
        np.testing.assert_allclose(ours, 0.7 * gaussian_naive(scores, gain, curve, 0.4), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("name", ["AP", "WPD"])
def test_swap_tables_by_definition(name):
    """From a number for each pair, as measures without gains need."""
    oracles = SwapWeighted(parse_measure(name), weights="swap").on(one_query(), np.array([0.7]))
    oracles.reweigh(spread_scores(4, 1.0))
    scores, table = spread_scores(5, 1.0), np.zeros((9, 9))
    below, start, cells = pair_table(one_query()).below, *oracles.rule()
    for i in range(9):
        table[i, below[i] :] = cells[start[i] : start[i + 1]]
    np.testing.assert_allclose(
        oracles.derivatives(scores)[2], pairs_naive(scores, 0.7 * table, Logistic()), rtol=1e-9
    )


def test_the_cosine_turns_no_faster():
    """On a grid of pairs of vectors in three dimensions the bound is attained to a hundredth."""
    closest = 0.0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        scores, grades = rng.normal(size=3), np.sort(rng.random(3) ** 4)[::-1]
        curvature = CosineDistance().on(one_query(grades), np.ones(1)).derivatives(scores)[2]
        assert curvature == pytest.approx(np.full(3, 1 / math.sqrt(3) / (scores @ scores)), rel=1e-12)
        order = one_query(grades).relevance
        u, v = scores / np.linalg.norm(scores), order / np.linalg.norm(order)
        second = (2 * u * v + (u @ v) * (1 - 3 * u * u)) / 2 / (scores @ scores)
        closest = max(closest, (np.abs(second) / curvature).max())
    assert 0.95 < closest <= 1


def test_rankings_by_hand():
    """Two relevant documents and one not: each relevant one can lose its only pair, of weight 2 / 2."""
    oracles = TypeTwoBound(parse_measure("AP")).on(one_query([1, 1, 0]), np.array([0.5]))
    np.testing.assert_allclose(oracles.derivatives(np.zeros(3))[2], [0.5, 0.5, 1.0])
