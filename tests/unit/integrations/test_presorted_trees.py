"""Trees of wide data from presorted features: those that LightGBM grows."""

import numpy as np
import pytest

from directrank.integrations import lightgbm as integration
from directrank.integrations.lightgbm import LightGBMTrees
from directrank.integrations.presorted_trees import MOST_DOCUMENTS, PresortedGrower, is_wide
from directrank.integrations.tree_growing import on_a_grid
from directrank.scorers import Trees


def growers(features, judged, total, monkeypatch, **settings):
    """Return the grower of presorted features, and LightGBM's."""
    solver = LightGBMTrees(**settings)
    presorted = solver.grower(features, judged, total, 0, 1, Trees())
    monkeypatch.setattr(integration, "is_wide", lambda features, bins: False)
    return presorted, solver.grower(features, judged, total, 0, 1, Trees())


def features_of(kind, n_docs, n_features, rng):
    X = rng.normal(size=(n_docs, n_features))
    if kind == "sparse":  # Zeros, values of both signs, and equal ones.
        X = np.where(rng.random(X.shape) < 0.3, X.round(1), 0.0)
    return X.astype(np.float32)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("leaves", [2, 7, 31])
def test_trees_are_those_of_lightgbm(kind, leaves, monkeypatch):
    rng = np.random.default_rng(leaves)
    X, judged = features_of(kind, 120, 300, rng), features_of(kind, 40, 300, rng)
    y, h = X[:, 0] + X[:, 1] * X[:, 2], on_a_grid(rng.uniform(0.05, 2.0, 120))
    pair = growers(X, judged, float(h.sum(dtype=float)), monkeypatch, leaves=leaves)
    assert isinstance(pair[0], PresortedGrower)
    for _ in range(4):
        gradient = on_a_grid((pair[1].scores() - y) * h)
        for grower in pair:
            grower.grow(gradient, h)
        ours, theirs = pair
        # LightGBM adds 1e-15 to sums of curvature.
        np.testing.assert_allclose(ours.scores(), theirs.scores(), rtol=1e-9, atol=1e-12)
    ours, theirs = (grower.trees(4) for grower in pair)
    assert ours.root.tolist() == theirs.root.tolist()
    # Features that divide a small leaf alike have equal gains, of which LightGBM's rounding chooses.
    splits = []
    for trees in (ours, theirs):  # By tree, in the order in which leaves were split
        inner = np.flatnonzero(trees.left >= 0)
        tree = np.searchsorted(trees.root, inner, side="right")
        inner = inner[np.lexsort((trees.left[inner] if trees is ours else inner, tree))]
        splits.append((trees.feature[inner], trees.threshold[inner], trees.gain[inner]))
    np.testing.assert_allclose(splits[0][2], splits[1][2], rtol=1e-4, atol=1e-9)
    alike = splits[0][0] == splits[1][0]
    assert alike.mean() >= 0.5
    np.testing.assert_allclose(splits[0][1][alike], splits[1][1][alike], rtol=1e-6)
    for name in ("value", "cover"):
        np.testing.assert_allclose(np.sort(getattr(ours, name)), np.sort(getattr(theirs, name)), rtol=1e-9)
    for grower, trees in zip(pair, (ours, theirs), strict=True):
        np.testing.assert_allclose(grower.scores(), trees.scores(X), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(grower.monitored(), trees.scores(judged), rtol=1e-12, atol=1e-15)


def test_of_features_that_divide_alike_the_first_is_taken():
    X = np.tile(np.array([[3.0], [1.0], [2.0]], np.float32), (1, 300))
    grower = LightGBMTrees(leaves=3).grower(X, X, 3.0, 0, 1, Trees())
    grower.grow(np.array([-2.0, 1.0, 1.0], np.float32), np.ones(3, np.float32))
    trees = grower.trees(1)
    assert trees.feature[trees.left >= 0].tolist() == [0]
    assert trees.threshold[0] == 2.5
    # A leaf adds .1 · −Σg / (Σh + .003).
    assert grower.scores() == pytest.approx([0.2 / 1.003, -0.2 / 2.003, -0.2 / 2.003], rel=1e-12)


def test_splits_fall_between_intervals_only():
    """Of 8 values in 2 intervals the two lower ones cannot be told apart."""
    X = np.tile(np.arange(8, dtype=np.float32)[:, None], (1, 300))
    grower = LightGBMTrees(leaves=2, bins=2).grower(X, X, 8.0, 0, 1, Trees())
    grower.grow(np.array([-7.0, *[1.0] * 7], np.float32), np.ones(8, np.float32))
    assert grower.trees(1).threshold[0] == 3.5


def test_only_few_documents_without_missing_values_are_wide():
    X = np.random.default_rng(0).normal(size=(256, 257)).astype(np.float32)
    assert is_wide(X, 255)
    assert not is_wide(X[:, :256], 255)  # As many documents as features
    assert not is_wide(X[:200, :255], 255)  # As many intervals as features
    assert not is_wide(np.where(X[0, 0] == X, np.nan, X), 255)
    assert not is_wide(X * np.float32(1e-38), 255)
    assert not is_wide(np.zeros((MOST_DOCUMENTS + 1, MOST_DOCUMENTS + 2), np.float32), 255)
