"""The work of a comparison: lease, fit, record, until every cell has ended.

Several processes can share this work through one store; each leases what no other has leased.
"""

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from directrank.errors import DataError
from directrank.experiments.cells import assemble, choice, failed_cell
from directrank.experiments.fits import fit_point
from directrank.experiments.jobs.store import NO_COSTS, Finished, Store, Wanted
from directrank.experiments.plan import Fit, Observer, Plan, PlannedCell, refit_of
from directrank.experiments.sources import FoldReader, joined

#: Seconds of work between two commits, approximately; commits must not slow a run down.
COMMIT = 0.25
#: Seconds to wait for cells leased by others; the wait doubles from the shortest to the longest.
SHORTEST_WAIT, LONGEST_WAIT = 0.05, 1.0

Record = dict[str, Any]


class Task(NamedTuple):
    """A fit of a cell, or, without a fit, the last step of the cell: the object of one lease."""

    cell: PlannedCell
    fit: Fit | None = None

    @property
    def key(self) -> str:
        """Key of the record."""
        return (self.fit or self.cell).key

    @property
    def label(self) -> str:
        """Name for people."""
        return (self.fit or self.cell).label

    @property
    def kind(self) -> tuple[str, bool]:
        """Key under which running times are recorded."""
        return self.cell.method.label, self.fit is None


class Sweep:
    """One process's share of a plan.

    Parameters
    ----------
    plan : Plan
    store : Store
    observer : Observer
    reader : FoldReader
    n_threads : int, optional
        Threads of a fit; all processors by default.
    """

    def __init__(
        self, plan: Plan, store: Store, observer: Observer, reader: FoldReader, n_threads: int | None = None
    ):
        self.plan, self.store, self.observer = plan, store, observer
        self.reader, self.n_threads = reader, n_threads
        self._records = dict(plan.finished)
        self._cells = {cell.key for cell in plan.cells}
        #: Records of finished fits, by cell and key, for cells that have not ended.
        self._fits: dict[str, dict[str, Record]] = defaultdict(dict)
        self._seconds: dict[tuple[str, bool], float] = {}
        self._unwritten: list[Finished] = []
        self._committed = time.monotonic()
        self._announced = ""

    def run(self) -> list[Record]:
        """Work until every cell has ended, and return their records in the order of the plan.

        Finished work is saved, also when this is interrupted or raises.
        """
        with self.store.beating():
            try:
                return self._run()
            except BaseException:
                # On a full disk this fails too; the first failure is the one to report.
                with contextlib.suppress(OSError, DataError):
                    self._commit()
                    self.store.release()
                raise

    def _run(self) -> list[Record]:
        for cell in self.plan.cells:
            if cell.key in self._records:
                self.observer.finished(self._records[cell.key], True)
        wait = SHORTEST_WAIT
        while folds := self._unfinished():
            # One fold at a time, because only one is in memory.
            if any(self._work_on(cells) for cells in folds):
                wait = SHORTEST_WAIT
            else:
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
        self._commit()
        return [self._records[cell.key] for cell in self.plan.cells]

    def _unfinished(self) -> list[list[PlannedCell]]:
        left = [cell for cell in self.plan.cells if cell.key not in self._records]
        return [list(cells) for _, cells in groupby(left, key=lambda cell: cell.fold.name)]

    def _work_on(self, cells: Sequence[PlannedCell]) -> bool:
        """Do some of the work on the cells of a fold; return whether there was progress."""
        tasks = {task.key: task for cell in cells for task in self._tasks(cell)}
        wanted = [(task.key, task.label) for task in tasks.values()]
        costs = {task.key: self._seconds.get(task.kind, COMMIT) for task in tasks.values()}
        leased, ended = self._commit(wanted, costs)
        if ended:
            self._load([tasks[key] for key in ended])
        for key in leased:
            self._do(tasks[key])
            if time.monotonic() - self._committed > COMMIT:
                self._commit()
        return bool(leased or ended)

    def _tasks(self, cell: PlannedCell) -> list[Task]:
        """Return the tasks of a cell that can be done now: its fits, then its last fits, then its last step.

        A failed fit ends its cell, because the cell's choice would not be among all points.
        """
        fits = []
        if not _any_failed(self._fits[cell.key].values()):
            fits = self._missing(cell, cell.fits) or self._missing(cell, self._refits(cell))
        return fits or [Task(cell)]

    def _missing(self, cell: PlannedCell, fits: Sequence[Fit]) -> list[Task]:
        return [Task(cell, fit) for fit in fits if fit.key not in self._fits[cell.key]]

    def _refits(self, cell: PlannedCell) -> list[Fit]:
        """Return the last fits of a cell whose other fits are finished."""
        options = self.plan.options
        if not options.refit:
            return []
        chosen = choice(self._outcomes(cell, cell.fits), options)
        return [refit_of(cell, seed, fit["parameters"], options) for seed, fit in chosen.items()]

    def _outcomes(self, cell: PlannedCell, fits: Sequence[Fit]) -> list[Record]:
        return [self._fits[cell.key][fit.key] for fit in fits]

    def _load(self, tasks: Sequence[Task]) -> None:
        """Load the records that other processes, or an earlier run, have finished."""
        known = self.store.outcomes(task.key for task in tasks)
        for task in tasks:
            if task.key not in known:  # damaged in the meantime
                continue
            record = known[task.key][1]
            if task.fit is not None:
                self._fits[task.cell.key][task.key] = record
            elif "fold" in record:
                self._end(task.cell, record)
                self.observer.finished(record, False)
            else:
                self._complete(task.cell, record)

    def _complete(self, cell: PlannedCell, record: Record) -> None:
        """Record a cell whose last step killed its processes: the store has only the error."""
        record = failed_cell(cell.fold, self.reader(cell.fold), cell.method, self.plan.options, [record])
        self._unwritten.append((cell.key, cell.label, "failed", record))
        self._end(cell, record)

    def _do(self, task: Task) -> None:
        started = time.monotonic()
        if task.fit is None:
            record = self._assembled(task.cell)
        else:
            self._announce(task.cell)
            record = self._fits[task.cell.key][task.key] = self._fitted(task.fit)
        self._unwritten.append((task.key, task.label, "failed" if "error" in record else "done", record))
        self._seconds[task.kind] = time.monotonic() - started
        if task.fit is None:
            self._end(task.cell, record)
        else:
            self.observer.fitted()

    def _announce(self, cell: PlannedCell) -> None:
        if cell.key != self._announced:
            self._announced = cell.key
            self.observer.starting(cell.fold.name, cell.method.label, len(cell.fits))

    def _end(self, cell: PlannedCell, record: Record) -> None:
        self._records[cell.key] = record
        self._fits.pop(cell.key, None)

    def _assembled(self, cell: PlannedCell) -> Record:
        options, splits = self.plan.options, self.reader(cell.fold)
        known = list(self._fits[cell.key].values())
        if _any_failed(known):
            return failed_cell(cell.fold, splits, cell.method, options, known)
        fits, refits = self._outcomes(cell, cell.fits), self._outcomes(cell, self._refits(cell))
        return assemble(cell.fold, splits, cell.method, options, fits, refits)

    def _fitted(self, fit: Fit) -> Record:
        train, vali = self.reader(fit.fold)[:2]
        if fit.trained_on != "train":
            train, vali = joined((train, vali)), None
        return fit_point(
            train, vali, fit.method, fit.point, seed=fit.seed, select_by=self.plan.options.select_by,
            n_threads=self.n_threads,
        )  # fmt: skip

    def _commit(self, wanted: Sequence[Wanted] = (), costs: Mapping[str, float] = NO_COSTS):
        """Save unwritten records and lease about `COMMIT` seconds of the wanted work, in one commit."""
        unwritten, self._unwritten = self._unwritten, []
        try:
            found = self.store.exchange(unwritten, wanted, COMMIT, costs) if unwritten or wanted else ([], [])
        except BaseException:
            self._unwritten = unwritten
            raise
        self._committed = time.monotonic()
        for key, _, _, record in unwritten:
            if key in self._cells:
                self.observer.finished(record, False)
        return found


def _any_failed(fits: Iterable[Record]) -> bool:
    return any("error" in fit for fit in fits)
