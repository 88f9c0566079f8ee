"""The estimate of the time that a comparison still takes."""

import pytest

from directrank.apps.cli import progress
from directrank.apps.cli.progress import Remaining


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set."""
    at = [100.0]
    monkeypatch.setattr(progress, "seconds_of_work", lambda: at[0])
    return at


def test_methods_take_as_long_as_on_other_folds(clock):
    left = Remaining(["slow", "slow", "fast", "fast", "new"])
    assert left.seconds() is None
    assert str(left) == ""
    left.finished({"method": "slow", "seconds": 300.0}, reused=False)
    left.finished({"method": "fast", "seconds": 2.0}, reused=False)
    clock[0] += 302
    assert left.seconds() == pytest.approx(300 + 2 + 151)
    assert str(left) == "about 8 min left"


def test_earlier_runs_say_how_long_a_method_takes(clock):
    left = Remaining(["slow", "fast"])
    left.finished({"method": "slow", "seconds": 5 * 3600.0}, reused=True)
    assert left.seconds() is None
    left.finished({"method": "fast", "seconds": 10.0}, reused=False)
    clock[0] += 5  # Two processes: ten seconds of work in five.
    assert left.seconds() == pytest.approx(2.5 * 3600)
    assert str(left) == "about 2 h left"


def test_a_failed_cell_says_nothing_of_its_method(clock):
    left = Remaining(["broken", "broken", "fine", "fine"])
    left.finished({"method": "broken", "seconds": 0.1, "error": {}}, reused=False)
    left.finished({"method": "fine", "seconds": 9.9}, reused=False)
    clock[0] += 10
    assert left.seconds() == pytest.approx(2 * 9.9)
    for cell in ("broken", "fine"):
        left.finished({"method": cell, "seconds": 1.0}, reused=False)
    assert str(left) == ""
