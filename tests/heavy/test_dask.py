"""Dask: the model of any number of workers has the bits of one trained in this process."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest

from directrank import evaluate, make_ranking
from directrank.apps.cli import main
from directrank.errors import DataError, MethodError, UnfitPairError
from directrank.estimators.methods import configured
from directrank.features.shards import SHARD_BYTES
from directrank.files.store import StoreWriter
from directrank.models.scorer_kinds import take_apart

pytestmark = [
    pytest.mark.heavy,
    # What Dask leaves open when a cluster ends is not ours.
    pytest.mark.filterwarnings("ignore"),
]
pytest.importorskip("distributed")
dask = pytest.importorskip("directrank.dask")
SCRIPT = Path(__file__).parents[2] / "tests" / "system" / "dask_kills.py"
#: Methods with a solver that is a sum over shards, and parameters that choose it.
METHODS = {
    "approxndcg(nDCG@10)": {"max_iterations": 8, "n_restarts": 1, "anneal": 2.0},
    "ranksvm": {},
    "regression": {"scaling": "query"},
    "consistent-ndcg": {"scaling": "log"},
    "lambdarank": {"rounds": 5, "scaling": "standard"},
    "yetiloss": {"rounds": 3},
    "svmmap": {"solver": "ocas", "max_passes": 20},
    "adarank": {"signed": True},
    "rankboost": {"search": "histogram", "rounds": 12},
    "ndcgboost": {"search": "histogram", "rounds": 6, "sampling": True},
    "trees-lambdarank": {"rounds": 4, "leaves": 8},
}


@contextmanager
def cluster(n_workers, threads=1):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=threads, processes=False, protocol="tcp",
            host="127.0.0.1", dashboard_address=None,
        ) as made,
        Client(made, direct_to_workers=True) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture(scope="module")
def shards():
    """Many shards of little data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("directrank.features.shards.SHARD_BYTES", 2**9)
        yield


@pytest.fixture(scope="module")
def parts(shards):
    found = [make_ranking(n, 12, 6, random_state=n) for n in (100, 30)]
    assert len(found[0].shards) > 40
    rng = np.random.default_rng(0)
    for part in found:
        # Of one feature nothing is missing.
        part.features[:, 1:][rng.random((part.n_docs, 5)) < 0.05] = np.nan
    return found


@pytest.fixture(scope="module")
def client(shards):
    with cluster(2, threads=2) as made:
        yield made


@pytest.fixture(scope="module")
def processes(shards):
    """Worker processes on this machine."""
    with dask.connect("local:2") as made:
        yield made


@pytest.fixture
def pids(processes):
    """The workers' process numbers by address; all of them run again afterwards."""
    found = processes.run(os.getpid)
    yield found
    for pid in found.values():
        os.kill(pid, signal.SIGCONT)


def made(name, **parameters):
    ranker = configured(name, "AP")[0].build(random_state=1)
    return ranker.set_params(**parameters)


def bits(ranker):
    kind, tensors = take_apart(ranker.scorer_)
    return kind, {name: each.tobytes() for name, each in tensors.items()}


def the_same(one, other):
    assert bits(one) == bits(other)
    assert one.history_ == other.history_
    assert (one.notes_, one.scaling_, one.scaling_reason_) == (
        other.notes_, other.scaling_, other.scaling_reason_,
    )  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_the_model_has_the_bits_of_one_trained_here(name, parts, client):
    train, vali = parts
    remote = [dask.distribute(part, client) for part in parts]
    here = made(name, **METHODS[name]).fit(train, eval_set=vali)
    there = made(name, **METHODS[name]).fit(remote[0], eval_set=remote[1])
    the_same(here, there)
    assert there.predict(remote[1]).tobytes() == here.predict(vali).tobytes()
    assert there.score(remote[1]) == here.score(vali)


@pytest.mark.parametrize(
    ("name", "parameters", "instead"),
    [
        ("svmmap", {}, "set solver to 'ocas' or 'bmrm'"),
        ("approxndcg", {"solver": "sgd"}, "set solver to 'lbfgs'"),
        ("rankboost", {}, "set search to 'histogram'"),
        ("rankboost", {"weak_ranker": "feature"}, "train another method, such as approxndcg"),
    ],
)
def test_a_solver_that_steps_query_by_query_is_refused_by_name(name, parameters, instead, parts, client):
    with pytest.raises(UnfitPairError, match=f"is no sum over shards.*: {instead}"):
        made(name, **parameters).fit(dask.distribute(parts[0], client))


def test_queries_of_a_data_frame_may_span_partitions(parts, client):
    import dask.dataframe as dd

    train = parts[1]
    frame = pd.DataFrame(train.X, columns=[f"f{k}" for k in range(6)])
    frame = frame.assign(grade=train.relevance, query=[f"q{each}" for each in train.qid])
    frame = frame.sample(frac=1.0, random_state=0, ignore_index=True)
    columns = {"relevance": "grade", "qid": "query"}
    remote = dask.distribute(dd.from_pandas(frame, npartitions=5, sort=False), client, **columns)
    from directrank.data.frames import from_frame

    local = from_frame(frame, label="grade", qid="query")
    the_same(made("ranksvm").fit(local), ranker := made("ranksvm").fit(remote))
    scores = ranker.predict(local)
    assert ranker.predict(remote).tobytes() == scores.tobytes()
    assert evaluate(remote, scores, measures="AP")["AP"] == evaluate(local, scores, measures="AP")["AP"]
    # Columns are found by their names.
    turned = dd.from_pandas(frame[frame.columns[::-1]], npartitions=2)
    assert ranker.predict(dask.distribute(turned, client, **columns)).tobytes() == scores.tobytes()
    with pytest.raises(DataError, match="no column 'relevance'"):
        dask.distribute(turned, client)


def test_a_store_is_opened_by_the_workers(parts, client, tmp_path):
    train = parts[0]
    writer = StoreWriter(tmp_path / "store")
    writer.allocate("made", *train.features.shape)[:] = train.features
    writer.finish(train.queries, train.n_features, None, "made", True)
    remote = dask.distribute(tmp_path / "store", client)
    the_same(made("regression").fit(train), made("regression").fit(remote))
    content = bytearray((tmp_path / "store" / "features.npy").read_bytes())
    content[-2] ^= 1
    (tmp_path / "store" / "features.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"rows \d+ to \d+ changed since they were written"):
        made("regression").fit(dask.distribute(tmp_path / "store", client))
    made("regression").fit(dask.distribute(tmp_path / "store", client, verify=False))
    for file in (tmp_path / "store").iterdir():
        file.unlink()
    with pytest.raises(DataError, match="no store"):
        dask.distribute(tmp_path / "store", client)


def test_what_is_not_data_is_refused(client):
    with pytest.raises(DataError, match="a dict cannot be distributed"):
        dask.distribute({}, client)


@pytest.mark.parametrize("place", ["local:0", "local:x"])
def test_a_place_that_is_none_is_refused(place):
    with pytest.raises(ValueError, match="local:WORKERS"), dask.connect(place):
        pass


def test_workers_on_this_machine_serve_no_page(processes):
    addresses = [f"http://127.0.0.1:{processes.scheduler_info()['services']['dashboard']}"]
    addresses += processes.run(
        lambda dask_worker: f"http://127.0.0.1:{dask_worker.http_server.port}"
    ).values()
    assert len(addresses) == 3
    for address in addresses:
        for page in ("health", "status", "info/main/workers.html", "metrics", "json/counts.json"):
            with pytest.raises(HTTPError, match="404"):
                urlopen(f"{address}/{page}", timeout=10)


@pytest.mark.parametrize("kind", [RuntimeError, UnboundLocalError])
def test_a_worker_lost_while_it_takes_shards_changes_nothing(kind, parts, client, monkeypatch):
    expected = made("regression").fit(parts[0])
    submit, submitted = client.submit, []

    def lost(*arguments, **named):
        future = submit(*arguments, **named)
        if not submitted:
            submitted.append(future)
            error = kind("Worker holding Actor was lost")  # as Dask raises it
            monkeypatch.setattr(future, "result", lambda timeout: (_ for _ in ()).throw(error))
        return future

    monkeypatch.setattr(client, "submit", lost)
    the_same(expected, made("regression").fit(dask.distribute(parts[0], client)))
    assert submitted


def test_lost_workers_are_named(parts, monkeypatch):
    monkeypatch.setattr("directrank.apps.clusters.clusters.PATIENCE", 1.0)
    with cluster(1) as client:
        remote = dask.distribute(parts[0], client)
        client.retire_workers(list(client.nthreads()))
        with pytest.raises(
            MethodError, match=r"no worker is left on tcp://127.*, and none has come within 1 s"
        ):
            made("regression").fit(remote)


def stop_at(number, stopped, monkeypatch):
    """Freeze processes at some call of a fit."""
    from directrank.apps.clusters.placement import DaskWorkers

    answer, calls = DaskWorkers._answer, count(1)

    def frozen(self, placed, future):
        if next(calls) == number:
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
        return answer(self, placed, future)

    monkeypatch.setattr(DaskWorkers, "_answer", frozen)


@pytest.mark.parametrize("call", [10, 60])  # While shards are loaded, and while they are trained on.
def test_a_frozen_worker_changes_nothing(call, parts, processes, pids, monkeypatch):
    here = made("ranksvm").fit(parts[1])
    remote = dask.distribute(parts[1], processes)
    address = sorted(pids)[0]
    # A busy machine can keep a heartbeat back for some seconds.
    monkeypatch.setattr("directrank.apps.clusters.clusters.SILENCE", 8.0)
    stop_at(call, [pids[address]], monkeypatch)
    the_same(here, made("ranksvm").fit(remote))
    assert {each.address for each in remote.source.workers._placed} == set(pids) - {address}


def test_frozen_workers_are_named_and_used_again_when_they_go_on(parts, processes, pids, monkeypatch):
    monkeypatch.setattr("directrank.apps.clusters.clusters.SILENCE", 2.0)
    here = made("ranksvm").fit(parts[1])
    remote = dask.distribute(parts[1], processes)
    with monkeypatch.context() as patch:
        patch.setattr("directrank.apps.clusters.clusters.PATIENCE", 3.0)
        stop_at(60, pids.values(), patch)
        with pytest.raises(MethodError, match=r"2 have sent no heartbeat for 2 s, the first one tcp://127"):
            made("ranksvm").fit(remote)
    for pid in pids.values():
        os.kill(pid, signal.SIGCONT)
    the_same(here, made("ranksvm").fit(remote))


def test_killed_workers_change_nothing():
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills", "2", "--queries", "200"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 other models, 0 hangs" in ended.stdout


def test_the_command_line_trains_on_workers(tmp_path, processes, monkeypatch, capsys):
    lines = [
        f"{(k * 7) % 3} qid:{k // 8} 1:{np.sin(k):.5f} 2:{np.cos(3 * k):.5f} 3:{(k * k) % 11}"
        for k in range(160)
    ]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    running = ["--scheduler", processes.scheduler.address]
    for model, place in (("here.dr", []), ("there.dr", running)):
        assert main(["fit", "regression", "train.txt", "-o", model, *place]) == 0
        assert main(["rank", model, "train.txt", "-o", f"{model}.txt", *place]) == 0
    assert Path("here.dr.txt").read_bytes() == Path("there.dr.txt").read_bytes()
    words = ["compare", "train.txt", "--kfold", "3", "--methods", "regression"]
    command = [sys.executable, "-m", "directrank", *words, "--out", "there", "--scheduler", "local:1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    # As in that process, where no test has made shards small.
    monkeypatch.setattr("directrank.features.shards.SHARD_BYTES", SHARD_BYTES)
    assert main([*words, "--out", "here"]) == 0
    assert Path("here/results.csv").read_bytes() == Path("there/results.csv").read_bytes()
    capsys.readouterr()
    assert main(["fit", "svmmap", "train.txt", "--scheduler", "local:x"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
