"""External estimators in environments of their own: what is missing is said, and a worker times itself."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import environments
from benchmarks.case import NotMeasuredError, Seconds
from benchmarks.environments import worker

WORKERS = Path(environments.__file__).parent / "workers"
FAKE = """
import protocol

def prepare(arrays):
    print("noise between the answers")
    if arrays["numbers"][0] < 0:
        raise ValueError("a negative number")
    return lambda: arrays["numbers"].sum(), lambda total: {"sum": float(total)}

protocol.serve(prepare)
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A worker that needs no environment."""
    (tmp_path / "workers").mkdir()
    shutil.copy(WORKERS / "protocol.py", tmp_path / "workers")
    (tmp_path / "workers" / "fake_worker.py").write_text(FAKE)
    monkeypatch.setattr(worker, "HERE", tmp_path)
    monkeypatch.setattr(worker, "python_of", lambda name: sys.executable)


def test_a_worker_reads_arrays_says_what_it_found_and_times_itself(fake):
    one = worker.Worker("fake", {"numbers": np.arange(4.0)})
    assert one.found == {"sum": 6.0}
    times = [one() for _ in range(3)]
    assert all(isinstance(each, Seconds) and each >= 0 for each in times)
    process = one._process
    del one
    assert process.poll() is not None


def test_a_worker_that_fails_says_why(fake):
    with pytest.raises(RuntimeError, match="ValueError: a negative number"):
        worker.Worker("fake", {"numbers": np.array([-1.0])})


def test_what_cannot_be_installed_is_not_measured_and_says_why(tmp_path, monkeypatch):
    def fails(command, **options):
        raise subprocess.CalledProcessError(1, command, stderr="trying\nERROR: No matching distribution\n")

    monkeypatch.setattr(environments.venv, "create", lambda *_, **__: None)
    monkeypatch.setattr(environments.subprocess, "run", fails)
    monkeypatch.setattr(environments, "_folder", None)
    lines = []
    environments.use(tmp_path, lines.append)
    assert len(lines) == len(environments.NAMES)
    with pytest.raises(NotMeasuredError, match="no environment of rax: ERROR: No matching distribution"):
        environments.python_of("rax")


def test_an_environment_is_complete_until_its_requirements_change(tmp_path, monkeypatch):
    monkeypatch.setattr(environments.venv, "create", lambda *_, **__: None)
    monkeypatch.setattr(environments.subprocess, "run", lambda *_, **__: None)
    monkeypatch.setattr(environments, "_folder", None)
    environments.use(tmp_path, lambda line: None)
    assert environments.python_of("rax").is_relative_to(tmp_path / "rax")
    lines = []
    environments.use(tmp_path, lines.append)
    assert not lines
    monkeypatch.setattr(environments, "_digest", lambda requirements: "other")
    with pytest.raises(NotMeasuredError, match="run with --environments"):
        environments.python_of("rax")


def test_every_environment_pins_versions_and_has_a_worker():
    assert {"tensorflow-ranking", "rax", "allrank", "fastrank", "ranx"} == set(environments.NAMES)
    for name in environments.NAMES:
        assert (WORKERS / f"{name.replace('-', '_')}_worker.py").is_file()
        assert all(environments.pinned_versions(name).values())
