"""The form of a measurement: work and yardstick in turn, warm-up apart, noise seen."""

import numpy as np

from benchmarks.case import Case, Figure
from benchmarks.measuring import Effort, Measurement, measure


class Still:
    """A calibration loop that nothing disturbs, or that is disturbed so many times."""

    def __init__(self, *drifts):
        self.drifts = list(drifts)

    def drift(self):
        return self.drifts.pop(0) if self.drifts else 0.0


def timed(seconds, name, order):
    """Return work that says that it took some seconds, and writes down that it ran."""
    given = iter(seconds)

    def work():
        order.append(name)
        return Figure(next(given))

    return work


def case_of(ours, theirs, order, faster=True):
    return Case("topic/one", "", "", lambda: (timed(ours, "a", order), timed(theirs, "b", order)), faster)


def test_the_first_calls_are_no_part_of_the_ratio_and_the_rest_takes_turns():
    order = []
    # One call warms up, one tells how often to repeat.
    case = case_of([90, 80, 2, 4, 3], [90, 80, 8, 6, 12], order)
    found = measure(case, Effort(repetitions=3, attempts=1), Still())
    assert order == ["a", "a", "b", "b", *"ababab"]
    assert found.ratio == 6 / 2
    assert list(found.ours) == [2, 4, 3]


def test_ratios_that_scatter_and_a_slow_calibration_loop_are_noise():
    even, uneven = np.ones(4), np.array([1.0, 2.0, 1.0, 2.0])
    assert Measurement(True, even, uneven, 0.0).noisy
    assert Measurement(True, even, even, 0.5).noisy


def test_a_disturbed_case_is_repeated_and_the_calmest_attempt_counts():
    order = []
    case = case_of([1.0] * 8, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0], order)
    effort = Effort(repetitions=2, attempts=3)
    assert measure(case, effort, Still(0.9, 0.0, 0.2, 0.0, 0.5)).ratio == 3.0
