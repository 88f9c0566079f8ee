"""One process of a sweep: how it is started, what becomes of it, and that nothing of it is left."""

import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from directrank.errors import MethodError

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
    work : bytes
        What `serialised` returns.
    """

    def __init__(self, work: bytes):
        from joblib.externals.loky.backend import get_context

        # Loky's processes start without the caller's script, which may have no guard against being run again.
        context: Any = get_context("loky")
        self._work, self._done = work, False
        self._line, other_end = context.Pipe()
        environment = {**ONE_THREAD, "PYTHONPATH": _path()}
        self._process = context.Process(target=worker_main, args=(other_end, os.getpid()), env=environment)
        with _no_interrupt_inherited():
            self._process.start()
        other_end.close()

    def instruct(self) -> None:
        """Tell it what to do, once; this waits until it can listen."""
        # Not with its arguments: for one that dies before it has read many of them, start() waits for ever.
        with contextlib.suppress(OSError):
            if self._work:
                self._line.send_bytes(self._work)
        self._work = b""

    def look(self) -> None:
        """Find out what has become of it.

        Raises
        ------
        ProcessDiedError
            If it ended in the middle of its work.
        Exception
            What its work raised.
        """
        try:
            if self._done or not self._line.poll():
                return
            error = self._line.recv()
        except (EOFError, OSError) as problem:
            raise ProcessDiedError from problem
        if error is not None:
            raise error
        self._done = True

    def end(self) -> None:
        """End it, whatever it is at: what is in the store is whole, and its lease is free."""
        if self._process.is_alive():
            with contextlib.suppress(OSError):  # it has just ended
                os.kill(self._process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.join()
        self._line.close()


def serialised(work: Callable[..., None], *arguments: Any) -> bytes:
    """Return a call of a module's function in a form that can be sent to processes."""
    from joblib.externals.loky.backend.reduction import dumps

    return bytes(dumps((work, *arguments)))


def worker_main(line: Connection, parent: int) -> None:
    """Do what the parent sends, as long as it lives, and send back what that raised, or None."""
    # Ctrl-C reaches every process of a terminal: the parent decides, and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    outcome = None
    try:
        work, *arguments = line.recv()
        work(*arguments)
    except BaseException as error:
        outcome = _sent(error)
    # A parent that has died asks no more.
    with contextlib.suppress(OSError):
        line.send(outcome)


def _sent(error: BaseException) -> Exception:
    """Return an error as another process can read it, with where it was raised."""
    form: Any = ForkingPickler
    try:
        same = form.loads(form.dumps(error))
    except Exception:
        same = None
    if not isinstance(same, Exception):
        same = MethodError(f"{type(error).__name__}: {error}")
    where = "".join(traceback.format_exception(error))
    same.add_note(f"In another process:\n{where}")
    return same


@contextlib.contextmanager
def _no_interrupt_inherited() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach before they have said how to take it."""
    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Helper processes let signals in again when they are started: let that be before.
    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
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
    here = str(Path(__file__).parents[3])
    return os.pathsep.join(dict.fromkeys([here, *filter(None, [os.environ.get("PYTHONPATH")])]))
