"""A comparison by several processes, which meet only in the store of results."""

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from directrank.errors import MethodError
from directrank.experiments.jobs.interrupts import uninterrupted
from directrank.experiments.jobs.store import Store
from directrank.experiments.jobs.worker import ProcessDiedError, Worker, serialised
from directrank.experiments.plan import Observer, Plan
from directrank.experiments.sources import FoldReader
from directrank.experiments.sweep import Sweep
from directrank.features.shards import processors

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
