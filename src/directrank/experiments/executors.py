"""Where the steps of a comparison run: in this process, in others, or on a cluster."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle

from directrank.data.shards import processors
from directrank.errors import MethodError
from directrank.experiments.fits import fit_point
from directrank.experiments.interrupts import uninterrupted
from directrank.experiments.plan import Fit, Observer, Plan
from directrank.experiments.rivals import Rival, without_relevance
from directrank.experiments.sources import FoldReader, FoldSource
from directrank.experiments.store import KILLED, Store
from directrank.experiments.sweep import Sweep
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
    "from directrank.experiments.executors import worker_main; worker_main()"
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


#: Seconds between two queries of the store for finished work.
LOOK = 0.25


def run_in_processes(plan: Plan, store: Store, observer: Observer, jobs: int) -> list[dict[str, Any]]:
    """Work on a plan in processes of one thread each; return the records in the order of the plan.

    There are `jobs` processes, but no more than processors. If a process dies, only its current fit is lost;
    a new process repeats it. A fit that kills two processes is recorded as failed. When the calling process
    ends, in whatever way, its workers end too.

    Raises
    ------
    MethodError
        If processes die one after the other without finishing anything.
    """
    jobs = min(jobs, processors())
    if store.path is not None:
        return _Crew(plan, store, store.path.parent, observer, jobs).run()
    with TemporaryDirectory(prefix="directrank-") as folder, closing(Store(folder)) as shared:
        return _Crew(plan, shared, Path(folder), observer, jobs).run()


def run_share(plan: Plan, folder: Path, since: int) -> None:
    """Do the share of a plan that one process gets.

    Parameters
    ----------
    plan : Plan
    folder : Path
        Of the store.
    since : int
        The number of this run in the store.
    """
    with closing(Store(folder)) as store:
        store.since = since
        Sweep(plan, store, Observer(), FoldReader(), n_threads=1).run()


class _Crew:
    """The processes of a comparison, watched by the process that started them."""

    def __init__(self, plan: Plan, store: Store, folder: Path, observer: Observer, jobs: int):
        self.plan, self.store, self.observer, self.jobs = plan, store, observer, jobs
        self.store.accepts = plan.accepts
        self.records = dict(plan.finished)
        self._left = {cell.key: cell for cell in plan.cells if cell.key not in plan.finished}
        self._unfitted = {fit.key for cell in self._left.values() for fit in cell.fits} - plan.fitted
        self._work = serialised(run_share, replace(plan, finished={}), folder, store.since)
        self._workers: list[Worker] = []
        self._deaths = 0

    def run(self) -> list[dict[str, Any]]:
        try:
            while self._look():
                # An interrupt while a process starts could leave the process behind.
                with uninterrupted():
                    works = self._fill()
                if not works and self._look():
                    raise MethodError(
                        f"all processes are done, but the records of {len(self._left)} cells are missing or "
                        "not as expected: rerun with --jobs 1 (jobs=1 in Python)"
                    )
                # All processes start before the first is instructed, because this waits until it reads.
                for worker in self._workers:
                    worker.instruct()
                time.sleep(LOOK)
        finally:
            with uninterrupted():
                for worker in self._workers:
                    worker.end()
        return [self.records[cell.key] for cell in self.plan.cells]

    def _look(self) -> bool:
        """Report progress to the observer; return whether there is work left."""
        fitted = self.store.ended(self._unfitted)
        self._unfitted -= fitted
        for _ in fitted:
            self.observer.fitted()
        for key, record in self.store.outcomes(self._left).items():
            # If processes died at the last step of a cell, the next process to find the cell completes it.
            if "fold" in record:
                self._deaths, self.records[key] = 0, record
                cell = self._left.pop(key)
                for _ in range(self.plan.n_refits(cell)):
                    self.observer.fitted()
                self.observer.finished(record, False)
        self._deaths = 0 if fitted else self._deaths
        return bool(self._left)

    def _fill(self) -> bool:
        """Replace the processes that died, and start those that are missing; return whether one works."""
        works = len(self._workers) < self.jobs
        for worker in list(self._workers):
            try:
                works |= worker.look()
            except ProcessDiedError as error:
                self._deaths += 1
                if self._deaths > 2 * self.jobs + 2:
                    problem = "processes die before they finish anything, perhaps of too little memory"
                    raise MethodError(f"{problem}; try fewer --jobs") from error
                worker.end()
                self._workers.remove(worker)
                works = True
        # Processes start here and not at first, so that a finished comparison starts none.
        while len(self._workers) < self.jobs:
            self._workers.append(Worker(self._work))
        return works


#: Readers of this process, when it is a worker: one for each comparison, and the last comparison only.
_READERS: dict[str, FoldReader] = {}
_lock = threading.Lock()


def fit_in_tasks(plan: Plan, store: Store, observer: Observer) -> None:
    """Make the missing fits of a plan with a scheduler, one task each; store their records as they end.

    What is left of the plan needs these records only. Last fits are not among them, because they depend on
    the others.
    """
    if plan.options.scheduler is None:
        return
    from directrank.integrations.dask import connect

    cells = [cell for cell in plan.cells if cell.key not in plan.finished]
    fits = {fit.key: fit for cell in cells for fit in cell.fits if fit.key not in plan.fitted}
    with connect(plan.options.scheduler) as client, store.beating():
        taken, _ = store.exchange([], [(key, fit.label) for key, fit in fits.items()])
        try:
            _gather(client, [fits[key] for key in taken], plan, store, observer)
        finally:
            store.release()


def _gather(client: Any, fits: Sequence[Fit], plan: Plan, store: Store, observer: Observer) -> None:
    from distributed import KilledWorker, as_completed

    run, sent = uuid.uuid4().hex, to_send()
    folds = {fold.name: client.scatter(fold, hash=False) for fold in plan.folds}
    tasks = {
        client.submit(_fitted, folds[fit.fold.name], fit, plan.options.select_by, run, sent, pure=False): fit
        for fit in fits
    }
    for task in as_completed(tasks):
        fit = tasks[task]
        try:
            record = task.result()
        except KilledWorker:
            record = {"error": {"type": "ProcessDied", "message": KILLED, "traceback": ""}, "warnings": {}}
        store.exchange([(fit.key, fit.label, "failed" if "error" in record else "done", record)])
        observer.fitted()


def _fitted(fold: FoldSource, fit: Fit, select_by: Any, run: str, sent: Any) -> dict[str, Any]:
    """Make a fit in a worker, on one thread."""
    with _lock:
        if run not in _READERS:
            load_sent(sent)
            _READERS.clear()
            _READERS[run] = FoldReader()
        train, vali, test = _READERS[run](fold)
    to_score = without_relevance(test) if isinstance(fit.method, Rival) else None
    return fit_point(train, vali, to_score, fit, select_by, 1)
