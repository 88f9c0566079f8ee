"""Sums of weak rankers: by hand, against the definition, stage by stage, and on disk."""

from dataclasses import replace

import numpy as np
import pytest

from directrank.models.scorer_kinds import put_together
from directrank.scorers import Additive, single_feature, stump, tree_of
from naive import add_trees_naive

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
    assert stump(0, 1.0).scores(features).tolist() == [0.0, 0.0, 1.0]  # strictly above
    assert stump(0, 1.0, above=False).scores(features).tolist() == [1.0, 1.0, 0.0]
    assert single_feature(0, slope=-2.0, offset=1.0).scores(features).tolist() == [0.0, -1.0, -2.0]


def test_missing_values_by_hand():
    features = np.array([[np.nan], [1.0]], np.float32)
    for fill, score in ((-np.inf, 0.0), (np.inf, 1.0), (0.4, 0.0), (0.6, 1.0)):
        assert stump(0, 0.5, fill=fill).scores(features).tolist() == [score, 1.0]
    assert single_feature(0, slope=2.0, offset=1.0, fill=3.0).scores(features).tolist() == [7.0, 3.0]


@lines
def test_kernel_equals_definition_where_values_are_missing(lines):
    rng = np.random.default_rng(5)
    coefficients, weak = forest(rng, lines)
    weak = [
        replace(
            tree,
            missing=rng.integers(0, 2, len(tree.left)).astype(np.int32),
            fill=None if tree.slope is None else np.full(1, 0.25, np.float32),
        )
        for tree in weak
    ]
    features = rng.normal(size=(400, 4)).astype(np.float32)
    features[rng.random(features.shape) < 0.4] = np.nan
    scores = Additive.of(coefficients, weak).scores(features)
    for i in range(0, 400, 7):
        assert scores[i] == pytest.approx(add_trees_naive(features[i], coefficients, weak), rel=1e-12)


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
    by_hand = sum(c * each.scores(features) for c, each in zip(coefficients, weak, strict=True))
    np.testing.assert_allclose(stages[-1], by_hand, rtol=1e-12)


def test_importances_by_hand():
    two_levels = tree_of([1, 0, 2, 0, 0], [0.0] * 5, [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, 1, 0, 1, 0])
    scorer = Additive.of([3.0, -1.0, 4.0], [stump(0, 0.5), single_feature(1), two_levels])
    # 3 to feature 0; 1 to feature 1; 4 shared by the two splits, on features 1 and 2.
    assert scorer.feature_importances(4) == pytest.approx(np.array([3, 1 + 2, 2, 0]) / 8)
    assert Additive.of([], []).feature_importances(2).tolist() == [0.0, 0.0]


def early(**changed):
    """The tensors of a file of an early build of 0.1.0: [[x₀ > 1]], ∞ for a missing x₀, and 2 + 3 x₁."""
    tensors = {
        "coefficients": np.array([4.0, 0.5]), "root": np.array([0, 3]),
        "feature": np.array([0, 0, 0, 1], np.int32), "threshold": np.array([1, 0, 0, 0], np.float32),
        "left": np.array([1, -1, -1, -1], np.int32), "right": np.array([2, -1, -1, -1], np.int32),
        "offset": np.array([0.0, 0, 1, 2]), "slope": np.array([0.0, 0, 0, 3]),
        "fill": np.array([np.inf, 0, 0, 7], np.float32),
    }  # fmt: skip
    return {name: array for name, array in {**tensors, **changed}.items() if array is not None}


def test_files_of_early_builds_are_read():
    features = np.array([[1, 1], [2, 1], [np.nan, 1], [1, np.nan]], np.float32)
    read = put_together("additive", early(), 2)
    assert read.scores(features).tolist() == [2.5, 6.5, 6.5, 11.5]
    steps = put_together("additive", early(slope=np.zeros(4)), 2)
    assert steps.scores(features).tolist() == [1.0, 5.0, 5.0, 1.0]
    assert steps.trees.slope is None
    # Without a number for missing values they go to the left.
    oldest = put_together("additive", early(fill=None, slope=np.zeros(4)), 2)
    assert oldest.scores(features).tolist() == [1.0, 5.0, 1.0, 1.0]
