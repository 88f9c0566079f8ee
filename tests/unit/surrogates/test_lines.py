"""The measure along a line of scores, against an evaluation at each point of it."""

import numpy as np
import pytest

from directrank.data.grouping import group_rows
from directrank.measures import parse_measure
from directrank.surrogates import MeasureItself
from directrank.surrogates.measure_itself import POINTS, WINDOW, window_averages
from naive import values_naive

FAST = ("AP", "AP(rel=2)@4", "nDCG", "nDCG@3", "DCG@5", "P@3", "P(rel=2)@2", "WTA", "nDCG(dcg='log2')")
OTHERS = ("RR", "RR@2", "ERR(max=4)", "nERR(max=4)@3", "MeanNDCG", "WPD")


def tied_lists(seed, n_queries=5):
    """Queries whose documents have few different scores and directions: many stay tied along the line.

    Documents change places at multiples of a root of two, which are no points of the line. A direction of 0
    has either sign.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, n_queries)
    relevance = np.concatenate([np.append(rng.integers(0, 5, n - 2), [0, 2]) for n in sizes]).astype(float)
    queries, _ = group_rows(relevance, np.repeat(np.arange(n_queries), sizes))
    scores, direction = rng.integers(0, 4, len(relevance)) / np.sqrt(8.0), rng.integers(-2, 3, len(relevance))
    return queries, scores, direction / rng.choice([-2.0, 2.0], len(relevance))


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [*FAST, *OTHERS])
def test_averages_are_those_of_brute_force(name):
    measure = parse_measure(name)
    for seed in range(6):
        queries, scores, direction = tied_lists(seed)
        weights = np.random.default_rng(seed).random(queries.n_queries)
        oracles = MeasureItself(measure).on(queries, weights)
        assert (oracles.terms is not None) == (name in FAST)
        points = (np.arange(POINTS) - (POINTS - 1) / 2) * 0.1 / WINDOW
        values = values_naive(measure, queries, scores, direction, points) @ weights
        changes = oracles.line_sums(scores, direction)
        np.testing.assert_allclose(np.cumsum(changes), values, rtol=1e-12, atol=1e-12)
        expected = np.lib.stride_tricks.sliding_window_view(values, 2 * WINDOW).mean(axis=1)
        np.testing.assert_allclose(window_averages(changes), expected, rtol=1e-12, atol=1e-12)


def test_a_window_is_around_the_step_and_as_wide_as_asked():
    """The only relevant document is first from t = .3 on: the average rises from .25 to .35."""
    queries, _ = group_rows(np.array([1.0, 0.0]), np.zeros(2))
    oracles = MeasureItself(parse_measure("P@1"), half_width=0.05).on(queries, np.ones(1))
    averages = window_averages(oracles.line_sums(np.array([0.0, 0.3]), np.array([1.0, 0.0])))
    steps = (np.arange(len(averages)) - len(averages) // 2) * oracles.width
    expected = np.clip((steps - 0.25) / 0.1, 0.0, 1.0)
    np.testing.assert_allclose(averages, expected, atol=1 / (2 * WINDOW))


def test_the_step_reaches_the_largest_average():
    queries, scores, direction = tied_lists(3)
    weights = np.full(queries.n_queries, 1 / queries.n_queries)
    oracles = MeasureItself(parse_measure("AP")).on(queries, weights)
    sums = oracles.line_sums(scores, direction)
    averages, step = window_averages(sums), oracles.window_step(sums)
    middle = len(averages) // 2
    assert step.decrease == pytest.approx(averages.max() - averages[middle])
    assert averages[middle + round(step.size / oracles.width)] == pytest.approx(averages.max())


def test_no_step_where_nothing_changes():
    queries, scores, _ = tied_lists(1)
    oracles = MeasureItself(parse_measure("nDCG")).on(queries, np.ones(queries.n_queries))
    step = oracles.window_step(oracles.line_sums(scores, np.ones(queries.n_docs)))
    assert (step.size, step.decrease) == (0.0, 0.0)


@pytest.mark.parametrize("least", [0.0, -0.05, -0.31, -9.0])
def test_a_step_is_the_best_one_that_is_not_below_the_least(least):
    for seed in range(8):
        queries, scores, direction = tied_lists(seed)
        oracles = MeasureItself(parse_measure("nDCG")).on(queries, np.ones(queries.n_queries))
        sums = oracles.line_sums(scores, direction)
        averages, step = window_averages(sums), oracles.window_step(sums, least)
        sizes = (np.arange(len(averages)) - len(averages) // 2) * oracles.width
        assert step.size >= least
        allowed = averages[sizes > least - oracles.width + 1e-12]
        assert averages[len(averages) // 2] + step.decrease == pytest.approx(allowed.max())


@pytest.mark.parametrize("name", [*FAST, *OTHERS])
def test_several_rankings_are_evaluated_at_once(name):
    measure, (queries, scores, direction) = parse_measure(name), tied_lists(7)
    weights = np.random.default_rng(7).random(queries.n_queries)
    points = np.array([-1.0, 0.0, 0.3])
    values = MeasureItself(measure).on(queries, weights).values(scores + points[:, None] * direction)
    expected = (1.0 - values_naive(measure, queries, scores, direction, points)) @ weights
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15)
