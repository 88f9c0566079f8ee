"""The work of a comparison: lease, fit, record, until every cell has ended.

Any number of processes can do this at once over one store; each takes what nobody has.
"""

import contextlib
import time
from collections.abc import Sequence
from typing import Any

from directrank.data.folds import PARTS
from directrank.errors import DataError
from directrank.experiments.cells import assemble, choice, failed_cell
from directrank.experiments.fits import fit_point
from directrank.experiments.observer import Observer
from directrank.experiments.plan import Fit, Plan, PlannedCell, refit_of
from directrank.experiments.sources import FoldSource, Triple, joined
from directrank.experiments.store import Finished, Store

#: Seconds of work between two commits, at least; the store is not what a run waits for.
COMMIT = 0.25
MOST_LEASES = 64
#: Seconds to wait for cells that others work on, doubling.
SHORTEST_WAIT, LONGEST_WAIT = 0.05, 1.0


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
        self._unwritten: list[Finished] = []
        self._leases, self._committed = 1, time.monotonic()

    def run(self) -> list[dict[str, Any]]:
        """Work until every cell has ended, and return their records in the order of the plan.

        However this is left, what has been finished is kept.
        """
        with self.store.beating():
            try:
                return self._run()
            except BaseException:
                # On a full disk this fails as well; the first failure is the one to tell.
                with contextlib.suppress(OSError):
                    self._commit()
                    self.store.release()
                raise

    def _run(self) -> list[dict[str, Any]]:
        records = dict(self.plan.finished)
        for cell in self.plan.cells:
            if cell.key in records:
                self.observer.finished(records[cell.key], True)
        left, wait = [cell for cell in self.plan.cells if cell.key not in records], SHORTEST_WAIT
        while left:
            ended = len(records)
            for cell in left:
                record = self._work_on(cell)
                if record is not None:
                    records[cell.key] = record
                    self.observer.finished(record, False)
            left = [cell for cell in left if cell.key not in records]
            if left and len(records) == ended:
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
        return [records[cell.key] for cell in self.plan.cells]

    def _work_on(self, cell: PlannedCell) -> dict[str, Any] | None:
        """Return the record of a cell, having done what nobody else does; None while others work on it."""
        known = self.store.outcomes([cell.key])
        if known:
            return known[cell.key][1]
        fits = self._made(cell, cell.fits)
        if fits is None:
            return None
        refits: list[dict[str, Any]] | None = []
        if self.plan.options.refit and not _any_failed(fits):
            chosen = choice(fits, self.plan.options)
            last = [
                refit_of(cell, seed, fit["parameters"], self.plan.options) for seed, fit in chosen.items()
            ]
            refits = self._made(cell, last)
        if refits is None:
            return None
        if self.store.claim([(cell.key, cell.label)]):
            self._assemble(cell, fits, refits)
        known = self.store.outcomes([cell.key])
        return known[cell.key][1] if known else None

    def _assemble(self, cell: PlannedCell, fits, refits) -> None:
        options, parts = self.plan.options, self.parts_of(cell.fold)
        if _any_failed([*fits, *refits]):
            record = failed_cell(cell.fold, parts, cell.method, options, [*fits, *refits])
        else:
            record = assemble(cell.fold, parts, cell.method, options, fits, refits)
        self._keep(cell.key, cell.label, record)
        self._commit()

    def _made(self, cell: PlannedCell, fits: Sequence[Fit]) -> list[dict[str, Any]] | None:
        """Return the records of fits, making those that nobody has; None while others make some."""
        by_key = {fit.key: fit for fit in fits}
        wanted = [(fit.key, fit.label) for fit in fits]
        first = True
        while keys := self.store.claim(wanted, self._leases):
            if first:
                self.observer.starting(cell.fold.name, cell.method.label, len(cell.fits))
                first = False
            for key in keys:
                self._keep(key, by_key[key].label, self._fitted(by_key[key]))
                self.observer.fitted()
            self._commit(len(keys))
        known = self.store.outcomes(by_key)
        return [known[key][1] for key in by_key] if len(known) == len(by_key) else None

    def _fitted(self, fit: Fit) -> dict[str, Any]:
        train, vali = self.parts_of(fit.fold)[:2]
        if fit.part != "train":
            train, vali = joined((train, vali)), None
        return fit_point(
            train, vali, fit.method, fit.point, seed=fit.seed, select_by=self.plan.options.select_by,
            n_threads=self.n_threads,
        )  # fmt: skip

    def _keep(self, key: str, label: str, record: dict[str, Any]) -> None:
        self._unwritten.append((key, label, "failed" if "error" in record else "done", record))

    def _commit(self, n_leases: int = 0) -> None:
        unwritten, self._unwritten = self._unwritten, []
        try:
            self.store.settle(unwritten)
        except OSError:
            self._unwritten = unwritten
            raise
        now = time.monotonic()
        spent, self._committed = now - self._committed, now
        if n_leases == self._leases and spent < COMMIT:
            self._leases = min(2 * self._leases, MOST_LEASES)
        elif spent > 2 * COMMIT:
            self._leases = max(1, self._leases // 2)


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


def _any_failed(fits: Sequence[dict[str, Any]]) -> bool:
    return any("error" in fit for fit in fits)


def _labelled(parts: Triple) -> Triple:
    for name, part in zip(PARTS, parts, strict=True):
        if not part.labelled:
            raise DataError(
                f"{part.name or name}: has no relevance; a comparison needs it in all three parts"
            )
    return parts
