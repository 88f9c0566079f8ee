"""Trees whose features are in a mapped file: sums over shards give the trees that are grown in memory."""

import numpy as np
import pytest

from directrank import QueryGroups, TreeRanker
from directrank.models.scorer_kinds import take_apart
from directrank.solvers.trees import shards
from directrank.solvers.trees.binning import binned, binned_on_shards
from directrank.storage.mapped import is_mapped, temporary_matrix


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr("directrank.features.shards.SHARD_BYTES", 2**12)
    monkeypatch.setattr("directrank.features.shards.BLOCK_BYTES", 2**11)


@pytest.fixture
def groups():
    """Columns of three tiles with zeros, ties, few values and none; some shards have no missing value."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 19)).astype(np.float32)
    X[:, :4] = X[:, :4].round(1)
    X[:, 4:8][rng.random((1200, 4)) < 0.7] = 0.0
    X[:500, 8:12][rng.random((500, 4)) < 0.3] = np.nan
    X[:, 12], X[:, 13] = 7.0, np.nan
    grades = np.digitize(X[:, 0] * X[:, 1] + np.nan_to_num(X[:, 9]) + rng.normal(size=1200), [0.5, 1.5, 2.5])
    made = QueryGroups(X, grades, np.arange(1200) // 12)
    assert len(made.shards) > 15
    return made


def mapped(groups):
    features = temporary_matrix(groups.features.shape)
    features[:] = groups.features
    return groups.with_features(features)


def bits(ranker):
    kind, tensors = take_apart(ranker.scorer_)
    return kind, {name: each.tobytes() for name, each in tensors.items()}


def fitted(groups, n_jobs=1, weights=None, **parameters):
    given = {"rounds": 5, "leaves": 9, "leaf_share": 0.01} | parameters
    return TreeRanker("lambdarank", **given, n_jobs=n_jobs, random_state=0).fit(groups, sample_weight=weights)


def test_bins_are_those_of_memory(groups):
    live = np.arange(1200) % 5 > 0
    here, there = (
        binned(groups.features, np.flatnonzero(live)),
        binned_on_shards(mapped(groups).source, live, 255),
    )
    for name in ("n_values", "missing", "thresholds", "medians"):
        assert getattr(here, name).tobytes() == getattr(there, name).tobytes()
    of_shards = there.tiles.over_shards(lambda tiles, *_: tiles)
    assert all(map(is_mapped, of_shards))
    assert np.concatenate(of_shards, axis=1)[:, live].tobytes() == here.tiles.tobytes()


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_models_are_those_of_memory(groups, n_jobs, monkeypatch):
    """Rounds are chosen on held-out queries; some queries have no weight."""
    for name, number in (("SHARDS_A_THREAD", 1), ("VALUES_A_THREAD", 2**12)):
        monkeypatch.setattr(f"directrank.solvers.trees.tree_boosting.{name}", number)
    weights = np.arange(groups.n_queries) % 4.0
    here, there = fitted(groups, 1, weights), fitted(mapped(groups), n_jobs, weights)
    assert here.scorer_.n_trees > 0
    assert bits(here) == bits(there) == bits(fitted(groups, n_jobs, weights))
    assert here.history_ == there.history_


@pytest.mark.parametrize(
    "parameters", [{"depth": 2}, {"leaves": 2}, {"leaves": 60}, {"feature_share": 0.3}, {"bins": 5}]
)
def test_limits_are_those_of_memory(groups, parameters):
    here, there = (fitted(each, keep="last", rounds=2, **parameters) for each in (groups, mapped(groups)))
    assert bits(here) == bits(there)


def test_shards_may_be_added_in_any_order_and_none_may_be_left_out(groups, monkeypatch):
    expected, stored, add_up = bits(fitted(groups)), mapped(groups), shards._sums_of_shard
    monkeypatch.setattr(
        "directrank.features.array.Features.total",
        lambda self, *call, **rest: sum(reversed(self.over_shards(*call, **rest))),
    )
    assert bits(fitted(stored)) == expected

    def without_one(shard, indptr, blocks, *call):
        return add_up(shard, indptr, blocks, *call) * (shard.numbers is not numbers[3])

    numbers = []
    monkeypatch.setattr(shards, "_sums_of_shard", without_one)
    original = shards.ShardOfTree.__init__

    def counted(self, *given):
        original(self, *given)
        numbers.append(self.numbers)

    monkeypatch.setattr(shards.ShardOfTree, "__init__", counted)
    assert bits(fitted(stored, rounds=1, keep="last")) != bits(fitted(groups, rounds=1, keep="last"))


def test_missing_values_of_one_shard_go_where_the_sum_sends_them():
    """Of those of the first shard alone the other side gains more."""
    x = np.append(np.full(600, np.nan), np.arange(600) % 2).astype(np.float32)
    good = np.append(np.arange(600) < 250, np.arange(600) % 2 == 1)
    groups = QueryGroups(x[:, None], good.astype(float), np.arange(1200) % 60)
    tree = fitted(mapped(groups), rounds=1, keep="last", leaves=2).scorer_
    assert tree.left[0] > 0
    assert bits(fitted(mapped(groups), rounds=1, keep="last", leaves=2)) == bits(
        fitted(groups, rounds=1, keep="last", leaves=2)
    )


def test_the_start_is_scored_where_the_features_are(groups):
    first = fitted(groups, rounds=2, keep="last")
    assert bits(fitted(groups, start=first)) == bits(fitted(mapped(groups), start=first))
