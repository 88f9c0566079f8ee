"""Worker processes of a comparison: how they start, how they report, and how they end."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle

from directrank.errors import MethodError
from directrank.plugins.loading import load_sent, to_send

#: Every library that has threads of its own uses one of them within a worker.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS",
    ),
    "1",
)  # fmt: skip
# With `-m` this module would be loaded a second time, beside the one that `directrank.experiments` imports.
COMMAND = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from directrank.experiments.jobs.worker import worker_main; worker_main()"
)


class ProcessDiedError(Exception):
    """A process ended before its work did: it was killed, or ran out of memory."""


class Worker:
    """A Python process that does its share of a plan.

    The process reads its work from its standard input. The parent keeps this pipe open as long as it lives,
    and the process ends with it. The outcome is written to a temporary file, the standard output of the
    process. The process has a session of its own, so that Ctrl-C reaches the parent alone.

    Parameters
    ----------
    work : bytes
        The return value of `serialised`.
    """

    def __init__(self, work: bytes):
        self._work = work
        self._outcome = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(Path(__file__).parents[3])],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=self._outcome,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    def instruct(self) -> None:
        """Send the work, once; this waits until the process reads."""
        assert self._process.stdin is not None
        content = memoryview(self._work)
        with contextlib.suppress(OSError):  # The process has died: `look` finds it.
            while content:
                content = content[self._process.stdin.write(content) :]
        self._work = b""

    def look(self) -> bool:
        """Return whether the process still works.

        Raises
        ------
        ProcessDiedError
            If it ended in the middle of its work.
        Exception
            The error that its work raised.
        """
        if self._process.poll() is None:
            return True
        self._outcome.seek(0)
        try:
            error = pickle.loads(self._outcome.read())
        except (EOFError, pickle.UnpicklingError) as problem:
            raise ProcessDiedError from problem
        if error is not None:
            raise error
        return False

    def end(self) -> None:
        """Kill the process, whatever it is doing: the store stays consistent, and its lease becomes free."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._outcome.close()


def serialised(work: Callable[..., None], *arguments: Any) -> bytes:
    """Return a call of a function in the form in which workers read it."""
    # The search path and the plug-ins come first, because the function's modules are among them.
    return pickle.dumps(sys.path) + pickle.dumps(to_send()) + cloudpickle.dumps((work, *arguments))


def worker_main() -> None:
    """Do what the parent sends, as long as it lives; then write the error that this raised, or None."""
    # The parent alone decides what an interrupt means; it ends this process if need be.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(1), "wb") as outcome:
        os.dup2(2, 1)  # What methods print goes to the standard error.
        outcome.write(_outcome())


def _outcome() -> bytes:
    try:
        with open(0, "rb", closefd=False) as line:
            sys.path[:] = pickle.load(line)
            load_sent(pickle.load(line))
            work, *arguments = pickle.load(line)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        work(*arguments)
    except BaseException as error:
        return _sent(error)
    return pickle.dumps(None)


def _sent(error: BaseException) -> bytes:
    """Return an error in a form that the parent can read, with the traceback as a note."""
    try:
        same = pickle.loads(cloudpickle.dumps(error))
    except Exception:
        same = None
    if not isinstance(same, Exception):
        same = MethodError(f"{type(error).__name__}: {error}")
    where = "".join(traceback.format_exception(error))
    same.add_note(f"In another process:\n{where}")
    return cloudpickle.dumps(same)


def _end_with_parent() -> None:
    # The parent sends no more: its end of the pipe closes when it dies, and this read returns.
    os.read(0, 1)
    # The store is consistent at any moment, and leases of dead processes are free.
    os._exit(1)
