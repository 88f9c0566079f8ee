"""The work of a comparison: from the fits that are missing to the record of every cell, saved as they end."""

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from directrank.errors import DataError
from directrank.experiments.cells import assemble, choice
from directrank.experiments.fits import fit_point, judged
from directrank.experiments.plan import Fit, Observer, Plan, PlannedCell, tested_fits
from directrank.experiments.records import Cell, FailedCell, Failure, FitRecord, Problem
from directrank.experiments.rivals import without_relevance
from directrank.experiments.sources import FoldReader, Splits
from directrank.experiments.store import Store
from directrank.storage.typed_json import encode

#: Seconds of work between two commits, approximately; commits must not slow a run down.
COMMIT = 0.25

#: What a step makes: the record of a fit, or of the cell.
Made = FitRecord | Failure | Cell | FailedCell


class Step(NamedTuple):
    """A fit of a cell; or, where `key` is the cell's, its last step, with the records of all fits."""

    cell: str
    key: str
    fits: Sequence[FitRecord | Failure] = ()
    refits: Sequence[FitRecord | Failure] = ()


#: A step and its record.
Outcome = tuple[Step, Made]


class Executor(Protocol):
    """Makes steps, of which `room` can be started at a time."""

    room: int

    @property
    def waits(self) -> bool:
        """Whether `take` would wait for others."""
        ...

    def start(self, step: Step) -> None:
        """Start a step."""
        ...

    def take(self) -> Outcome:
        """Return a step that has ended, with its record; this waits for one."""
        ...


def perform(plan: Plan, step: Step, splits: Splits, n_threads: int | None = None) -> Made:
    """Make a step: a fit, or the choice among the fits of a cell and its test."""
    if step.key == step.cell:
        return assemble(plan, plan.cell(step.cell), splits, step.fits, step.refits)
    fit = plan.fit(step.key)
    test = without_relevance(splits.test) if fit.method.stores_scores else None
    return fit_point(splits.train, splits.vali, test, fit, plan.options.select_by, n_threads)


def killed(times: int) -> Failure:
    """Return the record of a step whose processes died."""
    message = f"the process that worked on it died {times} times (killed, out of memory or crashed)"
    problem = Problem(type="ProcessDied", message=message, traceback="", parameters={})
    return Failure(error=problem, warnings={})


@dataclass
class _Open:
    """A cell that is being worked on: the records of its fits, and the steps that have not ended."""

    cell: PlannedCell
    records: dict[str, FitRecord | Failure] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    refits: Sequence[Fit] = ()

    def known(self, fits: Sequence[Fit]) -> list[FitRecord | Failure]:
        return [self.records[fit.key] for fit in fits if fit.key in self.records]

    @property
    def failed(self) -> bool:
        return any(isinstance(record, Failure) for record in self.records.values())


class Sweep:
    """The work on a plan."""

    def __init__(self, plan: Plan, store: Store, observer: Observer, executor: Executor, reader: FoldReader):
        self.plan, self.store, self.observer = plan, store, observer
        self.executor, self.reader = executor, reader
        #: Records of cells that have ended.
        self._ended: dict[str, Cell | FailedCell] = dict(plan.finished)
        self._open: dict[str, _Open] = {}
        self._ready: deque[Step] = deque()
        self._unwritten: list[tuple[str, str, Made]] = []
        self._committed = time.monotonic()

    def run(self) -> list[Cell | FailedCell]:
        """Work until every cell has ended, and return their records in the order of the plan.

        Finished work is saved, also when this is interrupted or raises.
        """
        try:
            self._work()
        except BaseException:
            # On a full disk this fails too; the first failure is the one to report.
            with contextlib.suppress(OSError, DataError):
                self._commit()
            raise
        self._commit()
        return [self._ended[cell.key] for cell in self.plan.cells]

    def _work(self) -> None:
        left = deque(cell for cell in self.plan.cells if cell.key not in self._ended)
        running = 0
        while left or self._ready or running:
            while (self._ready or left) and running < self.executor.room:
                if self._ready:
                    self.executor.start(self._ready.popleft())
                    running += 1
                else:
                    self._begin(left.popleft())
            if running:
                if self.executor.waits or time.monotonic() - self._committed > COMMIT:
                    self._commit()
                step, record = self.executor.take()
                running -= 1
                self._finish(step, record)

    def _begin(self, cell: PlannedCell) -> None:
        self._open[cell.key] = _Open(cell)
        self._want(self._open[cell.key], cell.fits)

    def _want(self, state: _Open, fits: Sequence[Fit]) -> None:
        """Take fits of a cell from the store, and have those made that are not there."""
        records = self.store.records(fit.key for fit in fits)
        for fit in fits:
            if fit.key in records:
                select_by = self.plan.options.select_by
                state.records[fit.key] = judged(records[fit.key], fit, self.reader, select_by)
        missing = [] if state.failed else [fit.key for fit in fits if fit.key not in state.records]
        state.pending.update(missing)
        self._ready.extend(Step(state.cell.key, key) for key in missing)
        if not missing:
            self._advance(state)

    def _advance(self, state: _Open) -> None:
        """Go on with a cell none of whose steps is left: with its last fits, or its last step."""
        cell, options = state.cell, self.plan.options
        fits = state.known(cell.fits)
        if options.refit and not state.refits and not state.failed:
            chosen = choice([fit for fit in fits if isinstance(fit, FitRecord)])
            points = {seed: fit.parameters for seed, fit in chosen.items()}
            state.refits = tested_fits(cell, points, options)
            self._want(state, state.refits)
        else:
            # Before anything of another fold, because only one is in memory.
            self._ready.appendleft(Step(cell.key, cell.key, fits, state.known(state.refits)))

    def _finish(self, step: Step, record: Made) -> None:
        state = self._open[step.cell]
        if step.key == step.cell:
            if isinstance(record, FitRecord | Failure):  # the last step has killed its processes
                record = assemble(self.plan, state.cell, self.reader(state.cell.fold), [record])
            self._unwritten.append((step.key, state.cell.label, record))
            self._ended[step.key] = record
            del self._open[step.key]
            self._commit()
            return
        assert isinstance(record, FitRecord | Failure)
        state.records[step.key] = record
        self._unwritten.append((step.key, self.plan.fit(step.key).label, record))
        self.observer.fitted()
        state.pending.discard(step.key)
        if state.failed:
            dropped = {each.key for each in self._ready if each.cell == step.cell}
            self._ready = deque(each for each in self._ready if each.cell != step.cell)
            state.pending -= dropped
        if not state.pending:
            self._advance(state)

    def _commit(self) -> None:
        """Save the records of what has ended; failures are not saved, so that a rerun tries them again."""
        unwritten, self._unwritten = self._unwritten, []
        done = [row for row in unwritten if isinstance(row[2], FitRecord | Cell)]
        if done:
            self.store.save(done)
        self._committed = time.monotonic()
        for _, _, record in unwritten:
            if isinstance(record, Cell | FailedCell):
                self.observer.finished(encode(record), False)
