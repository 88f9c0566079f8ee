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
    left = Remaining({"slow": 2, "fast": 2}, {})
    for method, seconds in (("slow", 300.0), ("fast", 2.0)):
        left.finished({"method": method, "seconds": seconds}, reused=False)
    clock[0] += 302
    # Two cells say too little.
    assert left.seconds() is None
    assert str(left) == ""
    left.finished({"method": "fast", "seconds": 2.0}, reused=False)
    clock[0] += 2
    assert left.seconds() == pytest.approx(300)
    assert str(left) == "about 5 min left"


def test_earlier_runs_say_how_long_a_method_takes(clock):
    left = Remaining({"slow": 1, "fast": 3}, {})
    left.finished({"method": "slow", "seconds": 5 * 3600.0}, reused=True)
    assert left.seconds() is None
    for _ in range(3):
        left.finished({"method": "fast", "seconds": 10.0}, reused=False)
        clock[0] += 5  # Two processes: ten seconds of work in five.
    assert left.seconds() == pytest.approx(2.5 * 3600)
    assert str(left) == "about 2 h left"
