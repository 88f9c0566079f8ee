"""A sweep by several processes: each works on its own; what joins them is the store."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from directrank.data.shards import processors
from directrank.errors import MethodError
from directrank.experiments.observer import Observer
from directrank.experiments.plan import Plan
from directrank.experiments.store import Store
from directrank.experiments.sweep import PartsOf, Sweep

#: Seconds between two looks at what the processes have finished.
LOOK = 0.25
#: Threads of every library that has its own, within a process; our own keep to the first.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS",
    ),
    "1",
)  # fmt: skip


def run_in_processes(plan: Plan, store: Store, observer: Observer, jobs: int) -> list[dict[str, Any]]:
    """Work on a plan in processes of one thread each; return the records in the order of the plan.

    There are `jobs` of them, or as many as there are processors if that is less. A process that dies takes
    down nothing but the fit it was at: another takes its place, and its fit, once more. A fit that kills two
    is recorded as failed. When the process that called this ends, however it does, the others end too.

    Raises
    ------
    MethodError
        If processes die one after the other and nothing gets finished.
    """
    jobs = min(jobs, processors())
    if store.path is not None:
        return _Crew(plan, store, observer, jobs).run()
    with tempfile.TemporaryDirectory(prefix="directrank-") as folder:
        shared = Store(folder)
        try:
            return _Crew(plan, shared, observer, jobs).run()
        finally:
            shared.close()


def share(plan: Plan, folder: Path, since: int, parent: int) -> None:
    """Do one process's share of a plan, as long as its parent lives."""
    # Ctrl-C reaches every process of a terminal: the parent decides, and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    store = Store(folder)
    store.since = since
    try:
        Sweep(plan, store, Observer(), PartsOf(), n_threads=1).run()
    finally:
        store.close()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    # As if killed: what is in the store is whole, and leases of the dead are free.
    os._exit(1)


class _Crew:
    """The processes of a sweep, watched by the one that started them."""

    def __init__(self, plan: Plan, store: Store, observer: Observer, jobs: int):
        assert store.path is not None
        self.plan, self.store, self.observer, self.jobs = plan, store, observer, jobs
        self.folder = store.path.parent
        self.records = dict(plan.finished)
        self._unfitted = {
            fit.key for cell in plan.cells if cell.key not in self.records for fit in cell.fits
        } - plan.fitted
        self._n_refits = {cell.key: cell.n_refits for cell in plan.cells}
        self._members: list[tuple[Any, Future]] = []
        self._deaths = 0

    def run(self) -> list[dict[str, Any]]:
        for cell in self.plan.cells:
            if cell.key in self.records:
                self.observer.finished(self.records[cell.key], True)
        try:
            while not self._look():
                self._members = [self._replaced(*member) for member in self._members]
                # Not before there is something to do: a finished comparison starts no process.
                while len(self._members) < self.jobs:
                    self._members.append(self._started())
                time.sleep(LOOK)
        finally:
            for executor, _ in self._members:
                executor.shutdown(wait=True, kill_workers=True)
        return [self.records[cell.key] for cell in self.plan.cells]

    def _look(self) -> bool:
        """Tell the observer what is new; whether every cell has ended."""
        fitted = self.store.ended(self._unfitted)
        self._unfitted -= fitted
        for _ in fitted:
            self.observer.fitted()
        left = [cell.key for cell in self.plan.cells if cell.key not in self.records]
        # A cell at whose last step processes died is completed by the process that finds it.
        ended = {key: each for key, each in self.store.outcomes(left).items() if "fold" in each[1]}
        for key, (_, record) in ended.items():
            self.records[key] = record
            for _ in range(self._n_refits[key]):
                self.observer.fitted()
            self.observer.finished(record, False)
        self._deaths = 0 if fitted or ended else self._deaths
        return len(ended) == len(left)

    def _started(self) -> tuple[Any, Future]:
        from joblib.externals.loky import ProcessPoolExecutor

        # One process in each: in a larger pool the death of one ends all.
        executor = ProcessPoolExecutor(max_workers=1, env={**ONE_THREAD, "PYTHONPATH": _path()})
        task: Callable = share
        plan = replace(self.plan, finished={})
        return executor, executor.submit(task, plan, self.folder, self.store.since, os.getpid())

    def _replaced(self, executor: Any, future: Future) -> tuple[Any, Future]:
        """Return a member as it is, or another in its place if it died."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        if not future.done():
            return executor, future
        try:
            future.result()
        except BrokenProcessPool as error:
            self._deaths += 1
            if self._deaths > 2 * self.jobs + 2:
                problem = "processes die before they finish anything, perhaps of too little memory"
                raise MethodError(f"{problem}; try fewer --jobs") from error
            executor.shutdown(wait=False, kill_workers=True)
            return self._started()
        return executor, future


def _path() -> str:
    # Where this package was found, for processes that start afresh.
    here = str(Path(__file__).parents[2])
    return os.pathsep.join(dict.fromkeys([here, *filter(None, [os.environ.get("PYTHONPATH")])]))
