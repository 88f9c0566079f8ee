"""The fits of a comparison as tasks of a Dask cluster, whose workers read the data themselves."""

import threading
import uuid
from collections.abc import Sequence
from typing import Any

from directrank.experiments.fits import fit_point
from directrank.experiments.jobs.store import KILLED, Store
from directrank.experiments.plan import Fit, Observer, Plan
from directrank.experiments.rivals.learner import without_relevance
from directrank.experiments.rivals.rival import Rival
from directrank.experiments.sources import FoldReader, FoldSource
from directrank.plugins.loading import load_sent, to_send

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
