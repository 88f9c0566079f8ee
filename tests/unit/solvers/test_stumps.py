"""The best stump: against every threshold in turn, on ties, in bins, and in float32."""

import numpy as np
import pytest

from directrank.data.groups import QueryGroups
from directrank.measures import NDCG
from directrank.scorers.trees import TO_THE_LEFT
from directrank.solvers.stumps import (
    CRITERIA,
    N_BINS,
    ExactStumps,
    HistogramStumps,
    _add_sums,
    _add_with_sizes,
    bin_edges,
)
from directrank.surrogates import ExpectedMeasure, Objective
from naive import best_split_naive


def merit_of(tree, features, weights, criterion):
    """The merit that a stump really has."""
    set_to_one = tree.scores(features) == 1
    sides = weights[set_to_one], weights[~set_to_one]
    if criterion == "eta":
        return sides[0].sum()
    return sum(each.sum() ** 2 / np.abs(each).sum() for each in sides)


def case(seed, n=60, d=3, levels=8):
    rng = np.random.default_rng(seed)
    features = (rng.integers(0, levels, (n, d)) / 4).astype(np.float32)
    weights = rng.normal(size=n) * rng.choice([0.01, 1.0], n)
    weights -= weights.mean()
    return features, weights


def objective_of(features, n_threads=1):
    n = len(features)
    groups = QueryGroups(features, np.arange(n) % 2, np.arange(n) // 4)
    return Objective(ExpectedMeasure(NDCG()), groups.queries, groups.shards, n_threads=n_threads)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("search", [ExactStumps, HistogramStumps])
def test_is_the_best_of_all(search, criterion):
    for seed in range(40):
        features, weights = case(seed, levels=2 + seed)
        tree = search(objective_of(features), features, criterion).best(weights, None)
        by_feature = [best_split_naive(column, weights, criterion) for column in features.T]
        assert merit_of(tree, features, weights, criterion) == pytest.approx(max(by_feature), rel=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("fill", "columns"), [(_add_sums, 1), (_add_with_sizes, 2)])
def test_histograms_do_not_overflow_in_compiled_code_or_without(fill, columns, compiled):
    rng = np.random.default_rng(1)
    bins, weights = rng.integers(0, N_BINS, (500, 3), dtype=np.uint8), rng.normal(size=500)
    table = np.zeros((3, N_BINS, columns))
    (fill if compiled else getattr(fill, "py_func", fill))(bins, weights, table.reshape(-1))
    for feature, cells in enumerate(bins.T):
        for column, values in enumerate([weights, np.abs(weights)][:columns]):
            expected = np.bincount(cells, values, N_BINS)
            np.testing.assert_allclose(table[feature, :, column], expected, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("search", [ExactStumps, HistogramStumps])
def test_missing_values_go_to_the_better_side(search, criterion):
    ways = set()
    for seed in range(60):
        features, weights = case(seed, levels=2 + seed // 2)
        rng = np.random.default_rng(seed)
        # Of one feature nothing is missing.
        features[:, :2][rng.random((60, 2)) < rng.choice([0.1, 0.5, 0.9])] = np.nan
        weights[np.isnan(features[:, 0])] += rng.normal()
        tree = search(objective_of(features), features, criterion).best(weights, None)
        by_feature = [best_split_naive(column, weights, criterion) for column in features.T]
        assert merit_of(tree, features, weights, criterion) == pytest.approx(max(by_feature), rel=1e-9)
        ways.add((tree.feature[0] == 2, tree.missing[0]))
        if tree.feature[0] == 2:
            assert bool(tree.missing[0]) == (np.median(features[:, 2]) <= tree.threshold[0])
    assert ways == {(False, 0), (False, TO_THE_LEFT), (True, 0), (True, TO_THE_LEFT)}


@pytest.mark.parametrize("search", [ExactStumps, HistogramStumps])
def test_a_feature_that_is_known_or_not(search):
    features = np.array([[2.0], [2.0], [np.nan], [np.nan]], np.float32)
    weights = np.array([1.0, 1.0, -1.0, -1.0])
    tree = search(objective_of(features), features, "gini").best(weights, None)
    assert tree.scores(features).tolist() == [1.0, 1.0, 0.0, 0.0]
    nothing = np.full((4, 1), np.nan, np.float32)
    for criterion in CRITERIA:
        assert search(objective_of(nothing), nothing, criterion).best(weights, None) is None


def test_bins_of_missing_values():
    column = np.append(np.arange(1000, dtype=np.float32), np.full(500, np.nan, np.float32))
    features = column[:, None]
    (edges,) = bin_edges(features)
    assert len(edges) == 255
    assert edges[-1] == 999
    search = HistogramStumps(objective_of(features), features, "eta")
    np.testing.assert_array_equal(search.bins[:1000, 0], (features[:1000] > edges).sum(axis=1))
    assert set(search.bins[1000:, 0]) == {255}
    assert search.bins[:1000, 0].max() < 255


@pytest.mark.parametrize("search", [ExactStumps, HistogramStumps])
def test_the_side_set_to_one_is_the_better_one(search):
    for seed in range(20):
        features, weights = case(seed)
        for criterion in CRITERIA:
            tree = search(objective_of(features), features, criterion).best(weights, None)
            assert weights @ tree.scores(features) > 0


@pytest.mark.parametrize("search", [ExactStumps, HistogramStumps])
def test_a_regression_tree_sets_the_side_of_the_higher_mean_to_one(search):
    """W / A is 2 / 4 on the left, 1 / 1 on the right, whose sum is the smaller one."""
    features = np.array([[0.0]] * 4 + [[1.0]], np.float32)
    weights = np.array([1.0, 1.0, 1.0, -1.0, 1.0])
    for sign in (1.0, -1.0):
        tree = search(objective_of(features), sign * features, "gini").best(weights, None)
        assert tree.scores(sign * features).tolist() == [0.0] * 4 + [1.0]


def test_documents_without_weight_do_not_count():
    """A side that holds nothing but zero weights would divide by zero."""
    features = np.arange(8, dtype=np.float32)[:, None]
    weights = np.array([0, 0, 0, -1.0, 1.0, 0, 0, 0])
    for search in (ExactStumps, HistogramStumps):
        tree = search(objective_of(features), features, "gini").best(weights, None)
        assert tree.threshold[0] == 3.5


def test_a_threshold_between_neighbours_in_float32():
    one = np.float32(1.0)
    features = np.array([[one], [np.nextafter(one, np.float32(2))]] * 2, np.float32)
    tree = ExactStumps(None, features, "eta").best(np.array([-1.0, 1.0, -1.0, 1.0]), None)
    assert tree.scores(features).tolist() == [0.0, 1.0, 0.0, 1.0]


def test_a_bin_counts_the_edges_below_its_values():
    rng = np.random.default_rng(6)
    features = rng.normal(size=(2000, 3)).astype(np.float32)
    features[::7, 1] = 0.25
    search = HistogramStumps(objective_of(features), features, "eta")
    for k in range(3):
        edges = bin_edges(features)[k]
        np.testing.assert_array_equal(search.bins[:, k], (features[:, k, None] > edges).sum(axis=1))


def test_histograms_by_definition_and_on_threads():
    rng = np.random.default_rng(7)
    features = rng.random((4000, 150)).astype(np.float32)
    weights = rng.normal(size=4000)
    results = []
    for n_threads in (1, 3):
        objective = objective_of(features, n_threads)
        assert len(objective.shards) == 2
        search = HistogramStumps(objective, features, "gini")
        results.append(search.histograms(weights))
    for one, three in zip(*results, strict=True):
        np.testing.assert_array_equal(one, three)
    for k in (0, 77, 149):
        by_bin = (
            np.bincount(search.bins[:, k], weights, 256),
            np.bincount(search.bins[:, k], abs(weights), 256),
        )
        np.testing.assert_allclose(results[0][0][k], by_bin[0], atol=1e-12)
        np.testing.assert_allclose(results[0][1][k], by_bin[1], atol=1e-12)


@pytest.mark.parametrize("at_once", [1, 15, 2**20])
def test_documents_are_sorted_by_each_feature(at_once, monkeypatch):
    """~k marks document k as the last of its value; missing values come after all of these."""
    monkeypatch.setattr("directrank.solvers.stumps.SORTED_AT_ONCE", at_once)
    features = np.float32([[2, 5, np.nan], [1, 5, 3], [2, 5, np.nan], [3, 5, 4], [1, 5, 3]])
    search = ExactStumps(objective_of(features), features, "eta")
    assert search.order.tolist() == [[1, ~4, 0, ~2, 3], [0, 1, 2, 3, 4], [1, ~4, ~3, 0, 2]]
