"""Several processes on one comparison: their threads, their number, and what becomes of their errors."""

import os
import signal
import sys
import threading
import time
import types

import numba
import pytest
from threadpoolctl import threadpool_info

from directrank import compare, make_ranking
from directrank.data import shards
from directrank.errors import DataFormatError, MethodError
from directrank.estimators import Regression, methods
from directrank.estimators.methods import Method
from directrank.experiments import parallel, worker
from directrank.experiments.demo import write_folds
from directrank.experiments.store import Store
from directrank.solvers import ClosedForm


class Counted(Regression):
    """Says how many threads each library would use while it is fitted."""

    def fit(self, X, y=None, qid=None, **options):
        super().fit(X, y, qid, **options)
        pools = [pool["num_threads"] for pool in threadpool_info()]
        self.certificate_ = {
            "pools": max(pools),
            "numba": numba.get_num_threads(),
            "ours": self._n_threads(),
            "evaluation": shards.processors(),
            "process": os.getpid(),
        }
        return self


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    fake = Method("counted", Counted, "counts", "no paper", grid={"ridge": (0.0, 1.0)})
    monkeypatch.setattr(methods, "METHODS", (fake,))


@pytest.fixture
def folder(tmp_path):
    write_folds(make_ranking(36, 7, 4, random_state=3), tmp_path / "data")
    return tmp_path / "data"


def test_processes_have_one_thread_each(folder):
    certificates = [cell["training"]["certificate"] for cell in compare(folder, "counted", jobs=2).cells]
    for certificate in certificates:
        assert certificate.pop("process") != os.getpid()
        assert certificate == {"pools": 1, "numba": 1, "ours": 1, "evaluation": 1}


def test_one_process_has_one_thread_for_linear_algebra_beside_its_own(folder, monkeypatch):
    """Within a fit there are threads over shards, so none of BLAS."""
    pools = []

    def solve(self, objective, *arguments):
        pools.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return solution(self, objective, *arguments)

    solution = ClosedForm.solve
    monkeypatch.setattr(ClosedForm, "solve", solve)
    compare(folder, "counted")
    assert pools
    assert set(pools) == {1}


def test_there_are_no_more_processes_than_processors(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(parallel, "processors", lambda: 1)
    compare(folder, "counted", jobs=6, out=tmp_path / "run")
    owners = {row["owner"] for row in Store(tmp_path / "run").log()}
    assert len({owner for owner in owners if f":{os.getpid()}:" not in owner}) == 1


@pytest.mark.parametrize(
    ("environment", "quota", "expected"),
    [
        ({}, "max 100000", 8), ({}, "150000 100000", 1), ({}, "50000 100000", 1), ({}, "300000 100000", 3),
        ({}, None, 8), ({"OMP_NUM_THREADS": "2"}, None, 2), ({"OMP_NUM_THREADS": "99"}, "max 100000", 8),
        ({"OMP_NUM_THREADS": "4,2"}, None, 8), ({"OMP_NUM_THREADS": "0"}, None, 8),
    ],
)  # fmt: skip
def test_processors_are_those_this_process_may_use(tmp_path, monkeypatch, environment, quota, expected):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(shards.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(shards, "QUOTA", tmp_path / "cpu.max")
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota + "\n")
    assert shards.processors() == expected


def test_processes_that_only_die_are_an_error(folder, monkeypatch):
    monkeypatch.setattr(parallel, "processors", lambda: 1)
    monkeypatch.setattr(worker, "share", lambda *_: os._exit(9))
    with pytest.raises(MethodError, match=r"processes die before they finish anything.*fewer --jobs"):
        compare(folder, "counted", jobs=2)


def started(folder) -> worker.Worker:
    return worker.Worker(None, folder, 1)  # pyright: ignore[reportArgumentType]


def test_what_a_process_is_given_up_for_is_known(tmp_path, monkeypatch):
    """Its death, and what it raised, once; a process that is done stays done."""

    def outcome(work):
        monkeypatch.setattr(worker, "share", work)
        process = started(tmp_path)
        try:
            process._line.poll(60)
            process.look()
            process._process.join()
            process.look()
        finally:
            process.end()

    def raising(*_):
        raise MethodError("no label")

    outcome(lambda *_: None)
    with pytest.raises(worker.ProcessDiedError):
        outcome(lambda *_: os._exit(9))
    with pytest.raises(MethodError, match="no label"):
        outcome(raising)


def test_a_process_that_dies_before_it_reads_its_work_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "answer", lambda *_: os._exit(9))
    process = worker.Worker(bytes(1 << 24), tmp_path, 1)  # pyright: ignore[reportArgumentType]
    process._line.poll(60)
    with pytest.raises(worker.ProcessDiedError):
        process.look()
    process.end()


def test_work_that_a_process_cannot_read_is_told(tmp_path):
    """As a measure from a module that only this process can import."""
    module = types.ModuleType("made_up")
    exec("class Lost: pass", module.__dict__)
    sys.modules["made_up"] = module
    try:
        process = worker.Worker(module.Lost(), tmp_path, 1)
    finally:
        del sys.modules["made_up"]
    process._line.poll(60)
    with pytest.raises(ModuleNotFoundError, match="made_up"):
        process.look()
    process.end()


def test_a_process_at_work_needs_no_thread_here_and_can_be_ended(tmp_path, monkeypatch):
    """What runs on after it can complain after the last line of a program that was stopped."""
    monkeypatch.setattr(worker, "share", lambda *_: time.sleep(600))
    before = threading.enumerate()
    process = started(tmp_path)
    process.look()
    assert threading.enumerate() == before
    process.end()
    assert process._process.exitcode == -signal.SIGKILL


def test_an_interrupt_does_not_reach_a_process_that_is_being_started(tmp_path, monkeypatch):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise MethodError("as it should be")

    monkeypatch.setattr(worker, "share", interrupted)
    process = started(tmp_path)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    process._line.poll(60)
    with pytest.raises(MethodError, match="as it should be"):
        process.look()
    process.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_end_of_a_step(number):
    steps = []

    @worker.uninterrupted()
    def step():
        signal.raise_signal(number)
        signal.raise_signal(number)
        steps.append("done")

    def interrupt(*_):
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        with pytest.raises(KeyboardInterrupt):
            step()
        assert steps == ["done"]
        assert {signal.getsignal(each) for each in before} == {interrupt}
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def test_a_line_that_only_a_process_has_read_is_named(folder, tmp_path):
    (folder / "Fold3" / "test.txt").write_text("1 qid:999 1:x\n")
    with pytest.raises(DataFormatError, match=r"Fold3/test\.txt:1:13"):
        compare(folder, "counted", jobs=2, out=tmp_path / "run")
