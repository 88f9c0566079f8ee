"""LambdaRank's derivatives beside LightGBM's, read from the leaves of a tree that divides all rows."""

import numpy as np
import pytest

from directrank import QueryGroups
from directrank.measures import NDCG
from directrank.surrogates import SwapWeighted

SIZES = (7, 12, 3, 1)


def of_lightgbm(y, scores, with_norm, sizes=SIZES, truncation=30):
    """Return the leaf of each row, and the gradient and the curvature of each leaf."""
    lightgbm = pytest.importorskip("lightgbm")
    X = np.arange(1.0, len(y) + 1)[:, None]
    parameters = {
        "objective": "lambdarank", "lambdarank_norm": with_norm, "lambdarank_truncation_level": truncation,
        "num_leaves": len(y), "min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 0.0,
        "learning_rate": 1.0, "verbose": -1,
    }  # fmt: skip
    data = lightgbm.Dataset(X, y, group=list(sizes), init_score=scores, params=parameters)
    booster = lightgbm.train(parameters, data, 1)
    nodes, leaves = [booster.dump_model()["tree_info"][0]["tree_structure"]], {}
    while nodes:
        node = nodes.pop()
        if "leaf_index" in node:
            leaves[node["leaf_index"]] = -node["leaf_value"] * node["leaf_weight"], node["leaf_weight"]
        else:
            nodes += [node["left_child"], node["right_child"]]
    leaf = booster.predict(X, pred_leaf=True).ravel().astype(int)
    assert len(leaves) > 0.8 * len(y)
    return leaf, np.array([leaves[k] for k in range(len(leaves))]).T


@pytest.mark.parametrize("distance", [False, True])
def test_derivatives_are_lightgbms(distance):
    """With `lambdarank_norm` LightGBM divides by distances, and then multiplies those of each query.

    The factor of a query is log₂(1 + s) / s, with s the sum of |λ| over both documents of all pairs.
    """
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 4, sum(SIZES)).astype(float), rng.normal(size=sum(SIZES))
    groups = QueryGroups(np.zeros((len(y), 1)), y, np.repeat(range(len(SIZES)), SIZES))
    loss = SwapWeighted(NDCG(30), weights="swap", distance=distance)
    on_queries, inner = loss.on(groups.queries, np.ones(len(SIZES))), groups.to_inner(scores)
    on_queries.reweigh(inner)
    found = [
        groups.to_caller(on_queries.value_and_gradient(inner)[1]),
        groups.to_caller(on_queries.derivatives(inner)[2]),
    ]
    if distance:
        for first, last in zip(np.cumsum((0, *SIZES)), np.cumsum(SIZES), strict=False):
            s = sum_of_lambdas(y[first:last], scores[first:last])
            for each in found:
                each[first:last] *= np.log2(1 + s) / s if s > 0 else 1.0
    leaf, theirs = of_lightgbm(y, scores, distance)
    for ours, of_leaves in zip(found, theirs, strict=True):
        np.testing.assert_allclose(np.bincount(leaf, ours), of_leaves, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("truncation", [5, 8])
def test_ranks_below_the_truncation_have_a_discount_in_lightgbm_alone(truncation):
    """Both weigh pairs with a document above the truncation; a rank below it counts 0 in ours."""
    rng = np.random.default_rng(1)
    y, scores = rng.integers(0, 4, 14).astype(float), rng.normal(size=14)
    rank = np.argsort(np.argsort(-scores))
    full, inside = 1 / np.log2(rank + 2.0), rank < truncation
    best = (np.sort(2**y - 1)[::-1] / np.log2(np.arange(14) + 2.0))[:truncation].sum()
    groups = QueryGroups(np.zeros((14, 1)), y, np.zeros(14))
    loss = SwapWeighted(NDCG(2), weights="swap", truncation=truncation).on(groups.queries, np.ones(1))
    loss.reweigh(groups.to_inner(scores))
    ours = groups.to_caller(loss.value_and_gradient(groups.to_inner(scores))[1])
    leaf, theirs = of_lightgbm(y, scores, False, [14], truncation)
    for found, discount in ((np.bincount(leaf, ours), full * inside), (theirs[0], full)):
        expected = np.zeros(14)
        for i, j in (
            (i, j) for i in range(14) for j in range(14) if y[i] > y[j] and (inside[i] or inside[j])
        ):
            w = (2 ** y[i] - 2 ** y[j]) * abs(discount[i] - discount[j]) / best
            slope = w / (1 + np.exp(scores[i] - scores[j]))
            expected[i] -= slope
            expected[j] += slope
        np.testing.assert_allclose(found, np.bincount(leaf, expected), rtol=2e-3, atol=1e-5)


def sum_of_lambdas(y, s):
    """Sum 2 w σ over the pairs of a query, by a double loop."""
    rank = np.argsort(np.argsort(-s))
    discount, gain, total = 1 / np.log2(rank + 2.0), 2**y - 1, 0.0
    best = (np.sort(gain)[::-1] / np.log2(np.arange(len(y)) + 2.0)).sum()
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] > y[j]:
                w = (gain[i] - gain[j]) * abs(discount[i] - discount[j]) / best / (0.01 + abs(s[i] - s[j]))
                total += 2 * w / (1 + np.exp(s[i] - s[j]))
    return total
