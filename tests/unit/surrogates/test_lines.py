"""The measure along a line of scores, against an evaluation between all breakpoints."""

import numpy as np
import pytest

from benchmarks.naive import values_naive
from directrank.data.grouping import group_rows
from directrank.measures import parse_measure
from directrank.surrogates import MeasureItself
from directrank.surrogates.measure_itself import BINS, CROWD, WINDOW, _sort_ascending, box_averages

FAST = ("AP", "AP(rel=2)@4", "nDCG", "nDCG@3", "DCG@5", "P@3", "P(rel=2)@2", "WTA", "nDCG(dcg='log2')")
OTHERS = ("RR", "RR@2", "ERR(max=4)", "nERR(max=4)@3", "MeanNDCG", "WPD")


def tied_lists(seed, n_queries=5):
    """Queries whose documents have few different scores and directions: many stay tied along the line."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, n_queries)
    relevance = np.concatenate([np.append(rng.integers(0, 5, n - 2), [0, 2]) for n in sizes]).astype(float)
    queries, _ = group_rows(relevance, np.repeat(np.arange(n_queries), sizes))
    return queries, rng.integers(0, 4, len(relevance)) / 4.0, rng.integers(-2, 3, len(relevance)) / 2.0


def brute_force(measure, queries, weights, scores, direction, ends):
    """Integrals of the measure from the first of some sizes of steps to each: pieces times lengths."""
    times = []
    for q in range(queries.n_queries):
        rows = slice(queries.indptr[q], queries.indptr[q + 1])
        slope = direction[rows] - direction[rows][:, None]
        gap = scores[rows] - scores[rows][:, None]
        times.append(-gap[slope != 0] / slope[slope != 0])
    inside = np.concatenate(times)
    edges = np.unique(np.concatenate([ends, inside[(inside > ends[0]) & (inside < ends[-1])]]))
    values = values_naive(measure, queries, scores, direction, 0.5 * (edges[1:] + edges[:-1])) @ weights
    integral = np.concatenate([[0.0], np.cumsum(values * np.diff(edges))])
    return integral[np.searchsorted(edges, ends)]


@pytest.mark.parametrize("name", [*FAST, *OTHERS])
def test_averages_are_those_of_brute_force(name):
    measure = parse_measure(name)
    for seed in range(6):
        queries, scores, direction = tied_lists(seed)
        weights = np.random.default_rng(seed).random(queries.n_queries)
        bound = MeasureItself(measure).bind(queries, weights)
        assert (bound.terms is not None) == (name in FAST)
        found = box_averages(bound.line_sums(scores, direction), bound.width)
        places = np.array([0, 7, len(found) // 2, len(found) // 2 + 40, len(found) - 1])
        middles = (places - len(found) // 2) * bound.width
        half = WINDOW * bound.width
        ends = np.unique(np.concatenate([middles - half, middles + half]))
        integral = brute_force(measure, queries, weights, scores, direction, ends)
        at = [integral[np.argmin(np.abs(ends - x))] for x in (*(middles + half), *(middles - half))]
        expected = (np.array(at[:5]) - np.array(at[5:])) / (2 * half)
        np.testing.assert_allclose(found[places], expected, rtol=1e-12, atol=1e-12)


def test_the_step_reaches_the_largest_average():
    queries, scores, direction = tied_lists(3)
    weights = np.full(queries.n_queries, 1 / queries.n_queries)
    bound = MeasureItself(parse_measure("AP")).bind(queries, weights)
    sums = bound.line_sums(scores, direction)
    averages, step = box_averages(sums, bound.width), bound.window_step(sums)
    middle = len(averages) // 2
    assert step.decrease == pytest.approx(averages.max() - averages[middle])
    assert averages[middle + round(step.size / bound.width)] == pytest.approx(averages.max())


def test_no_step_where_nothing_changes():
    queries, scores, _ = tied_lists(1)
    bound = MeasureItself(parse_measure("nDCG")).bind(queries, np.ones(queries.n_queries))
    step = bound.window_step(bound.line_sums(scores, np.ones(queries.n_docs)))
    assert (step.size, step.decrease) == (0.0, 0.0)


def test_the_window_must_be_positive():
    with pytest.raises(ValueError, match="half_width must be above 0"):
        MeasureItself(parse_measure("AP"), half_width=0.0)


@pytest.mark.parametrize("least", [0.0, -0.05, -0.31, -9.0])
def test_a_step_is_the_best_one_that_is_not_below_the_least(least):
    for seed in range(8):
        queries, scores, direction = tied_lists(seed)
        bound = MeasureItself(parse_measure("nDCG")).bind(queries, np.ones(queries.n_queries))
        sums = bound.line_sums(scores, direction)
        averages, step = box_averages(sums, bound.width), bound.window_step(sums, least)
        sizes = (np.arange(len(averages)) - len(averages) // 2) * bound.width
        assert step.size >= least
        allowed = averages[sizes > least - bound.width + 1e-12]
        assert averages[len(averages) // 2] + step.decrease == pytest.approx(allowed.max())


@pytest.mark.parametrize("last", [BINS, BINS / 1000])
def test_breakpoints_are_sorted_stably_also_in_a_crowd(last):
    # Some are equal; in a thousandth of the range all are in one group.
    places = np.random.default_rng(0).integers(1, 600, 5 * CROWD) * last / 600
    ascending, order = np.empty(len(places)), np.empty((2, len(places)), np.int64)
    _sort_ascending(places, BINS, ascending, order[0], order[1])
    assert order[0].tolist() == np.argsort(places, kind="stable").tolist()
    assert ascending.tolist() == np.sort(places).tolist()
