"""One process of a sweep: how it is started, what becomes of it, and that nothing of it is left."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from directrank.experiments.observer import Observer
from directrank.experiments.plan import Plan
from directrank.experiments.store import Store
from directrank.experiments.sweep import PartsOf, Sweep

#: Seconds between two looks of a process at another.
LOOK = 0.25
#: Threads of every library that has its own, within a process; our own keep to the first.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS",
    ),
    "1",
)  # fmt: skip


class ProcessDiedError(Exception):
    """A process ended before its work did: it was killed, or ran out of memory."""


class Worker:
    """A process that does its share of a plan.

    It is a plain process, not a pool of one: a pool's threads and semaphores can outlive the pool by a
    moment, and when the program ends in that moment, complaints are printed after its last line.

    Parameters
    ----------
    plan : Plan
    folder : Path
        Of the store.
    since : int
        The store's count of the run that this is a part of.
    """

    def __init__(self, plan: Plan, folder: Path, since: int):
        from joblib.externals.loky.backend import get_context
        from joblib.externals.loky.backend.reduction import dumps

        # Loky's processes start without the caller's script, which may have no guard against being run again.
        context: Any = get_context("loky")
        self._line, other_end = context.Pipe()
        environment = {**ONE_THREAD, "PYTHONPATH": _path()}
        self._process = context.Process(target=answer, args=(other_end, os.getpid()), env=environment)
        with _no_interrupt_inherited():
            self._process.start()
        other_end.close()
        self._done = False
        # Not with its arguments: for one that dies before it has read many of them, start() waits for ever.
        with contextlib.suppress(OSError):
            self._line.send_bytes(dumps((share, plan, folder, since)))

    def look(self) -> None:
        """Find out what has become of it.

        Raises
        ------
        ProcessDiedError
            If it ended in the middle of its work.
        Exception
            What its work raised.
        """
        if self._done or not self._line.poll():
            return
        try:
            error = self._line.recv()
        except (EOFError, OSError) as problem:
            raise ProcessDiedError from problem
        if error is not None:
            raise error
        self._done = True

    def end(self) -> None:
        """End it, whatever it is at: what is in the store is whole, and its lease is free."""
        if self._process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.join()
        self._line.close()


def answer(line: Connection, parent: int) -> None:
    """Do what the parent sends, as long as it lives, and send back what that raised, or None."""
    # Ctrl-C reaches every process of a terminal: the parent decides, and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    outcome = None
    try:
        work, *arguments = line.recv()
        work(*arguments)
    except Exception as error:
        outcome = error
    # A parent that has died asks no more.
    with contextlib.suppress(OSError):
        line.send(outcome)


def share(plan: Plan, folder: Path, since: int) -> None:
    """Do one process's share of a plan."""
    store = Store(folder)
    store.since = since
    try:
        Sweep(plan, store, Observer(), PartsOf(), n_threads=1).run()
    finally:
        store.close()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C, and what else ends programs, until a step is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    for each, handler in handlers.items():
        if handler is not None:  # set by another than Python, which could not be put back
            signal.signal(each, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for each, handler in handlers.items():
            if handler is not None:
                signal.signal(each, handler)
        if came:
            signal.raise_signal(came[0])


@contextlib.contextmanager
def _no_interrupt_inherited() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach before they have said how to take it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Python's own helper process lets signals in again when it is started: let that be before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    # As if killed: what is in the store is whole, and leases of the dead are free.
    os._exit(1)


def _path() -> str:
    # Where this package was found, for processes that start afresh.
    here = str(Path(__file__).parents[2])
    return os.pathsep.join(dict.fromkeys([here, *filter(None, [os.environ.get("PYTHONPATH")])]))
