"""Importance of features: by hand, against one evaluation a shuffle, and what cannot change a query."""

import numpy as np
import pytest

from directrank import Ranker, evaluate, importance
from directrank.data import QueryGroups
from directrank.scorers import Additive, Linear, tree_of


def fitted(scorer, n_features=2) -> Ranker:
    ranker = Ranker()
    ranker.scorer_, ranker.n_features_in_ = scorer, n_features
    return ranker


def pairs(n_queries=40):
    """Queries of two documents, of which the first feature ranks the relevant one first."""
    X = np.tile([[1.0, 3.0], [0.0, 7.0]], (n_queries, 1))
    return QueryGroups(X, np.tile([1, 0], n_queries), np.repeat(np.arange(n_queries), 2))


def test_pairs_by_hand():
    """A shuffle exchanges two documents or does not: RR falls from 1 to 1/2, or stays."""
    found = importance(fitted(Linear(np.array([1.0, 0.0]))), pairs(), "RR", repeats=4)
    assert (found.measure, found.value, found.features) == ("RR", 1.0, ("f1", "f2"))
    assert set(found.losses[:, 0]) <= {0.0, 0.125, 0.25, 0.375, 0.5}
    assert len(set(found.losses[:, 0])) > 2
    assert not found.losses[:, 1].any()
    first, second = found.rows()
    assert (first["feature"], first["better"], second["p"], second["loss"]) == ("f1", 0, 1.0, 0.0)
    assert first["worse"] + first["equal"] == 40
    assert first["loss"] == pytest.approx(found.losses[:, 0].mean())
    assert first["loss"] == pytest.approx(0.25, abs=0.06)
    assert 0.0 < first["low"] < first["loss"] < first["high"]
    assert first["p"] < first["p_holm"] < 0.001


def test_losses_are_those_of_evaluated_shuffles():
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(12), 9))
    groups = QueryGroups(rng.normal(size=(108, 3)), rng.integers(0, 3, 108), qid)
    ranker = fitted(Linear(np.array([1.0, -2.0, 0.5])), 3)
    found = importance(ranker, groups, "AP", repeats=150, random_state=1)
    losses = np.zeros((12, 3))
    for _ in range(150):
        for k in range(3):
            X = groups.X
            for q in range(12):
                rows = np.flatnonzero(qid == q)
                X[rows, k] = X[rng.permutation(rows), k]
            losses[:, k] -= evaluate(groups, ranker.predict(X), measures=["AP"], per_query=True).per_query[
                "AP"
            ]
    expected = evaluate(groups, ranker.predict(groups), measures=["AP"], per_query=True).per_query["AP"]
    np.testing.assert_allclose(found.losses, expected[:, None] + losses / 150, atol=0.08)
    np.testing.assert_allclose(
        found.losses.mean(axis=0), expected.mean() + losses.mean(axis=0) / 150, atol=0.02
    )
    assert found.value == pytest.approx(expected.mean())


def test_values_stay_in_their_query():
    """The second feature is the same for the documents of a query, and says which way the first ranks."""
    X = np.array([[1.0, -1.0], [0.0, -1.0], [0.0, 1.0], [1.0, 1.0]] * 5)
    groups = QueryGroups(X, [1, 0, 1, 0] * 5, np.repeat(np.arange(10), 2))
    both = tree_of([1, 0, 0], [0, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 0], slope=[0, 1.0, -1.0])
    found = importance(fitted(Additive.of([1.0], [both])), groups, "RR")
    assert found.value == 1.0
    assert found.losses[:, 0].any()
    assert not found.losses[:, 1].any()


def test_the_same_seed_shuffles_alike_and_data_stay_as_they_are():
    groups, ranker = pairs(), fitted(Linear(np.array([1.0, 0.0])))
    before = groups.X
    one, same, other = (importance(ranker, groups, repeats=2, random_state=s).losses for s in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert np.array_equal(groups.X, before)
