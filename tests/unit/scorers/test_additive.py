"""Sums of weak rankers: by hand, against the definition, stage by stage, and on disk."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.naive import add_trees_naive
from directrank.scorers import Additive, single_feature, stump, tree_of
from directrank.scorers.trees import are_weak_rankers

#: Weak rankers with lines in their leaves are added by a kernel of their own, others as trees.
lines = pytest.mark.parametrize("lines", [True, False], ids=["lines", "steps"])


def forest(rng, lines=True, n_features=4, n_trees=9):
    weak = []
    for _ in range(n_trees):
        k, t = rng.integers(0, n_features, 3), rng.normal(size=3).round(1)
        weak.append(stump(int(k[0]), t[0], above=bool(rng.integers(2))))
        weak.append(single_feature(int(k[1]), slope=lines * rng.normal(), offset=rng.normal()))
        weak.append(
            tree_of(
                [k[0], 0, k[1], 0, 0],
                [t[0], 0, t[1], 0, 0],
                [1, -1, 3, -1, -1],
                [2, -1, 4, -1, -1],
                [0, 1, 0, 0.5, -1.0],
            )
        )
    return rng.normal(size=len(weak)), weak


def test_a_stump_by_hand():
    features = np.array([[0.5], [1.0], [1.5]], np.float32)
    assert stump(0, 1.0).predict(features).tolist() == [0.0, 0.0, 1.0]  # strictly above
    assert stump(0, 1.0, above=False).predict(features).tolist() == [1.0, 1.0, 0.0]
    assert single_feature(0, slope=-2.0, offset=1.0).predict(features).tolist() == [0.0, -1.0, -2.0]


def test_a_sum_by_hand():
    scorer = Additive.of([0.5, -2.0], [stump(0, 1.0), single_feature(1)])
    features = np.array([[2.0, 3.0], [0.0, -1.0]], np.float32)
    assert scorer.scores(features).tolist() == [0.5 - 6.0, 2.0]


@lines
def test_kernel_equals_definition(lines):
    rng = np.random.default_rng(0)
    coefficients, weak = forest(rng, lines)
    features = rng.normal(size=(2500, 4)).astype(np.float32)
    scores = Additive.of(coefficients, weak).scores(features)
    for i in range(0, 2500, 97):
        assert scores[i] == pytest.approx(add_trees_naive(features[i], coefficients, weak), rel=1e-12)


def test_missing_values_by_hand():
    features = np.array([[np.nan], [1.0]], np.float32)
    for fill, score in ((-np.inf, 0.0), (np.inf, 1.0), (0.4, 0.0), (0.6, 1.0)):
        assert stump(0, 0.5, fill=fill).predict(features).tolist() == [score, 1.0]
    assert single_feature(0, slope=2.0, offset=1.0, fill=3.0).predict(features).tolist() == [7.0, 3.0]


@lines
def test_kernel_equals_definition_where_values_are_missing(lines):
    rng = np.random.default_rng(5)
    coefficients, weak = forest(rng, lines)
    fills = [np.where(each.left == -1, 0.25, rng.choice([-np.inf, np.inf], len(each.left))) for each in weak]
    weak = [replace(each, fill=fill.astype(np.float32)) for each, fill in zip(weak, fills, strict=True)]
    features = rng.normal(size=(400, 4)).astype(np.float32)
    features[rng.random(features.shape) < 0.4] = np.nan
    scores = Additive.of(coefficients, weak).scores(features)
    for i in range(0, 400, 7):
        assert scores[i] == pytest.approx(add_trees_naive(features[i], coefficients, weak), rel=1e-12)


def test_without_a_direction_missing_values_go_to_the_left():
    scorer = Additive.of(*forest(np.random.default_rng(6)))
    old = Additive(**tensors_of(scorer))
    features = np.full((1, 4), np.nan, np.float32)
    assert old.scores(features) == scorer.scores(features)


@lines
def test_stages_end_at_the_score_bit_for_bit(lines):
    rng = np.random.default_rng(1)
    coefficients, weak = forest(rng, lines)
    scorer, features = Additive.of(coefficients, weak), rng.normal(size=(50, 4)).astype(np.float32)
    stages = list(scorer.staged_scores(features))
    assert len(stages) == scorer.n_rounds == len(weak)
    np.testing.assert_array_equal(stages[-1], scorer.scores(features))
    prefix = Additive.of(coefficients[:5], weak[:5])
    np.testing.assert_array_equal(stages[4], prefix.scores(features))
    by_hand = sum(c * each.predict(features) for c, each in zip(coefficients, weak, strict=True))
    np.testing.assert_allclose(stages[-1], by_hand, rtol=1e-12)


def test_weak_rankers_come_back():
    rng = np.random.default_rng(2)
    coefficients, weak = forest(rng, n_trees=2)
    scorer, features = Additive.of(coefficients, weak), rng.normal(size=(20, 4)).astype(np.float32)
    for number, each in enumerate(weak):
        np.testing.assert_array_equal(scorer.weak_ranker(number).predict(features), each.predict(features))


def test_importances_by_hand():
    two_levels = tree_of([1, 0, 2, 0, 0], [0.0] * 5, [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, 1, 0, 1, 0])
    scorer = Additive.of([3.0, -1.0, 4.0], [stump(0, 0.5), single_feature(1), two_levels])
    # 3 to feature 0; 1 to feature 1; 4 shared by the two splits, on features 1 and 2.
    assert scorer.feature_importances(4) == pytest.approx(np.array([3, 1 + 2, 2, 0]) / 8)
    assert Additive.of([], []).feature_importances(2).tolist() == [0.0, 0.0]


def test_no_round_scores_zero():
    empty = Additive.of([], [])
    assert empty.scores(np.ones((3, 2), np.float32)).tolist() == [0.0, 0.0, 0.0]
    assert list(empty.staged_scores(np.ones((3, 2), np.float32))) == []


def tensors_of(scorer):
    names = ("coefficients", "root", "feature", "threshold", "left", "right", "offset", "slope")
    return {name: getattr(scorer, name).copy() for name in names}


def test_loaded_arrays_must_be_trees():
    scorer = Additive.of(*forest(np.random.default_rng(3)))
    assert are_weak_rankers(tensors_of(scorer), 4)
    assert are_weak_rankers(tensors_of(Additive.of([], [])), 4)
    faults = {
        "reads a feature that is not there": ("feature", 0, 4),
        "reads a negative feature": ("feature", 0, -1),
        "points at itself": ("left", 0, 0),
        "points outside": ("right", 0, 3),
        "has one child": ("right", 0, -1),
        "begins elsewhere": ("root", 0, 1),
        "has trees in another order": ("root", 1, 10_000),
    }
    fill = scorer.fill.copy()
    assert are_weak_rankers(
        {**tensors_of(scorer), "fill": np.where(scorer.left >= 0, np.float32(np.inf), fill)}, 4
    )
    faults |= {"sends nowhere": ("fill", 0, np.nan), "adds ∞": ("fill", 1, np.inf)}
    for fault, (name, place, value) in faults.items():
        broken = {**tensors_of(scorer), "fill": fill.copy()}
        broken[name][place] = value
        assert not are_weak_rankers(broken, 4), fault
    assert not are_weak_rankers(tensors_of(scorer), 2)
    for name in tensors_of(scorer):
        short = tensors_of(scorer)
        short[name] = short[name][:-1]
        assert not are_weak_rankers(short, 4), name
        other = tensors_of(scorer)
        other[name] = other[name].astype(np.complex128)
        assert not are_weak_rankers(other, 4), name
