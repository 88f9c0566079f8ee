"""Sums of trees: by hand, against the definition, missing values, importance, and what is refused."""

import numpy as np
import pytest

from directrank.scorers import Trees
from directrank.scorers.trees import NODES, TO_THE_LEFT, ZERO_TOO
from naive import trees_naive


def tree(feature, threshold, missing, left, right, value, gain=None):
    given = (feature, threshold, missing, left, right, value, gain or [0.0] * len(feature))
    arrays = [np.array(each, kind) for each, kind in zip(given, NODES.values(), strict=True)]
    return Trees(
        np.zeros(1, np.int64),
        *(np.array(each, kind) for each, kind in zip(arrays, NODES.values(), strict=True)),
    )


def stump(threshold=1.0, missing=0, feature=0, gain=1.0):
    """−1 on the left, 1 on the right."""
    return tree([feature, 0, 0], [threshold, 0, 0], [missing, 0, 0], [1, -1, -1], [2, -1, -1], [0, -1, 1],
                [gain, 0, 0])  # fmt: skip


def forest(rng, n_features=4, n_trees=9):
    """Trees of two levels with every kind of direction."""
    pieces = []
    for _ in range(n_trees):
        k, t = rng.integers(0, n_features, 2), rng.normal(size=2).round(1)
        m, v = rng.integers(0, 4, 2), rng.normal(size=3)
        pieces.append(
            tree([k[0], 0, k[1], 0, 0], [t[0], 0, t[1], 0, 0], [m[0], 0, m[1], 0, 0], [1, -1, 3, -1, -1],
                 [2, -1, 4, -1, -1], [0, v[0], 0, v[1], v[2]], [2.0, 0, 1.0, 0, 0])
        )  # fmt: skip
    return Trees.concatenate(pieces)


def column(*values):
    return np.array(values, np.float32)[:, None]


def test_a_stump_by_hand():
    assert stump(1.0).scores(column(0.5, 1.0, np.nextafter(np.float32(1), 2))).tolist() == [-1, -1, 1]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [(0, [1, -1, -1]), (1, [-1, -1, -1]), (2, [1, 1, -1]), (3, [-1, -1, -1])],
)  # fmt: skip
def test_missing_values_and_zeros_by_hand(missing, expected):
    assert stump(1.0, missing).scores(column(np.nan, -1e-35, 0.5)).tolist() == expected
    # Left of the threshold by their value, zeros go where they are told.
    assert stump(-1.0, missing).scores(column(0.0))[0] == (-1 if missing == TO_THE_LEFT + ZERO_TOO else 1)
    assert stump(-1.0, missing).scores(column(2e-35))[0] == 1


def grown(rng, n_leaves, n_features=4):
    """A tree of so many leaves, which grows at leaves at random."""
    left, right = [-1], [-1]
    for _ in range(n_leaves - 1):
        parent = rng.choice([node for node, child in enumerate(left) if child < 0])
        left[parent], right[parent] = len(left), len(left) + 1
        left, right = [*left, -1, -1], [*right, -1, -1]
    n = len(left)
    feature, threshold = rng.integers(0, n_features, n), rng.normal(size=n).round(1)
    return tree(feature, threshold, rng.integers(0, 4, n), left, right, rng.normal(size=n))


@pytest.mark.parametrize("leaves", [(1, 2, 63, 64), (64, 1, 65), (150, 3)])
@pytest.mark.parametrize("n_docs", [1, 127, 260])
def test_trees_of_any_number_of_leaves(leaves, n_docs):
    rng = np.random.default_rng(n_docs)
    scorer = Trees.concatenate([grown(rng, each) for each in leaves])
    features = rng.normal(size=(n_docs, 4)).astype(np.float32).round(1)
    features[rng.random(features.shape) < 0.2] = np.nan
    features[rng.random(features.shape) < 0.2] = 0.0
    assert scorer.scores(features).tolist() == [trees_naive(row, scorer) for row in features]


def test_nodes_that_no_row_reaches_change_nothing():
    scorer = tree([0, 1, 0, 0, 0, 0], [1.0, -9.0, 0, 0, 0, 0], [0] * 6, [2, 4, -1, -1, -1, -1],
                  [3, 5, -1, -1, -1, -1], [0, 0, -1, 1, 50, 60])  # fmt: skip
    assert scorer.scores(np.array([[0.0, 0.0], [2.0, 0.0]], np.float32)).tolist() == [-1, 1]


def test_missing_values_go_where_given_values_go():
    rng = np.random.default_rng(1)
    scorer, values = forest(rng), np.array([0.3, -0.2, 0.0, 1.0], np.float32)
    features = rng.normal(size=(300, 4)).astype(np.float32)
    features[rng.random(features.shape) < 0.5] = np.nan
    of = np.array([True, False, True, False])
    filled = np.where(np.isnan(features) & of, values, features)
    # 0 would be a missing value itself.
    scorer.missing &= TO_THE_LEFT
    np.testing.assert_array_equal(
        scorer.with_missing_like(values, of).scores(features), scorer.scores(filled)
    )


def test_importances_by_hand():
    both = Trees.concatenate([stump(gain=3.0), stump(feature=2, gain=1.0)])
    assert both.feature_importances(3).tolist() == [0.75, 0.0, 0.25]
    assert Trees.concatenate([]).feature_importances(2).tolist() == [0.0, 0.0]


def test_no_tree_scores_zero():
    assert Trees.concatenate([]).scores(np.ones((2, 3), np.float32)).tolist() == [0.0, 0.0]
    assert repr(Trees()) == "Trees(not trained)"


def tensors_of(scorer):
    return {name: getattr(scorer, name).copy() for name in ("root", *NODES)}


def test_loaded_arrays_must_be_trees():
    scorer = forest(np.random.default_rng(3))
    assert Trees.fits(tensors_of(scorer), 4)
    assert Trees.fits(tensors_of(Trees.concatenate([])), 4)
    wrong = {
        "root": [-1, 1, 1000], "feature": [-1, 4], "missing": [-1, 4], "left": [0, -2, 5, 10**6],
        "right": [0, -1, -2, 5],
    }  # fmt: skip
    for name, values in wrong.items():
        for value in values:
            tensors = tensors_of(scorer)
            tensors[name][0] = value
            assert not Trees.fits(tensors, 4), (name, value)
    for name in ("root", *NODES):
        tensors = tensors_of(scorer)
        assert not Trees.fits({**tensors, name: tensors[name].astype(np.float16)}, 4)
        assert not Trees.fits({**tensors, name: tensors[name][:-1]}, 4) or name == "root"
        assert not Trees.fits({**tensors, name: tensors[name][:, None]}, 4)
    assert not Trees.fits({**tensors_of(scorer), "fill": np.zeros(1)}, 4)
    assert not Trees.fits({**tensors_of(scorer), "root": np.zeros(0, np.int64)}, 4)
