"""One measurement: a piece of work and its yardstick, timed in turn in one process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Work = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A ratio of two times.

    Parameters
    ----------
    name : str
        A stable key, "group/what": records of earlier runs are compared by it.
    what, yardstick : str
        What is timed, and what it is compared with, in words.
    prepare : callable
        Makes the data, and returns the work and the yardstick, two functions without arguments. Neither
        changes what the other reads, and each can be called again and again. It raises `NotMeasuredError`,
        or ImportError, where something is missing that it needs.
    faster : bool
        The ratio is the yardstick's time over ours ("times as fast"), else ours over the yardstick's ("times
        as long").
    target : float, optional
        The ratio that is promised: at least so much if `faster`, else at most.
    clock : {"processor", "elapsed", "memory"}
        Processor time of the process, for work on one thread; elapsed time, for threads and files; or no
        time, but bytes of memory, which are returned as `Figure`.
    """

    name: str
    what: str
    yardstick: str
    prepare: Callable[[], tuple[Work, Work]]
    faster: bool = False
    target: float | None = None
    clock: Literal["processor", "elapsed", "memory"] = "processor"


class Figure(float):
    """What work returns that was measured before or elsewhere: seconds, or bytes; no clock is then read."""


class NotMeasuredError(Exception):
    """Why a case cannot be measured here: what it needs is missing."""
