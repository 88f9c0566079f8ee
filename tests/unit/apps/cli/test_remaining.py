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


def test_a_slow_method_says_nothing_of_methods_without_a_time(clock):
    """They take the median time of a fit, 1 s, as often as they have fits: 8 and 40 s."""
    counts = {"auto": 1, "slow": 2, "fast": 2, "usual": 1, "new": 1}
    left = Remaining(counts, {"slow": 1, "fast": 4, "usual": 8, "new": 8, "auto": 40})
    for method, seconds in (("slow", 300.0), ("fast", 2.0), ("usual", 8.0)):
        left.finished({"method": method, "seconds": seconds}, reused=False)
    clock[0] += 310
    assert left.seconds() == pytest.approx(300 + 2 + 8 + 40)


def test_earlier_runs_say_how_long_a_method_takes(clock):
    left = Remaining({"slow": 1, "fast": 3}, {})
    left.finished({"method": "slow", "seconds": 5 * 3600.0}, reused=True)
    assert left.seconds() is None
    for _ in range(3):
        left.finished({"method": "fast", "seconds": 10.0}, reused=False)
        clock[0] += 5  # Two processes: ten seconds of work in five.
    assert left.seconds() == pytest.approx(2.5 * 3600)
    assert str(left) == "about 2 h left"


def test_a_failed_cell_says_nothing_of_its_method(clock):
    left = Remaining({"broken": 2, "fine": 3}, {})
    left.finished({"method": "broken", "seconds": 0.1, "error": {}}, reused=False)
    for _ in range(2):
        left.finished({"method": "fine", "seconds": 9.95}, reused=False)
    clock[0] += 20
    assert left.seconds() == pytest.approx(2 * 9.95)
    for cell in ("broken", "fine"):
        left.finished({"method": cell, "seconds": 1.0}, reused=False)
    assert str(left) == ""
