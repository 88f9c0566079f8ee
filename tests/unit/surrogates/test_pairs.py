"""Losses on pairs: compiled loops, prefix sums and definitions agree; values by hand."""

import math

import numpy as np
import pytest

import oracles
from directrank.data.grouping import group_rows
from directrank.kernels.vector_math import log1p_of_quotient
from directrank.measures import NDCG, parse_measure
from directrank.measures.positions import positions_of
from directrank.surrogates import OrderPreserving, Pairwise, SwapWeighted, gain_difference
from directrank.surrogates.margins import Huber, Logistic, SquaredHinge
from directrank.surrogates.pairs import hinges as pair_sorting
from naive import hessian_naive, margin_curvature, pairs_naive

MARGINS = [Huber(0.5), Huber(0.05), SquaredHinge(), Logistic()]
HINGES = MARGINS[:3]


def some_queries(seed, sizes, grades=4):
    rng = np.random.default_rng(seed)
    relevance = np.concatenate([np.append(rng.integers(0, grades, n - 2), [0, 2]) for n in sizes])
    return group_rows(relevance.astype(float), np.repeat(np.arange(len(sizes)), sizes))[0]


def table_of_pairs(queries, q, weight):
    """The n × n weights of one query's pairs of different relevance."""
    y = queries.relevance[queries.indptr[q] : queries.indptr[q + 1]]
    better = y[:, None] > y[None, :]
    return np.where(better, weight(y[:, None], y[None, :], better.sum()), 0.0)


def by_definition(queries, weights, tables, margin, scores, direction):
    value, gradient, curved = 0.0, np.zeros(len(scores)), np.zeros(len(scores))
    for q, w in enumerate(weights):
        rows = slice(queries.indptr[q], queries.indptr[q + 1])
        one, gradient[rows] = pairs_naive(scores[rows], w * tables[q], margin)
        curved[rows] = hessian_naive(scores[rows], direction[rows], w * tables[q], margin)
        value += one
    return value, gradient, curved


def assert_agrees(oracles, reference, scores, direction, tolerance=1e-12):
    value, gradient = oracles.value_and_gradient(scores)
    assert value == pytest.approx(reference[0], rel=tolerance)
    for ours, theirs in ((gradient, reference[1]), (oracles.hessian_vector(scores, direction), reference[2])):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * (1e-3 + np.abs(theirs).max()))


class TestMargins:
    def test_huber_by_hand(self):
        t = np.array([2.0, 1.5, 1.25, 1.0, 0.5, 0.0, -1.0])
        np.testing.assert_allclose(Huber(0.5).value(t), [0, 0, 0.0625 / 2, 0.25 / 2, 0.5, 1, 2], rtol=1e-15)
        np.testing.assert_allclose(Huber(0.5).slope(t), [0, 0, -0.25, -0.5, -1, -1, -1], rtol=1e-15)

    def test_logistic_by_hand(self):
        t = np.array([0.0, math.log(3.0), -math.log(3.0)])
        np.testing.assert_allclose(Logistic().value(t), np.log([2, 4 / 3, 4]), rtol=1e-15)
        np.testing.assert_allclose(Logistic().slope(t), [-1 / 2, -1 / 4, -3 / 4], rtol=1e-14)
        # To base 2, as bounds need it: 1 at 0, where the slope is −1 / (2 ln 2).
        np.testing.assert_allclose(Logistic(2.0).value(t), [1, 2 - math.log2(3.0), 2], rtol=1e-15)
        assert Logistic(2.0).slope(np.zeros(1))[0] == pytest.approx(-0.5 / math.log(2.0), rel=1e-15)

    @pytest.mark.parametrize("margin", MARGINS)
    def test_derivatives(self, margin):
        t = np.linspace(-2, 3, 57) + 0.003
        step = 1e-6
        slope = (margin.value(t + step) - margin.value(t - step)) / (2 * step)
        curvature = (margin.slope(t + step) - margin.slope(t - step)) / (2 * step)
        np.testing.assert_allclose(margin.slope(t), slope, atol=1e-8)
        np.testing.assert_allclose(margin_curvature(margin, t), curvature, atol=1e-8)


class TestAgainstDefinitions:
    @pytest.mark.parametrize("margin", MARGINS)
    @pytest.mark.parametrize(
        ("options", "weight"),
        [
            ({}, lambda a, b, n: 1.0),
            ({"normalise": True}, lambda a, b, n: 1.0 / n),
            ({"normalise": True, "weight": gain_difference}, lambda a, b, n: (2.0**a - 2.0**b) / n),
            ({"weight": lambda a, b: (a - b) * (b > 0)}, lambda a, b, n: (a - b) * (b > 0)),
        ],
    )
    def test_pairwise(self, margin, options, weight):
        queries = some_queries(0, (2, 9, 40, 5, 150))
        weights = np.array([0.1, 0.3, 0.0, 0.2, 0.4])
        tables = [table_of_pairs(queries, q, weight) for q in range(5)]
        rng = np.random.default_rng(1)
        for spread in (0.3, 3.0, 30.0):
            scores, direction = rng.normal(size=(2, queries.n_docs)) * spread
            reference = by_definition(queries, weights, tables, margin, scores, direction)
            oracles = Pairwise(margin=margin, **options).on(queries, weights)
            assert_agrees(oracles, reference, scores, direction)

    @pytest.mark.parametrize("margin", HINGES)
    @pytest.mark.parametrize("per_pair", [False, True])
    @pytest.mark.parametrize("name", ["nDCG", "nDCG@2", "WPD", "ZeroOne"])
    def test_order_preserving(self, margin, per_pair, name):
        measure = parse_measure(name)
        queries = some_queries(2, (3, 9, 40, 120))
        weights = np.array([0.5, 0.2, 0.0, 0.3])
        form = measure.supervision(queries)
        tables = []
        for q in range(4):
            a = form[queries.indptr[q] : queries.indptr[q + 1]]
            n = len(a)
            tables.append(np.where(np.eye(n) == 1, 0.0, a[:, None] / (n * (n - 1) if per_pair else 1)))
        scores, direction = np.random.default_rng(3).normal(size=(2, queries.n_docs))
        reference = by_definition(queries, weights, tables, margin, scores, direction)
        oracles = OrderPreserving(measure, margin=margin, normalise=per_pair).on(queries, weights)
        assert_agrees(oracles, reference, scores, direction, 1e-11)


class TestBySorting:
    """Prefix sums and the loop over pairs are two forms of one thing."""

    @pytest.fixture
    def forms(self, monkeypatch):
        def both(surrogate, queries, weights):
            monkeypatch.setattr(pair_sorting, "PAIRS_PER_DOCUMENT", 0.0)
            by_sorting = surrogate.on(queries, weights)
            monkeypatch.setattr(pair_sorting, "PAIRS_PER_DOCUMENT", 1e9)
            by_pairs = surrogate.on(queries, weights)
            assert by_sorting.long
            assert not by_pairs.long
            return by_sorting, by_pairs

        return both

    @pytest.mark.parametrize("margin", HINGES)
    @pytest.mark.parametrize("make", ["consistent", "plain", "weighted"])
    def test_agree(self, forms, margin, make):
        surrogate = {
            "consistent": lambda: OrderPreserving(NDCG(), margin=margin),
            "plain": lambda: Pairwise(margin=margin),
            "weighted": lambda: Pairwise(margin=margin, normalise=True, weight=gain_difference),
        }[make]()
        queries = some_queries(4, (300, 3, 90))
        weights = np.array([0.2, 0.5, 0.3])
        one, other = forms(surrogate, queries, weights)
        rng = np.random.default_rng(5)
        direction = rng.normal(size=queries.n_docs)
        for scores in (
            rng.normal(size=queries.n_docs),
            0.11 * np.round(10 * rng.normal(size=queries.n_docs)) + 1000.0,  # ties, and an offset
            np.zeros(queries.n_docs),
            rng.normal(size=queries.n_docs) * 100,
        ):
            reference = *other.value_and_gradient(scores), other.hessian_vector(scores, direction)
            assert_agrees(one, reference, scores, direction, 1e-9)

    def test_float32(self, forms):
        queries = some_queries(6, (400,))
        one, other = forms(Pairwise(margin="squared_hinge"), queries, np.ones(1))
        scores = np.random.default_rng(7).normal(size=400).astype(np.float32)
        value, gradient = one.value_and_gradient(scores)
        assert gradient.dtype == np.float32
        assert value == pytest.approx(other.value_and_gradient(scores)[0], rel=1e-6)
        np.testing.assert_allclose(gradient, other.value_and_gradient(scores)[1], rtol=1e-4, atol=1e-2)

    def test_a_long_list_is_split_by_runs(self):
        relevance = np.repeat([2.0, 1.0, 0.0], [5, 3000, 3000])
        queries = group_rows(relevance, np.zeros(6005, int))[0]
        oracles = Pairwise().on(queries, np.ones(1))
        assert len(oracles.long) == 1
        assert len(oracles.short.runs) == 1


class TestSwaps:
    @pytest.mark.parametrize("name", ["nDCG@3", "AP@3"])
    @pytest.mark.parametrize(("distance", "truncation"), [(True, None), (False, 5), (True, 5)])
    def test_distances_and_truncation_by_a_double_loop(self, name, distance, truncation):
        queries, rng = some_queries(14, (9,)), np.random.default_rng(15)
        fixed, scores = rng.normal(size=9), rng.normal(size=9)
        surrogate = SwapWeighted(
            parse_measure(name), weights="swap", distance=distance, truncation=truncation
        )
        assert surrogate.measure == parse_measure(name)
        on_queries = surrogate.on(queries, np.ones(1))
        on_queries.reweigh(fixed)
        last = 5 if truncation and name.startswith("nDCG") else 3
        measure, table = parse_measure(f"{name[:-1]}{last}"), np.zeros((9, 9))
        for i in range(9):
            for j in range(9):
                if queries.relevance[i] > queries.relevance[j]:
                    swapped = fixed.copy()
                    swapped[[i, j]] = fixed[[j, i]]
                    before, after = (
                        measure.query_values(queries, positions_of(queries, s))[0] for s in (fixed, swapped)
                    )
                    apart = 0.01 + abs(fixed[i] - fixed[j]) if distance else 1.0
                    table[i, j] = abs(after - before) / apart
        value, gradient = on_queries.value_and_gradient(scores)
        expected, slopes = pairs_naive(scores, table, Logistic())
        assert value == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7)

    @pytest.mark.parametrize("name", ["nDCG@3", "AP"])
    def test_equal_scores_have_no_distance(self, name):
        queries, scores = some_queries(14, (9, 5)), np.random.default_rng(15).normal(size=14)
        values = []
        for distance in (True, False):
            surrogate = SwapWeighted(parse_measure(name), weights="swap", distance=distance)
            on_queries = surrogate.on(queries, np.ones(2))
            on_queries.reweigh(np.zeros(14))
            values.append(on_queries.value_and_gradient(scores)[0])
        assert values[0] == pytest.approx(values[1], rel=1e-6)

    @pytest.mark.parametrize(
        ("name", "weighing"),
        [("nDCG@3", "nDCG@5"), ("nDCG@9", "nDCG@9"), ("nDCG", "nDCG"), ("P@3", "P@3"), ("AP@3", "AP@3")],
    )
    def test_truncation_is_of_discounts_that_fall(self, name, weighing):
        surrogate = SwapWeighted(parse_measure(name), weights="swap", truncation=5)
        assert (surrogate.measure.name, surrogate.weighing.name) == (name, weighing)

    def test_a_bound_has_no_distance(self):
        with pytest.raises(ValueError, match="'swap' alone"):
            SwapWeighted(NDCG(), distance=True)

    @pytest.mark.parametrize("name", ["nDCG", "nDCG@2", "P@2"])
    def test_swaps_under_ties_are_the_mean_over_all_orders(self, name):
        measure, rng = parse_measure(name), np.random.default_rng(3)
        for _ in range(6):
            queries, scores = some_queries(int(rng.integers(99)), (5,)), rng.integers(0, 3, 5).astype(float)
            gains, discounts = measure.linear_in_positions(queries)
            mean = np.zeros((5, 5))
            orders = list(oracles.tie_orders(scores))
            for order in orders:
                d = discounts[np.argsort(order)]
                mean += np.abs(d[:, None] - d) / len(orders)
            weight = np.maximum(gains[:, None] - gains, 0) * mean
            on_queries = SwapWeighted(measure, weights="swap").on(queries, np.ones(1))
            on_queries.reweigh(scores)
            value, gradient = on_queries.value_and_gradient(scores)
            expected, slopes = pairs_naive(scores, weight, Logistic())
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-15)
            np.testing.assert_allclose(gradient, slopes, atol=1e-14)

    def test_logarithm(self):
        for e in np.linspace(0, 1, 101):
            assert log1p_of_quotient(e, 1.0) == pytest.approx(math.log1p(e), rel=5e-15)
