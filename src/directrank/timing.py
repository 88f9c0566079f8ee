"""Where the time of a piece of work goes, and how far it is.

The code marks phases, which are timed while someone profiles, and tells values of the monitor to whoever
watches. Kernels are compiled in between, once; this time is counted apart.
"""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, Token
from threading import Lock
from typing import Any

_current: "ContextVar[Profile | None]" = ContextVar("profile", default=None)
Watcher = Callable[[str, float], None]
_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())

COMPILING = "Compiling kernels (first run only)…"
#: The phase of what is done for a profile alone: it is part of no time, nor are the phases inside it.
FOR_PROFILE = "for the profile"
#: Seconds of compilation after which it is announced.
LONG = 2.0


class Compilation:
    """How long this process has compiled kernels.

    Attributes
    ----------
    announce : callable
        Called once with one line, when compilation has taken more than two seconds.
    """

    def __init__(self) -> None:
        self.announce: Callable[[str], None] = logging.getLogger("directrank").info
        self._lock, self._depth, self._start, self._before, self._is_said = Lock(), 0, 0.0, 0.0, False

    @property
    def seconds(self) -> float:
        """The seconds until now."""
        with self._lock:
            return self._before + (time.perf_counter() - self._start if self._depth else 0.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the block of a ``with`` statement; of blocks inside each other, the outer one."""
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._start = time.perf_counter()
        try:
            yield
        finally:
            total = self.seconds
            with self._lock:
                self._depth -= 1
                if self._depth == 0:
                    self._before = total
            if total > LONG and not self._is_said:
                self._is_said = True
                self.announce(COMPILING)


#: That of this process.
compilation = Compilation()


def seconds_of_work() -> float:
    """Return the seconds of a clock that stands still while kernels are compiled."""
    return time.perf_counter() - compilation.seconds


class Profile:
    """The time of each phase, while the block of a ``with`` statement runs.

    Attributes
    ----------
    seconds : dict of str to float
        Time inside each phase, without the phases inside it. ``other`` is the rest of the block.
    calls : dict of str to int
        How many times each phase was entered.
    total : float
        Seconds of the whole block, without the phase `FOR_PROFILE`.
    facts : dict
        What the code inside found out for the profile.

    Examples
    --------
    >>> with Profile() as profile:
    ...     with phase("reading"):
    ...         pass
    >>> dict(profile.calls)
    {'reading': 1}
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self.total = 0.0
        self.facts: dict[str, Any] = {}
        self._inside: list[float] = []
        self._is_aside = False
        self._token: Token | None = None

    def __enter__(self) -> "Profile":
        self._token = _current.set(self)
        self._inside, self._start = [0.0], time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        elapsed = time.perf_counter() - self._start
        self.total = elapsed - self.seconds.pop(FOR_PROFILE, 0.0)
        self.calls.pop(FOR_PROFILE, None)
        self.seconds["other"] = elapsed - self._inside[0]
        if self._token is not None:
            _current.reset(self._token)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the block of a ``with`` statement, without the phases inside it."""
        self._is_aside = name == FOR_PROFILE
        self._inside.append(0.0)
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.seconds[name] += elapsed - self._inside.pop()
            self.calls[name] += 1
            self._inside[-1] += elapsed
            self._is_aside = False


def phase(name: str) -> AbstractContextManager[None]:
    """Mark a phase of the thread that profiles; elsewhere this does nothing."""
    profile = _current.get()
    return nullcontext() if profile is None or profile._is_aside else profile.phase(name)


def current_profile() -> Profile | None:
    """Return the profile of the block that runs, or None."""
    return _current.get()


@contextmanager
def watching(*watchers: Watcher) -> Iterator[None]:
    """Pass the name of the measure and its value to functions, whenever a fit computes it; or "objective"."""
    token = _watchers.set((*_watchers.get(), *watchers))
    try:
        yield
    finally:
        _watchers.reset(token)


def tell(name: str, value: float) -> None:
    """Tell whoever watches a fit that the monitor, or the objective, has a value.

    Parameters
    ----------
    name : str
        The name of the measure, or ``"objective"``.
    value : float
    """
    for watcher in _watchers.get():
        watcher(name, value)
