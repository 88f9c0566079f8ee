"""Contributions of features: by hand, against all orders of the features, and what they add up to."""

from itertools import pairwise

import numpy as np
import pytest

from directrank import Ranker, Regression, TreeRanker, load, make_ranking, save
from directrank.data import QueryGroups
from directrank.errors import DataError
from directrank.scorers import (
    Additive,
    Linear,
    LogLinear,
    QueryLinear,
    StandardisedMean,
    Sum,
    Trees,
    contributions,
    contributions_by_paths,
    scores_in_queries,
    single_feature,
    stump,
    tree_of,
)
from directrank.scorers.trees import LEAF, NODES, goes_left
from naive import contributions_naive

FILL = np.array([0.5, -1.0, 2.0, 0.0, 0.0], np.float32)
WEIGHTS = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
LINEAR, QUERY = Linear(WEIGHTS, FILL), QueryLinear(WEIGHTS, FILL)
LOG = LogLinear(WEIGHTS, np.array([True, False, True, False, False]), FILL)
ONE_QUERY = np.array([0, 20])


def tree(rng, depth=5, n_features=5):
    """A full tree whose paths read features more than once, with every direction of missing values."""
    n_inner = 2**depth - 1
    number, inner = np.arange(2 * n_inner + 1), np.arange(2 * n_inner + 1) < n_inner
    nodes = (
        rng.integers(0, n_features, len(number)), rng.normal(size=len(number)).round(1) * inner,
        rng.integers(0, 4, len(number)), np.where(inner, 2 * number + 1, -1),
        np.where(inner, 2 * number + 2, -1), np.where(inner, 0.0, rng.normal(size=len(number))), 0.0 * number,
    )  # fmt: skip
    arrays = (np.array(each, kind) for each, kind in zip(nodes, NODES.values(), strict=True))
    return Trees(np.zeros(1, np.int64), *arrays)


def weak_trees(rng):
    """Stumps, lines, and trees with lines in their leaves, over missing values that are filled."""
    lines = tree_of(
        [0, 1, 2, 3, 0], [0.1, 0, -0.2, 0, 0], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1],
        [0, 1.0, 0, 2.0, -1.0], to_left=[True, True, False, True, True],
        slope=[0, 0.7, 0, -1.3, 0.4], fill=[0, 0.3, 0, -0.1, 0.2],
    )  # fmt: skip
    return Additive.of(
        rng.normal(size=5), [stump(0, 0.1), lines, single_feature(4, slope=2.0, fill=0.5), lines,
                             stump(2, -0.3, above=False, fill=np.inf)]
    )  # fmt: skip


def documents(rng, n=20):
    features = rng.normal(size=(n, 5)).astype(np.float32).round(1)
    features[rng.random(features.shape) < 0.2] = np.nan
    features[rng.random(features.shape) < 0.2] = 0.0
    return features


def scorers():
    rng = np.random.default_rng(0)
    trees, weak = Trees.concatenate([tree(rng) for _ in range(3)]), weak_trees(rng)
    return [LINEAR, LOG, trees, weak, Sum([LINEAR, trees, weak], [0.5, -1.0, 2.0])]


@pytest.mark.parametrize("scorer", scorers(), ids=repr)
def test_they_are_the_mean_over_all_orders_of_the_features(scorer):
    rng = np.random.default_rng(1)
    features = documents(rng)
    rows, against = np.arange(6), np.arange(6, 9)
    found = contributions(scorer, features, rows, against, ONE_QUERY)
    for row, values in zip(rows, found, strict=True):
        each = [contributions_naive(scorer.scores, features[row], features[b]) for b in against]
        np.testing.assert_allclose(values, np.mean(each, axis=0), atol=1e-12)
    assert np.abs(found).max() > 0.1


@pytest.mark.parametrize(
    "scorer", [*scorers(), QUERY, StandardisedMean([*scorers(), QUERY, Linear(np.zeros(5))])], ids=repr
)
def test_they_add_up_to_the_difference_of_scores(scorer):
    rng = np.random.default_rng(2)
    features, indptr = documents(rng), np.array([0, 8, 20])
    rows, against = np.array([9, 19, 8]), np.array([12, 8])
    found = contributions(scorer, features, rows, against, indptr)
    scores = scores_in_queries(scorer, features, indptr)
    np.testing.assert_allclose(found.sum(axis=1), scores[rows] - scores[against].mean(), atol=1e-9)
    assert found[2].any()
    assert not contributions(scorer, features, rows[:1], rows[:1], indptr).any()
    forth = contributions(scorer, features, rows[:1], rows[1:2], indptr)
    back = contributions(scorer, features, rows[1:2], rows[:1], indptr)
    np.testing.assert_allclose(forth, -back, atol=1e-12)


def test_a_standardised_mean_compares_documents_of_one_query():
    features, indptr = documents(np.random.default_rng(4)), np.array([0, 8, 20])
    for rows, against in (([0], [8]), ([8, 0], [9]), ([0, 8], [1])):
        with pytest.raises(DataError, match="compare documents of one query"):
            contributions(StandardisedMean([LINEAR]), features, np.array(rows), np.array(against), indptr)


def fitted(scorer) -> Ranker:
    ranker = Ranker()
    ranker.scorer_, ranker.n_features_in_ = scorer, 5
    return ranker


@pytest.mark.parametrize("scorer", [LINEAR, scorers()[2], QUERY, StandardisedMean([LINEAR, QUERY])], ids=repr)
def test_rankers_explain_rows_in_any_order_of_rows(scorer):
    rng = np.random.default_rng(6)
    X, qid = documents(rng, 30), rng.integers(0, 3, 30)
    ranker, groups = fitted(scorer), QueryGroups(X, rng.integers(0, 3, 30), qid)
    scores = ranker.predict(X, qid)
    means = np.array([scores[qid == q].mean() for q in qid])
    for given in ((groups,), (X, qid)):
        found = ranker.explain(*given)
        np.testing.assert_allclose(found.sum(axis=1), scores - means, atol=1e-9)
        np.testing.assert_allclose(ranker.explain(*given, rows=[7, 3]), found[[7, 3]], atol=1e-12)
        a, b = np.flatnonzero(qid == 1)[[0, 4]]
        pair = ranker.explain(*given, rows=a, against=b)
        assert pair.shape == (1, 5)
        assert pair.sum() == pytest.approx(scores[a] - scores[b], abs=1e-9)


def expectation(trees, x, known, root, node):
    """Return the value of a tree where only some features are known, by definition."""
    here = root + node
    if trees.left[here] == LEAF:
        return trees.value[here]
    children = [trees.left[here], trees.right[here]]
    values = [expectation(trees, x, known, root, child) for child in children]
    if known[trees.feature[here]]:
        left = goes_left.py_func(x[trees.feature[here]], trees.threshold[here], trees.missing[here])
        return values[0] if left else values[1]
    return np.average(values, weights=[trees.cover[root + child] for child in children])


def test_contributions_by_paths_are_shapley_values_of_expectations():
    rng = np.random.default_rng(5)
    trees = Trees.concatenate([tree(rng, depth) for depth in (1, 3, 5)] + [Trees.constant(2.0)])
    trees.cover = rng.integers(1, 9, len(trees.left)).astype(np.float32)
    for root, end in pairwise(np.append(trees.root, len(trees.left))):
        for node in range(end - 1, root - 1, -1):  # As many as in both children.
            if trees.left[node] != LEAF:
                trees.cover[node] = (
                    trees.cover[root + trees.left[node]] + trees.cover[root + trees.right[node]]
                )
    features = documents(rng, 6)
    found = contributions_by_paths(trees, features, np.arange(6))
    for x, adds in zip(features, found, strict=True):

        def value(hybrids, x=x):
            return np.array([
                sum(expectation(trees, x, known != 0, root, 0) for root in trees.root) for known in hybrids
            ])  # fmt: skip

        expected = contributions_naive(value, np.ones(5), np.zeros(5))
        np.testing.assert_allclose(adds, expected, atol=1e-12)


@pytest.mark.heavy
def test_trees_that_directrank_grew_count_training_documents(tmp_path):
    groups = make_ranking(n_queries=20, random_state=0)
    ranker = TreeRanker().fit(groups)
    assert ranker.scorer_.cover[0] == groups.n_docs
    save(ranker, tmp_path / "model.dr")
    loaded = load(tmp_path / "model.dr")
    added = loaded.explain(groups, against="training")
    np.testing.assert_array_equal(added, ranker.explain(groups, against="training"))
    rest = ranker.predict(groups) - added.sum(axis=1)
    assert np.ptp(rest) < 1e-9
    with pytest.raises(DataError, match="no counts of training documents"):
        Regression().fit(groups).explain(groups, against="training")
    with pytest.raises(ValueError, match="'training'"):
        ranker.explain(groups, against="trainig")
