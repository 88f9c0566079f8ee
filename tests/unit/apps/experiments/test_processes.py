"""Several processes on one comparison: their threads, their number, and what becomes of their errors."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import pytest
from threadpoolctl import threadpool_info

from directrank import compare, make_ranking
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.experiments.run import sweep
from directrank.errors import DataFormatError, MethodError
from directrank.estimators import Regression, methods
from directrank.estimators.methods import Method
from directrank.features import shards
from directrank.solvers import ClosedForm

pytestmark = pytest.mark.heavy


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


@pytest.mark.slow
def test_processes_that_only_die_are_an_error(folder, monkeypatch):
    monkeypatch.setattr(sweep, "processors", lambda: 1)
    monkeypatch.setattr(sweep, "COMMAND", "import os; os._exit(9)")
    with pytest.raises(MethodError, match=r"processes die before they finish anything.*fewer --jobs"):
        compare(folder, "counted", jobs=2, kfold=6)


def applied(function):
    """Return what a worker does that applies a function to what it gets."""
    return function


def answer(function, question=None):
    """Have a process apply a function, and end it."""
    worker = sweep.Worker(sweep.serialised(applied, function))
    try:
        return worker.answer(question)
    finally:
        worker.end()


class TwiceError(Exception):
    """Travels, and cannot be read."""

    def __init__(self, one, two):
        super().__init__(one + two)


def fail_with(error):
    def fail(*_):
        raise error

    return fail


def fail_twice(*_):
    raise TwiceError("a", "b")


@pytest.mark.parametrize(
    ("fail", "kind", "message"),
    [
        (fail_with(MethodError("no label")), MethodError, "no label"),
        (fail_with(DataFormatError("a.txt", 3, 1, "no label")), DataFormatError, "a.txt:3:1: no label"),
        (fail_with(SystemExit("the true reason")), MethodError, "SystemExit: the true reason"),
        (fail_twice, MethodError, "TwiceError: ab"),
    ],
)
def test_what_a_process_raises_is_raised(fail, kind, message):
    """With where it was raised, but for data errors, which name a line; in words, if it could not be read."""
    with pytest.raises(kind, match=message) as caught:
        answer(fail)
    if kind is MethodError:
        assert f"in {fail.__name__}" in caught.value.__notes__[0]


SCRIPT = """
import sys
from directrank import compare
from directrank.estimators import Regression, methods
from directrank.estimators.methods import Method

class Own(Regression):
    pass

methods.METHODS = (Method("own", Own, "is defined in a script", "no paper"),)
print(len(compare(sys.argv[1], "own", jobs=2).cells))
"""


def test_a_script_without_a_guard_uses_processes(folder, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py", folder], capture_output=True, text=True, timeout=300
    )
    assert (done.stdout, done.stderr) == ("3\n", "")


ORPHANS = """
import os, sys, time
import threading
from directrank.apps.experiments.run.sweep import Worker, serialised
workers = [Worker(serialised(lambda: time.sleep)) for _ in range(2)]
threading.Thread(target=workers[0].answer, args=(600,), daemon=True).start()
print(*(each._process.pid for each in workers), flush=True)
time.sleep(1)
os._exit(9)
"""


def test_processes_end_with_their_parent():
    """Whether they have begun to work or still wait for it."""
    parent = subprocess.run([sys.executable, "-c", ORPHANS], capture_output=True, text=True, timeout=300)
    deadline = time.monotonic() + 30
    while any(lives(int(each)) for each in parent.stdout.split()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(lives(int(each)) for each in parent.stdout.split())


def lives(number):
    try:
        os.kill(number, 0)
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_comparison_that_ends_early_leaves_no_process_and_no_thread(folder, monkeypatch):
    """What runs on after it can complain after the last line of a program that was stopped."""
    workers, before = [], threading.enumerate()

    class Known(sweep.Worker):
        def __init__(self, work):
            super().__init__(work)
            workers.append(self)

    def take(self):
        while len(workers) < 2:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "Worker", Known)
    monkeypatch.setattr(sweep, "processors", lambda: 2)
    monkeypatch.setattr(sweep.Processes, "take", take)
    with pytest.raises(KeyboardInterrupt):
        compare(folder, "counted", jobs=2)
    assert threading.enumerate() == before
    assert [worker._process.returncode for worker in workers] == [-signal.SIGKILL] * 2


def test_an_interrupt_of_the_terminal_does_not_reach_processes():
    assert answer(lambda _: (signal.raise_signal(signal.SIGINT), os.getpgid(0)))[1] != os.getpgid(0)
