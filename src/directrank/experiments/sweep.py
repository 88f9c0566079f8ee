"""The work of a comparison: lease, fit, record, until every cell has ended.

Any number of processes can do this at once over one store; each takes what nobody has.
"""

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from directrank.data.folds import PARTS
from directrank.errors import DataError
from directrank.experiments.cells import assemble, choice, failed_cell
from directrank.experiments.fits import fit_point
from directrank.experiments.jobs.store import NO_COSTS, Finished, Store, Wanted
from directrank.experiments.plan import Fit, Observer, Plan, PlannedCell, refit_of
from directrank.experiments.sources import FoldSource, Triple, joined

#: Seconds of work between two commits, about; the store is not what a run waits for.
COMMIT = 0.25
#: Seconds to wait for cells that others work on, doubling.
SHORTEST_WAIT, LONGEST_WAIT = 0.05, 1.0


@dataclass(frozen=True)
class Task:
    """A fit, or the last step of a cell: what one lease is for."""

    key: str
    label: str
    cell: PlannedCell
    fit: Fit | None

    @property
    def kind(self) -> tuple[str, bool]:
        """What takes about as long."""
        return self.cell.method.label, self.fit is None


class Sweep:
    """One process's share of a plan.

    Parameters
    ----------
    plan : Plan
    store : Store
    observer : Observer
    parts_of : PartsOf
    n_threads : int, optional
        Threads of a fit; all processors by default.
    """

    def __init__(
        self, plan: Plan, store: Store, observer: Observer, parts_of: "PartsOf", n_threads: int | None = None
    ):
        self.plan, self.store, self.observer = plan, store, observer
        self.parts_of, self.n_threads = parts_of, n_threads
        self._records = dict(plan.finished)
        self._cells = {cell.key for cell in plan.cells}
        #: Of cells in work: what has become of their fits, by key.
        self._fits: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self._seconds: dict[tuple[str, bool], float] = {}
        self._unwritten: list[Finished] = []
        self._committed = time.monotonic()
        self._started = ""

    def run(self) -> list[dict[str, Any]]:
        """Work until every cell has ended, and return their records in the order of the plan.

        However this is left, what has been finished is kept.
        """
        with self.store.beating():
            try:
                return self._run()
            except BaseException:
                # On a full disk this fails as well; the first failure is the one to tell.
                with contextlib.suppress(OSError, DataError):
                    self._commit()
                    self.store.release()
                raise

    def _run(self) -> list[dict[str, Any]]:
        for cell in self.plan.cells:
            if cell.key in self._records:
                self.observer.finished(self._records[cell.key], True)
        wait = SHORTEST_WAIT
        while folds := self._unfinished():
            # A fold at a time: only one is held in memory.
            if any(self._turn(cells) for cells in folds):
                wait = SHORTEST_WAIT
            else:
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
        self._commit()
        return [self._records[cell.key] for cell in self.plan.cells]

    def _unfinished(self) -> list[list[PlannedCell]]:
        left = [cell for cell in self.plan.cells if cell.key not in self._records]
        return [list(cells) for _, cells in groupby(left, key=lambda cell: cell.fold.name)]

    def _turn(self, cells: Sequence[PlannedCell]) -> bool:
        """Do some of the work on the cells of a fold; whether anything was done or learned."""
        tasks = {task.key: task for cell in cells for task in self._tasks(cell)}
        wanted = [(task.key, task.label) for task in tasks.values()]
        costs = {task.key: self._seconds.get(task.kind, COMMIT) for task in tasks.values()}
        taken, ended = self._commit(wanted, costs)
        if ended:
            self._learn([tasks[key] for key in ended])
        for key in taken:
            self._do(tasks[key])
            if time.monotonic() - self._committed > COMMIT:
                self._commit()
        return bool(taken or ended)

    def _tasks(self, cell: PlannedCell) -> list[Task]:
        """Return what can be done for a cell now: fits, then last fits, then the cell itself.

        One fit that failed ends its cell: the others could not make up for it.
        """
        fits = []
        if not _any_failed(self._fits[cell.key].values()):
            fits = self._missing(cell, cell.fits) or self._missing(cell, self._refits(cell))
        return fits or [Task(cell.key, cell.label, cell, None)]

    def _missing(self, cell: PlannedCell, fits: Sequence[Fit]) -> list[Task]:
        known = self._fits[cell.key]
        return [Task(fit.key, fit.label, cell, fit) for fit in fits if fit.key not in known]

    def _refits(self, cell: PlannedCell) -> list[Fit]:
        """Return the last fits of a cell whose fits have all been made."""
        options, fits = self.plan.options, self._outcomes(cell, cell.fits)
        if not options.refit:
            return []
        return [
            refit_of(cell, seed, fit["parameters"], options) for seed, fit in choice(fits, options).items()
        ]

    def _outcomes(self, cell: PlannedCell, fits: Sequence[Fit]) -> list[dict[str, Any]]:
        return [self._fits[cell.key][fit.key] for fit in fits]

    def _learn(self, tasks: Sequence[Task]) -> None:
        """Take in what others have finished, or an earlier run."""
        known = self.store.outcomes(task.key for task in tasks)
        for task in tasks:
            if task.key not in known:  # damaged meanwhile
                continue
            record = known[task.key][1]
            if task.fit is None and "fold" not in record:
                self._complete(task, record)
            elif task.fit is None:
                self._end(task, record)
                self.observer.finished(record, False)
            else:
                self._fits[task.cell.key][task.key] = record

    def _complete(self, task: Task, record: dict[str, Any]) -> None:
        """Record a cell at whose last step processes died: the store knows no more than that."""
        cell = task.cell
        record = failed_cell(cell.fold, self.parts_of(cell.fold), cell.method, self.plan.options, [record])
        self._unwritten.append((task.key, task.label, "failed", record))
        self._end(task, record)

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
            self._end(task, record)
        else:
            self.observer.fitted()

    def _announce(self, cell: PlannedCell) -> None:
        if cell.key != self._started:
            self._started = cell.key
            self.observer.starting(cell.fold.name, cell.method.label, len(cell.fits))

    def _end(self, task: Task, record: dict[str, Any]) -> None:
        self._records[task.key] = record
        self._fits.pop(task.key, None)

    def _assembled(self, cell: PlannedCell) -> dict[str, Any]:
        options, parts = self.plan.options, self.parts_of(cell.fold)
        known = list(self._fits[cell.key].values())
        if _any_failed(known):
            return failed_cell(cell.fold, parts, cell.method, options, known)
        fits, refits = self._outcomes(cell, cell.fits), self._outcomes(cell, self._refits(cell))
        return assemble(cell.fold, parts, cell.method, options, fits, refits)

    def _fitted(self, fit: Fit) -> dict[str, Any]:
        train, vali = self.parts_of(fit.fold)[:2]
        if fit.part != "train":
            train, vali = joined((train, vali)), None
        return fit_point(
            train, vali, fit.method, fit.point, seed=fit.seed, select_by=self.plan.options.select_by,
            n_threads=self.n_threads,
        )  # fmt: skip

    def _commit(self, wanted: Sequence[Wanted] = (), costs: Mapping[str, float] = NO_COSTS):
        """Write what is unwritten and lease what is wanted, for about `COMMIT` seconds of work."""
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


class PartsOf:
    """Reads folds when they are needed and holds one of them in memory."""

    def __init__(self):
        self._name, self._parts = "", None

    def __call__(self, fold: FoldSource) -> Triple:
        """Return train, vali and test of a fold."""
        if self._parts is None or self._name != fold.name:
            self._parts = None  # the old fold goes before the new one comes
            self._name, self._parts = fold.name, _labelled(fold.load())
        return self._parts


def _any_failed(fits: Iterable[dict[str, Any]]) -> bool:
    return any("error" in fit for fit in fits)


def _labelled(parts: Triple) -> Triple:
    for name, part in zip(PARTS, parts, strict=True):
        if not part.labelled:
            raise DataError(
                f"{part.name or name}: has no relevance; a comparison needs it in all three parts"
            )
    return parts
