"""Boosting of trees: the best round, sizes of trees, missing values, what is not trained on."""

import numpy as np
import pytest

from directrank import Ranker, TreeRanker, evaluate, make_ranking
from directrank.data.groups import QueryGroups
from directrank.estimators import RankSVM
from directrank.measures import NDCG
from directrank.scorers import Trees
from directrank.solvers import TreeBoosting
from directrank.solvers.trees.derivatives import FLOOR, Derivatives, whole_numbers
from directrank.surrogates import Objective, SmoothedPositions, SwapWeighted


def interactions(seed, n_queries=50, n_features=4):
    """Grades that depend on a product of two features."""
    made = make_ranking(n_queries, 20, n_features, random_state=seed)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(made.n_docs, n_features)).astype(np.float32)
    y = np.digitize(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)), [0.5, 1.5])
    return QueryGroups(X, y, np.repeat(np.arange(n_queries), made.queries.sizes))


def test_trees_rank_where_a_linear_function_fails():
    train, vali, test = (interactions(seed) for seed in range(3))
    ranker = TreeRanker(rounds=40, leaves=8, n_jobs=1).fit(train, eval_set=vali)
    linear = RankSVM().fit(train, eval_set=vali)
    assert ranker.score(test) > linear.score(test) + 0.2
    assert ranker.feature_importances_.argsort()[-2:].tolist() in ([0, 1], [1, 0])
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)


def test_the_trees_up_to_the_best_round_are_kept():
    train, vali = interactions(0, 20), interactions(1, 20)
    ranker = TreeRanker(rounds=100, patience=5, n_jobs=1, select_by="AP").fit(train, eval_set=vali)
    judged = [row["monitor"] for row in ranker.history_]
    best = int(np.argmax(judged)) + 1
    assert len(judged) == best + 5 < 100
    assert ranker.message_ == f"Trained {best + 5} trees, kept the first {best}"
    assert ranker.scorer_.n_trees == best
    assert evaluate(vali, ranker.predict(vali), measures="AP")["AP"] == pytest.approx(max(judged), abs=1e-9)


@pytest.mark.parametrize(("bins", "n_features", "most"), [(None, 641, 31), (None, 640, 255), (100, 641, 100)])
def test_wide_data_have_31_intervals(bins, n_features, most):
    X = np.tile(np.arange(1.0, 641.0, dtype=np.float32)[:, None], (1, n_features))
    columns = TreeBoosting(bins=bins)._columns(X, np.ones(640, np.bool_), Trees()).columns
    assert most - 1 <= columns.n_values.max() <= most


@pytest.mark.parametrize(
    ("leaves", "n_features", "n_leaves"), [(None, 321, 7), (None, 320, 31), (12, 321, 12), (12, 320, 12)]
)
def test_trees_of_wide_data_have_7_leaves(leaves, n_features, n_leaves):
    assert 1 + np.count_nonzero(tree_of(n_features, leaves=leaves).left >= 0) == n_leaves


def tree_of(n_features, **parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(320, n_features)).astype(np.float32)
    solver = TreeBoosting(leaf_share=0.0, **parameters)
    grower = solver.begin(X, np.ones(320, np.bool_), X, 320.0, 0, Trees())
    grower.grow(whole_numbers(rng.normal(size=320)), whole_numbers(np.ones(320)))
    return grower.trees(1)


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_no_leaf_is_deeper_than_asked_for(depth):
    tree = tree_of(8, depth=depth, leaves=64)
    below = {0: 0}
    for node in range(len(tree.left)):
        if tree.left[node] >= 0:
            below |= {int(tree.left[node]): below[node] + 1, int(tree.right[node]): below[node] + 1}
    assert max(below.values()) == depth


@pytest.mark.parametrize("power", [-1074, -1050, -1000, -30, 0, 29, 1000, 1023])
def test_whole_numbers_are_rounded_exactly_at_any_size(power):
    """The largest lies from 2²⁹ to 2³⁰ units; a half is rounded to the even number."""
    numbers, unit = whole_numbers(np.ldexp([1.0, -0.75, 1.5 * 2.0**-29, 0.5 * 2.0**-29, 0.0], power))
    assert unit == np.ldexp(1.0, power - 29)
    small = power < -1040  # Smaller numbers than the least are none.
    assert numbers.tolist() == [
        2**29,
        -3 * 2**27 if power > -1074 else -(2**29),
        *([0, 0] if small else [2, 0]),
        0,
    ]


def test_a_gap_that_tells_is_learned():
    X, y = np.random.default_rng(0).normal(size=(400, 1)), np.arange(400) % 2
    X[y == 1] = np.nan
    groups = QueryGroups(X, y, np.arange(400) // 10)
    assert TreeRanker(rounds=3, n_jobs=1).fit(groups).score(groups) == 1.0


def test_a_steepness_changes_only_the_scale_of_the_scores():
    groups = interactions(0, 20)
    flat, steep = (
        Ranker(SmoothedPositions(NDCG(), steepness=alpha), TreeBoosting(rounds=8), Trees())
        .fit(groups)
        .predict(groups)
        for alpha in (1.0, 16.0)
    )
    np.testing.assert_allclose(16.0 * steep, flat, rtol=1e-5, atol=1e-6)


def test_weights_follow_the_ranking_in_every_round(monkeypatch):
    calls, reweigh = [], Objective.reweigh
    monkeypatch.setattr(Objective, "reweigh", lambda self, scores: (calls.append(1), reweigh(self, scores)))
    TreeRanker("lambdarank", rounds=4, keep="last", n_jobs=1).fit(interactions(0, 20))
    assert len(calls) == 4 + 1


def test_documents_that_teach_nothing_are_not_in_the_trees():
    groups, other = interactions(0, 20), interactions(1, 5)
    alone = TreeRanker(rounds=4, n_jobs=1).fit(groups, eval_set=groups).predict(groups)
    beside = QueryGroups(
        np.concatenate((groups.X, 100 * other.X)), np.append(groups.relevance, np.ones(other.n_docs)),
        np.append(groups.qid, 1000 + other.qid),
    )  # fmt: skip
    ranker = TreeRanker(rounds=4, n_jobs=1)
    np.testing.assert_array_equal(ranker.fit(beside, eval_set=groups).predict(groups), alone)
    assert len(ranker.left_out_) == 5


def test_derivatives_are_floored():
    groups = interactions(0, 10)
    objective = Objective(SwapWeighted(NDCG(), weights="swap"), groups.queries, groups.shards)
    derivatives = Derivatives(objective)
    _, _, first = derivatives(np.zeros(groups.n_docs))
    _, gradient, curvature = derivatives(np.where(groups.queries.relevance > 0, -500.0, 500.0))
    assert (curvature >= 0.99 * FLOOR * first).all()
    assert np.isfinite(gradient).all()
