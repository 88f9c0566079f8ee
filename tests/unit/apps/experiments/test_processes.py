"""Several processes on one comparison: their threads, their number, and what becomes of their errors."""

import os
import signal
import subprocess
import sys
import threading
import time
import types
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


def test_there_are_no_more_processes_than_processors(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "processors", lambda: 1)
    cells = compare(folder, "counted", jobs=6, out=tmp_path / "run").cells
    assert len({cell["training"]["certificate"]["process"] for cell in cells}) == 1


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


def test_a_process_answers_more_than_once():
    worker = sweep.Worker(sweep.serialised(applied, lambda number: (number + 1, os.getpid())))
    answers = [worker.answer(number) for number in (1, 2)]
    worker.end()
    assert [number for number, _ in answers] == [2, 3]
    assert len({process for _, process in answers} - {os.getpid()}) == 1


@pytest.mark.parametrize("code", [9, 0])
def test_the_death_of_a_process_is_known(code):
    """Also when a library ends the process in the middle of a fit as if all was well."""
    with pytest.raises(sweep.ProcessDiedError):
        answer(lambda _: os._exit(code))


class HeldError(Exception):
    """Cannot travel."""

    def __init__(self):
        super().__init__("kept here")
        self.lock = threading.Lock()


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


def test_an_error_that_cannot_travel_is_told_in_words():
    def fail(_):
        raise HeldError

    with pytest.raises(MethodError, match="HeldError: kept here"):
        answer(fail)


def test_a_plan_that_cannot_travel_starts_nothing(folder, monkeypatch):
    class Locked(Regression):
        lock = threading.Lock()

    monkeypatch.setattr(methods, "METHODS", (Method("locked", Locked, "holds a lock", "no paper"),))
    monkeypatch.setattr(sweep.Worker, "__init__", None)
    with pytest.raises(TypeError, match=r"pickle.*lock"):
        compare(folder, "locked", jobs=2)


def test_a_process_that_dies_before_it_reads_its_work_holds_nobody_up(monkeypatch):
    monkeypatch.setattr(sweep, "COMMAND", "import os; os._exit(9)")
    with pytest.raises(sweep.ProcessDiedError):
        answer(len, bytes(1 << 24))


def test_what_a_method_prints_is_no_answer(capfd):
    assert answer(lambda _: print("hello", flush=True)) is None
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "hello\n")


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


def test_work_that_a_process_cannot_read_is_told():
    """As a measure from a module that only this process can import."""
    module = types.ModuleType("made_up")
    exec("class Lost: pass", module.__dict__)
    sys.modules["made_up"] = module
    try:
        work = sweep.serialised(applied, module.Lost())
    finally:
        del sys.modules["made_up"]
    worker = sweep.Worker(work)
    with pytest.raises(ModuleNotFoundError, match="made_up"):
        worker.answer(None)
    worker.end()


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


def test_a_line_that_only_a_process_has_read_is_named(folder, tmp_path):
    (folder / "Fold3" / "test.txt").write_text("1 qid:999 1:x\n")
    with pytest.raises(DataFormatError, match=r"Fold3/test\.txt:1:13"):
        compare(folder, "counted", jobs=2, out=tmp_path / "run")
