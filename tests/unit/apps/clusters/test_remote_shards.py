"""Shards in other processes, without a cluster: sums and models as here, on workers that come and go.

Workers of Dask are replaced by objects of this process. Calls are pickled, as on the way to a worker.
"""

import gc
import pickle
from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from directrank import CoordinateAscent, QueryGroups, TreeRanker, make_ranking
from directrank.apps.clusters.features import WorkerFeatures
from directrank.data.frames import from_frame
from directrank.errors import MethodError
from directrank.estimators.methods import configured
from directrank.files.store import StoreWriter
from directrank.models.scorer_kinds import take_apart
from directrank.solvers.stumps import HistogramStumps
from directrank.surrogates import Objective

pytest.importorskip("distributed")

from directrank.apps.clusters import RAW, FrameRows, from_rows, from_store, placement
from directrank.apps.clusters.placement import MOST_LOSSES, DaskWorkers


class Network:
    """Two workers. Calls with the numbers of `losses` find that the worker has gone with its data."""

    def __init__(self, losses=()):
        self.losses, self.calls, self.actors = set(losses), count(1), []
        self.client = self

    def as_current(self):
        return pytest.MonkeyPatch.context()

    def submit(self, made, **place):
        actor = Actor(self, made(), place["workers"][0])
        self.actors.append(actor)
        return SimpleNamespace(result=lambda timeout: actor, status="finished")

    def some(self):
        return ["a", "b"]

    living = some

    def name(self):
        return "the network"

    def computed(self, tasks):
        import dask

        return list(dask.compute(*tasks, scheduler="synchronous"))


class Actor:
    def __init__(self, network, held, address):
        self.network, self.held, self.address = network, held, address

    def call(self, *sent):
        if next(self.network.calls) in self.network.losses:
            return SimpleNamespace(result=lost)
        answer = received(self.held.call(*received(sent)))
        return SimpleNamespace(result=lambda timeout: answer)

    def forget(self, keys):
        self.held.forget(keys)


def received(value):
    """Return a value as it arrives: arrays are views of received bytes."""
    buffers = []
    text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=[bytearray(each) for each in buffers])


def lost(timeout):
    raise OSError("the connection has gone")


def bits(value):
    """Return a value with bytes for arrays and lists for sequences, for comparisons to the last bit."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.str, value.shape, value.tobytes()
    return [bits(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr("directrank.features.shards.SHARD_BYTES", 2**9)
    # Several blocks a shard.
    monkeypatch.setattr("directrank.features.shards.BLOCK_BYTES", 2**8)
    monkeypatch.setattr(placement, "get_worker", lambda: SimpleNamespace(state=SimpleNamespace(nthreads=2)))


@pytest.fixture
def groups(small_shards):
    made = make_ranking(40, 6, 5, random_state=0)
    made.features[::9, 1:4] = np.nan
    assert len(made.shards) > 8
    assert len(made.shards[0].blocks) > 1
    return made


def distributed(groups, losses=()):
    load = from_rows(lambda shard: groups.features[shard.rows], groups.queries, groups.shards)
    network = Network(losses)
    workers = DaskWorkers(network, groups.shards, load)
    return groups.with_features(WorkerFeatures(workers, RAW, groups.features.shape)), network


def test_coordinate_ascent_is_judged_by_documents_on_workers():
    """It trains here: a step changes the scores of the validation set by a column that the workers have."""
    train, vali = make_ranking(20, 8, 4, random_state=0), make_ranking(30, 8, 4, random_state=1)
    here = CoordinateAscent().fit(train, eval_set=vali)
    there = CoordinateAscent().fit(train, eval_set=distributed(vali)[0])
    assert here.coef_.tobytes() == there.coef_.tobytes()
    assert here.history_ == there.history_


def sums(features, indptr, blocks, factor, vector):
    """A statistic that tells rows, blocks and vectors of one shard from those of another."""
    weighed = [factor * vector[each.rows] @ np.nan_to_num(features[each.rows]) for each in blocks]
    return np.stack(weighed), indptr.copy()


def doubled(features, indptr, blocks, out):
    out[:] = 2.0 * features


def first_two(features, indptr, blocks, out):
    out[:] = features[:, :2]


def documents(features, indptr, blocks):
    return np.array([len(features)])


@pytest.mark.parametrize("losses", [(), (1,), (5, 16, 17, 30), range(3, 400, 11)])
def test_sums_of_shards_are_those_made_here(groups, losses):
    remote, _ = distributed(groups, losses)
    vector = np.arange(float(groups.n_docs))
    for _ in range(3):
        here = groups.source.over_shards(sums, 0.5, rows=(vector,))
        there = remote.source.over_shards(sums, 0.5, rows=(vector,))
        assert bits(here) == bits(there)
        assert remote.source.total(documents) == groups.n_docs


def test_columns_and_the_first_row_are_fetched(groups):
    remote, _ = distributed(groups, range(20, 400, 13))
    for k in range(groups.n_features):
        np.testing.assert_array_equal(remote.features[:, k], groups.features[:, k])
    np.testing.assert_array_equal(remote.features[0], groups.features[0])
    assert (len(remote.features), remote.features.size) == (groups.n_docs, groups.features.size)


def test_features_made_of_others_stay_where_they_are_until_nobody_uses_them(groups):
    remote, network = distributed(groups, range(30, 400, 17))
    twice = remote.with_features(remote.source.transformed(doubled))
    fewer = twice.with_features(twice.source.transformed(first_two, n_features=2), ["x", "y"])
    assert (fewer.n_features, fewer.feature_names, twice.n_features) == (2, ("x", "y"), groups.n_features)
    gc.collect()
    for _ in range(4):
        np.testing.assert_array_equal(fewer.features[:, 1], 2.0 * groups.features[:, 1])
        np.testing.assert_array_equal(twice.features[:, 4], 2.0 * groups.features[:, 4])
    vector = np.arange(float(groups.n_docs))
    here = QueryGroups.from_inner(2.0 * groups.features, groups.queries).source.over_shards(
        sums, 0.5, rows=(vector,)
    )
    assert bits(here) == bits(twice.source.over_shards(sums, 0.5, rows=(vector,)))
    del twice, fewer
    gc.collect()
    assert remote.source.total(documents) == groups.n_docs
    # A shard that is loaded again has nothing that nobody uses.
    network.losses.add(next(network.calls) + 1)
    n_actors = len(network.actors)
    assert remote.source.total(documents) == groups.n_docs
    assert len(network.actors) > n_actors
    living = {id(placed.actor) for placed in remote.source.workers._placed}
    kept = [
        set(held) for actor in network.actors if id(actor) in living for held in actor.held.shards.values()
    ]
    assert kept == [{"queries", "blocks", RAW}] * len(groups.shards)


def test_work_is_shared_and_no_shard_is_in_two_places(groups):
    remote, _ = distributed(groups, (40,))
    remote.source.total(documents)
    by_worker = {"a": 0, "b": 0}
    for placed in remote.source.workers._placed:
        by_worker[placed.address] += sum(remote.source.workers._n_docs(each) for each in placed.shards)
    assert sum(by_worker.values()) == groups.n_docs
    assert abs(by_worker["a"] - by_worker["b"]) <= 2 * max(len(groups.X[s.rows]) for s in groups.shards)


def test_losses_one_after_the_other_end_in_one_error_and_losses_between_answers_do_not(groups):
    remote, _ = distributed(groups, range(1, 200))
    with pytest.raises(MethodError, match=f"{MOST_LOSSES} workers of the network were lost one after"):
        remote.source.total(documents)
    remote, network = distributed(groups)
    for _ in range(2 * MOST_LOSSES):
        network.losses.add(next(network.calls) + 1)
        assert remote.source.total(documents) == groups.n_docs


def objectives(groups, name, losses=()):
    """The objective of a method with unequal weights, and its features: here, and in other processes."""
    surrogate = configured(name, "AP")[0].build(random_state=1).components()[0]
    weights = np.arange(1.0, groups.n_queries + 1)
    remote, network = distributed(groups, losses)
    here = Objective(surrogate, groups.queries, groups.shards, weights=weights)
    there = Objective(
        surrogate, groups.queries, groups.shards, weights=weights, workers=remote.source.workers
    )
    return (here, groups.features), (there, remote.features), network


def gradients(objective, features, parts, scores):
    """Gradients of the parts of a shard, each with the sum of its features."""
    return [
        (part.oracles.value_and_gradient(scores[part.rows]), np.nansum(features[part.rows], axis=0))
        for part in parts
    ]


@pytest.mark.parametrize("lost_at", ["no call", "the change", "the statistic"])
@pytest.mark.parametrize("name", ["listnet", "lambdarank", "yetiloss"])
def test_statistics_of_an_objective_are_those_made_here(groups, name, lost_at):
    """Weights that depend on scores, and random ones, are those of the last ranking, also after a loss."""
    (here, x), (there, y), network = objectives(groups, name)
    scores = np.random.default_rng(0).normal(size=groups.n_docs)
    fixed = scores.copy()
    for _ in range(3):
        if lost_at == "the change":
            network.losses.add(next(network.calls) + 1)
        if name != "listnet":
            here.reweigh(fixed)
            there.reweigh(fixed)
            fixed *= -0.5
        if lost_at == "the statistic":
            network.losses.add(next(network.calls) + 1)
        found = [each.over_shards(gradients, f, rows=(scores,)) for each, f in ((here, x), (there, y))]
        assert bits(found[0]) == bits(found[1])


def test_plug_ins_cut_their_work_by_the_longest_query_of_all(groups):
    (here, x), (there, y), _ = objectives(groups, "approxndcg(nDCG@10)")
    assert here.over_shards(longest, x) == there.over_shards(longest, y)


def longest(objective, features, parts):
    return int(objective.gradient_plugin().longest)


@pytest.mark.parametrize("losses", [(), range(30, 2000, 29)])
def test_histograms_are_those_made_here(groups, losses):
    (here, x), (there, y), _ = objectives(groups, "rankboost", losses)
    weights = np.random.default_rng(1).normal(size=groups.n_docs)
    one, other = (HistogramStumps(each, f, "gini") for each, f in ((here, x), (there, y)))
    assert one.missing.tolist() == other.missing.tolist() == [False, True, True, True, False]
    assert bits(one.histograms(weights)) == bits(other.histograms(weights))
    ours, theirs = one.best(weights, None), other.best(weights, None)
    assert bits(list(vars(ours).values())) == bits(list(vars(theirs).values()))


def tensors(ranker):
    kind, arrays = take_apart(ranker.scorer_)
    return kind, {name: bits(each) for name, each in arrays.items()}


def test_a_model_has_the_bits_of_one_trained_here(groups):
    remote, network = distributed(groups, range(25, 4000, 31))
    weights = np.arange(groups.n_queries) % 3.0
    here, there = (configured("regression", "AP")[0].build() for _ in range(2))
    here.fit(groups, sample_weight=weights)
    there.fit(remote, sample_weight=weights)
    assert tensors(here) == tensors(there)
    assert there.predict(remote).tobytes() == here.predict(groups).tobytes()
    assert len(network.actors) > 2


@pytest.mark.parametrize("losses", [(), range(35, 4000, 37)])
def test_trees_have_the_bits_of_those_grown_here(groups, losses):
    """Rounds are chosen on held-out queries, some weights are 0, and a lost shard catches up with a tree."""
    remote, network = distributed(groups, losses)
    weights, given = np.arange(groups.n_queries) % 3.0, {"rounds": 4, "leaves": 6, "feature_share": 0.8}
    here, there = (TreeRanker("lambdarank", **given, random_state=1) for _ in range(2))
    here.fit(groups, sample_weight=weights)
    there.fit(remote, sample_weight=weights)
    assert here.scorer_.n_trees > 0
    assert tensors(here) == tensors(there)
    assert here.history_ == there.history_
    assert there.predict(remote).tobytes() == here.predict(groups).tobytes()
    assert not losses or len(network.actors) > 4


def test_trees_are_judged_by_documents_on_workers_and_continued_there(groups):
    vali = make_ranking(20, 6, 5, random_state=1)
    first = TreeRanker("consistent", rounds=2, keep="last").fit(groups)
    here, there = (TreeRanker("consistent", rounds=4, leaves=4, depth=2, start=first) for _ in range(2))
    here.fit(groups, eval_set=vali)
    there.fit(distributed(groups)[0], eval_set=distributed(vali)[0])
    assert tensors(here) == tensors(there)
    assert here.history_ == there.history_


def test_wide_features_elsewhere_are_trained_on_as_they_are():
    wide = make_ranking(3, 6, 600, random_state=0)
    remote, _ = distributed(wide)
    here, there = (configured("ranksvm", "AP")[0].build() for _ in range(2))
    here.fit(wide)
    there.fit(remote)
    assert here.status_ == there.status_ == "converged"
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-5)


def test_a_store_is_cut_as_here(groups, tmp_path):
    writer = StoreWriter(tmp_path / "store")
    writer.allocate("made", *groups.features.shape)[:] = groups.features
    writer.finish(groups.queries, groups.n_features, None, "made", True)
    load = from_store(tmp_path / "store", groups.queries, groups.shards, verify=True)
    workers = DaskWorkers(Network((7,)), groups.shards, load)
    remote = groups.with_features(WorkerFeatures(workers, RAW, groups.features.shape))
    vector = np.arange(float(groups.n_docs))
    there = remote.source.over_shards(sums, 0.5, rows=(vector,))
    assert bits(groups.source.over_shards(sums, 0.5, rows=(vector,))) == bits(there)


def test_rows_of_a_data_frame_may_be_in_any_partition(small_shards):
    dd = pytest.importorskip("dask.dataframe")
    made = make_ranking(30, 5, 4, random_state=3)
    frame = pd.DataFrame(made.X, columns=list("abcd"))
    frame = frame.assign(relevance=made.relevance, qid=made.qid).sample(frac=1.0, random_state=0)
    local = from_frame(frame)
    assert len(local.shards) > 2
    found = FrameRows(Network(), dd.from_pandas(frame, npartitions=4, sort=False), "relevance", "qid", None)
    assert found.columns == list("abcd")
    assert found.shards == local.shards
    np.testing.assert_array_equal(found.queries.relevance, local.queries.relevance)
    for shard in found.shards:
        np.testing.assert_array_equal(found.rows_of(shard), local.features[shard.rows])
