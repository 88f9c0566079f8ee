"""What a fit says of itself on a terminal."""

from contextlib import contextmanager

import pytest

from directrank.apps.cli import output, progress
from directrank.timing import tell


@pytest.fixture
def lines(monkeypatch):
    """The texts beside the spinner; every look at the clock is two seconds after the last one."""
    texts, clock = [], iter(range(0, 100, 2))

    @contextmanager
    def spinner(text):
        yield texts.append

    monkeypatch.setattr(output, "spinner", spinner)
    monkeypatch.setattr(output, "seconds_of_work", lambda: next(clock))
    return texts


def test_a_fit_says_how_far_it_is_and_the_longest_it_may_take(lines):
    with output.training("training", 3):
        for value in (0.25, 0.5, 0.5, 0.5):
            tell("AP", value)
    assert lines == [
        "iteration 1 of at most 3, AP 0.2500, at most 4 s left",
        "iteration 2 of at most 3, AP 0.5000, at most 2 s left",
        "iteration 3 of at most 3, AP 0.5000, at most 0 s left",
        "iteration 4, AP 0.5000",
    ]


def test_the_bar_of_a_comparison_says_where_a_long_fit_is():
    lines = progress.Lines()
    lines.drawn = True
    with lines:
        lines.starting("Fold1", "auto(AP)", 1)
        for name, value in (("AP", 0.25), ("objective", 3.0)):
            tell(name, value)
        [task] = lines._progress.tasks
        assert task.description == "Fold1 auto(AP): AP 0.2500"
    tell("AP", 0.5)
    assert task.description == "Fold1 auto(AP): AP 0.2500"
