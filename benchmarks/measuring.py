"""Timing a case: warm-up apart, work and yardstick in turn, and a guard against noise."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.case import Case, Figure, Work

CLOCKS = {"processor": time.process_time, "elapsed": time.perf_counter, "memory": time.perf_counter}
#: A shorter piece of work is repeated until it takes so long.
LEAST_SECONDS = 0.01
#: Bounds of noise: on the spread of ratios, and on how much longer the calibration loop took than at best.
MOST_SPREAD, MOST_DRIFT = 0.15, 0.15
CALIBRATION = bytes(2**18)
CALIBRATION_ROUNDS = 40


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes
    ----------
    repetitions : int
        Of the work and the yardstick in turn.
    seconds : float
        After so many seconds no further repetition begins, but there are at least `fewest`.
    fewest : int
    attempts : int
        At most so many times a case is measured until it is calm, unless that takes long.
    """

    repetitions: int = 15
    seconds: float = 3.0
    fewest: int = 3
    attempts: int = 3


QUICK = Effort(repetitions=3, seconds=0.5, fewest=2, attempts=1)


@dataclass(frozen=True)
class Measurement:
    """The times of one attempt, a pair a repetition, and how disturbed it was.

    Attributes
    ----------
    ours, theirs : ndarray
        Seconds.
    drift : float
        By how much the calibration loop took longer, before or after, than ever in this process.
    """

    faster: bool
    ours: np.ndarray
    theirs: np.ndarray
    drift: float

    @property
    def ratio(self) -> float:
        """The ratio of the least times."""
        return self._ratio(self.ours.min(), self.theirs.min())

    @property
    def quartiles(self) -> tuple[float, float]:
        """The quartiles of the ratios of pairs."""
        low, high = np.quantile(self._ratio(self.ours, self.theirs), [0.25, 0.75])
        return float(low), float(high)

    @property
    def spread(self) -> float:
        """The distance of the quartiles, as a part of the median."""
        low, high = self.quartiles
        return (high - low) / float(np.median(self._ratio(self.ours, self.theirs)))

    @property
    def noisy(self) -> bool:
        """Whether the machine was too busy for the ratio to be believed."""
        return self.spread > MOST_SPREAD or self.drift > MOST_DRIFT

    def _ratio(self, ours, theirs):
        return theirs / ours if self.faster else ours / theirs


class Calibration:
    """A loop that is always the same: when it takes longer than at best, something else runs."""

    def __init__(self):
        self.least = min(self._seconds() for _ in range(5))

    def _seconds(self) -> float:
        """Return how long the loop takes once, by the clock on the wall."""
        started = time.perf_counter()
        for _ in range(CALIBRATION_ROUNDS):
            hashlib.sha256(CALIBRATION).digest()
        return time.perf_counter() - started

    def drift(self) -> float:
        """Return by which part the loop takes longer now, the median of three, than it ever did."""
        now = sorted(self._seconds() for _ in range(3))
        self.least = min(self.least, now[0])
        return now[1] / self.least - 1.0


def measure(case: Case, effort: Effort, calibration: Calibration) -> Measurement:
    """Prepare a case, warm it up, and measure it until it is calm; return the calmest attempt."""
    work, yardstick = case.prepare()
    clock = CLOCKS[case.clock]
    bursts = [_burst(each, clock) for each in (work, yardstick)]
    attempts: list[Measurement] = []
    started = time.perf_counter()
    for _ in range(effort.attempts):
        before = calibration.drift()
        ours, theirs = _in_turn(bursts, effort)
        drift = max(before, calibration.drift())
        attempts.append(Measurement(case.faster, ours, theirs, drift))
        if not attempts[-1].noisy or time.perf_counter() - started > effort.attempts * effort.seconds:
            break
    return min(attempts, key=lambda each: max(each.spread, each.drift))


def _in_turn(bursts: list[Callable[[], float]], effort: Effort) -> np.ndarray:
    """Return the seconds of each of two pieces of work by repetition."""
    started, times = time.perf_counter(), []
    for repetition in range(effort.repetitions):
        if repetition >= effort.fewest and time.perf_counter() - started > effort.seconds:
            break
        times.append([burst() for burst in bursts])
    return np.array(times).T


def _burst(work: Work, clock: Callable[[], float]) -> Callable[[], float]:
    """Warm a piece of work up; return a function that does it some times and returns the mean seconds."""
    work()
    calls = max(1, round(LEAST_SECONDS / max(_timed(work, clock, 1), 1e-7)))
    return lambda: _timed(work, clock, calls)


def _timed(work: Work, clock: Callable[[], float], calls: int) -> float:
    own, started = 0.0, clock()
    for _ in range(calls):
        found = work()
        if isinstance(found, Figure):
            own += found
    return max(own or clock() - started, 1e-9) / calls
