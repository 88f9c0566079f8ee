"""The work of a comparison: lease, fit, record, until every cell has ended.

Several processes can share this work through one store; each leases what no other has leased.
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from directrank.errors import DataError
from directrank.experiments.cells import assemble, choice
from directrank.experiments.fits import fit_point, judged
from directrank.experiments.plan import Fit, Observer, Plan, PlannedCell, refits_of
from directrank.experiments.rivals import Rival, without_relevance
from directrank.experiments.sources import FoldReader
from directrank.experiments.store import Finished, Store, Wanted

#: Seconds of work between two commits, approximately; commits must not slow a run down.
COMMIT = 0.25
#: Seconds to wait for cells leased by others; the wait doubles from the shortest to the longest.
SHORTEST_WAIT, LONGEST_WAIT = 0.05, 1.0

Record = dict[str, Any]
#: The object of one lease: a fit of a cell, or the cell itself for its last step.
Step = Fit | PlannedCell


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
        self.store.accepts = plan.accepts
        self.reader, self.n_threads = reader, n_threads
        #: Records by key: of cells that have ended, and of finished fits of the other cells.
        self._records = dict(plan.finished)
        #: The last running time of a method's fits and of its last steps.
        self._seconds: dict[tuple[str, type], float] = {}
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
        wait = SHORTEST_WAIT
        while left := [cell for cell in self.plan.cells if cell.key not in self._records]:
            # One fold at a time, because only one is in memory.
            folds = [list(cells) for _, cells in groupby(left, key=lambda cell: cell.fold.name)]
            if any(self._work_on(cells) for cells in folds):
                wait = SHORTEST_WAIT
            else:
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
        self._commit()
        return [self._records[cell.key] for cell in self.plan.cells]

    def _work_on(self, cells: Sequence[PlannedCell]) -> bool:
        """Do some of the work on the cells of a fold; return whether there was progress."""
        steps = {step.key: (cell, step) for cell in cells for step in self._next_steps(cell)}
        wanted = [(key, step.label) for key, (_, step) in steps.items()]
        costs = {
            key: self._seconds.get((step.method.label, type(step)), COMMIT)
            for key, (_, step) in steps.items()
        }
        leased, ended = self._commit(wanted, costs)
        # Other processes, or an earlier run, have finished these.
        for key, record in self.store.outcomes(ended).items():
            self._load(*steps[key], record)
        for key in leased:
            self._do(*steps[key])
            if time.monotonic() - self._committed > COMMIT:
                self._commit()
        return bool(leased or ended)

    def _next_steps(self, cell: PlannedCell) -> Sequence[Step]:
        """Return the steps of a cell that can be done now: its fits, its last fits, or its last step."""
        fits, refits = self._fits(cell)
        failed = any("error" in self._records.get(fit.key, ()) for fit in [*fits, *refits])
        missing = [fit for fit in [*fits, *refits] if fit.key not in self._records]
        return [cell] if failed or not missing else missing

    def _fits(self, cell: PlannedCell) -> tuple[Sequence[Fit], Sequence[Fit]]:
        """Return the fits of a cell, and its last fits as soon as the others have chosen their points."""
        records = [self._records.get(fit.key, {}) for fit in cell.fits]
        if not self.plan.options.refit or not all("validation" in each for each in records):
            return cell.fits, ()
        return cell.fits, refits_of(cell, choice(records), self.plan.options)

    def _load(self, cell: PlannedCell, step: Step, record: Record) -> None:
        if isinstance(step, Fit):
            train, vali = self.reader(step.fold)[:2]
            self._records[step.key] = judged(record, step, train, vali, self.plan.options.select_by)
        elif "fold" in record:
            self._end(cell, record)
            self.observer.finished(record, False)
        else:  # The last step killed its processes: the store has only the error.
            splits = self.reader(cell.fold)
            self._finish(cell, cell, assemble(cell, splits, self.plan.options, [record], ()))

    def _do(self, cell: PlannedCell, step: Step) -> None:
        started = time.monotonic()
        if isinstance(step, Fit):
            self._finish(cell, step, self._fitted(cell, step))
            self.observer.fitted()
        else:
            known = [
                [self._records[fit.key] for fit in fits if fit.key in self._records]
                for fits in self._fits(cell)
            ]
            self._finish(cell, cell, assemble(cell, self.reader(cell.fold), self.plan.options, *known))
        self._seconds[step.method.label, type(step)] = time.monotonic() - started

    def _fitted(self, cell: PlannedCell, fit: Fit) -> Record:
        if cell.key != self._announced:
            self._announced = cell.key
            self.observer.starting(cell.fold.name, cell.method.label, len(cell.fits))
        train, vali, test = self.reader(fit.fold)
        to_score = without_relevance(test) if isinstance(fit.method, Rival) else None
        return fit_point(train, vali, to_score, fit, self.plan.options.select_by, self.n_threads)

    def _finish(self, cell: PlannedCell, step: Step, record: Record) -> None:
        self._unwritten.append((step.key, step.label, "failed" if "error" in record else "done", record))
        if step is cell:
            self._end(cell, record)
        else:
            self._records[step.key] = record

    def _end(self, cell: PlannedCell, record: Record) -> None:
        for fit in [*cell.fits, *self._fits(cell)[1]]:
            self._records.pop(fit.key, None)
        self._records[cell.key] = record

    def _commit(self, wanted: Sequence[Wanted] = (), costs: Mapping[str, float] | None = None):
        """Save unwritten records and lease about `COMMIT` seconds of the wanted work, in one commit."""
        found = [], []
        if self._unwritten or wanted:
            found = self.store.exchange(self._unwritten, wanted, COMMIT, costs)
        self._committed = time.monotonic()
        unwritten, self._unwritten = self._unwritten, []
        for _, _, _, record in unwritten:
            if "fold" in record:
                self.observer.finished(record, False)
        return found
