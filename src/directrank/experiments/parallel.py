"""A sweep by several processes: each works on its own; what joins them is the store."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from directrank.data.shards import processors
from directrank.errors import MethodError
from directrank.experiments.jobs.interrupts import uninterrupted
from directrank.experiments.jobs.store import Store
from directrank.experiments.jobs.worker import ProcessDiedError, Worker, serialised
from directrank.experiments.plan import Observer, Plan
from directrank.experiments.sources import FoldReader
from directrank.experiments.sweep import Sweep

#: Seconds between two looks at what the processes have finished.
LOOK = 0.25


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


def run_share(plan: Plan, folder: Path, since: int) -> None:
    """Do one process's share of a plan.

    Parameters
    ----------
    plan : Plan
    folder : Path
        Of the store.
    since : int
        The store's count of the run that this is a part of.
    """
    store = Store(folder)
    store.since = since
    try:
        Sweep(plan, store, Observer(), FoldReader(), n_threads=1).run()
    finally:
        store.close()


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
        self._work = serialised(run_share, replace(plan, finished={}), self.folder, store.since)
        self._workers: list[Worker] = []
        self._deaths = 0

    def run(self) -> list[dict[str, Any]]:
        for cell in self.plan.cells:
            if cell.key in self.records:
                self.observer.finished(self.records[cell.key], True)
        try:
            while not self._look():
                # Ctrl-C while a process is started would leave half of one.
                with uninterrupted():
                    self._fill()
                # It waits for a process that has begun: all have been started before.
                for worker in self._workers:
                    worker.instruct()
                time.sleep(LOOK)
        finally:
            with uninterrupted():
                for worker in self._workers:
                    worker.end()
        return [self.records[cell.key] for cell in self.plan.cells]

    def _fill(self) -> None:
        for k, worker in enumerate(self._workers):
            self._workers[k] = self._worked(worker)
        # Not before there is something to do: a finished comparison starts no process.
        while len(self._workers) < self.jobs:
            self._workers.append(self._started())

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

    def _worked(self, worker: Worker) -> Worker:
        """Return a worker as it is, or another in its place if it died."""
        try:
            worker.look()
        except ProcessDiedError as error:
            self._deaths += 1
            if self._deaths > 2 * self.jobs + 2:
                problem = "processes die before they finish anything, perhaps of too little memory"
                raise MethodError(f"{problem}; try fewer --jobs") from error
            worker.end()
            return self._started()
        return worker

    def _started(self) -> Worker:
        return Worker(self._work)
