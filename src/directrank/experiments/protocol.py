"""The protocol of a comparison: train on train, choose on vali, score test once; keep every cell."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from directrank.data.folds import PARTS
from directrank.errors import DataError
from directrank.estimators.methods import configured
from directrank.experiments.cells import STANDARD, Options, run_cell
from directrank.experiments.datacheck import checked_collection
from directrank.experiments.environment import environment
from directrank.experiments.observer import Observer
from directrank.experiments.plan import Plan, make_plan
from directrank.experiments.results import FORMAT, Comparison
from directrank.experiments.sources import FoldSource, Triple, folds_of
from directrank.experiments.store import FolderStore, MemoryStore
from directrank.measures import CONVENTIONS, parse_measure

MEASURES = ("AP", "nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10")


def compare(
    source: Any,
    methods: str | Sequence[str] = "all",
    *,
    select_by: str = "AP",
    measures: Sequence[str] = MEASURES,
    convention: str = STANDARD,
    out: str | os.PathLike | None = None,
    seed: int = 0,
    missing: str | float = "error",
    name: str | None = None,
    observer: Observer | None = None,
    command: Sequence[str] = (),
) -> Comparison:
    """Compare methods on a collection: one honest table.

    On every fold, each method is trained on the train part at every point of its grid; the validation part
    picks a point; the test part is scored once. Picking always uses the standard convention, with expected
    values over ties; results are reported in the convention asked for and in the standard one.

    Parameters
    ----------
    source : path, or sequence of three paths, or of three QueryGroups
        A folder with ``Fold1 … FoldN`` or with ``train.txt``, ``vali.txt``, ``test.txt``; or these parts.
    methods : str or sequence of str, default="all"
        Such as ``"adarank(AP),adarank(nDCG@10),regression"``.
    select_by : str, default="AP"
        The measure that picks; also what a method trains for whose name does not fix it.
    measures : sequence of str
        What is reported.
    convention : str, default="standard"
        A name of `directrank.measures.CONVENTIONS`.
    out : path, optional
        A folder for results. With it, every finished cell is kept at once, and running the same comparison
        again recomputes nothing; cells that failed are tried again.
    seed : int, default=0
    missing : {"error", "query_min"} or float, default="error"
        See `directrank.read_letor`.
    name : str, optional
        The name of the data set; that of the folder by default.
    observer : Observer, optional
        Told of progress.
    command : sequence of str, optional
        The command line, kept with the results.

    Returns
    -------
    Comparison
        Methods that failed are in ``failed``; the others have their values.

    Raises
    ------
    DataError
        If the data cannot be used, or parts share queries.
    ValueError
        If a method, measure or convention is unknown.
    OSError
        If the folder for results cannot be written.
    """
    observer = observer or Observer()
    plan, store = prepare(
        source, methods, select_by=select_by, measures=measures, convention=convention, out=out,
        seed=seed, missing=missing, name=name,
    )  # fmt: skip
    observer.planned(plan)
    result = _run(plan, store, observer, list(command))
    if out is not None:
        result.write(out)
    return result


def prepare(
    source: Any, methods, *, select_by, measures, convention, out, seed, missing, name
) -> tuple[Plan, FolderStore | MemoryStore]:
    """Return what `compare` would do, without doing it; it takes the same parameters."""
    if convention not in CONVENTIONS:
        raise ValueError(f"no convention is called {convention!r}; there are {', '.join(CONVENTIONS)}")
    if not measures:
        raise ValueError("no measure is named; give one or more, such as AP,nDCG@10")
    chooser: Any = parse_measure(select_by)
    if getattr(chooser, "printed_as_error", False):
        raise ValueError(f"{chooser.name} is an error; choose by {chooser.bare_name}(complement=1)")
    options = Options(
        chooser.name,
        tuple(dict.fromkeys(parse_measure(each).name for each in measures)),
        convention,
        seed,
        missing,
    )
    chosen = configured(methods, options.select_by)
    dataset, folds = folds_of(source, missing=missing)
    store = MemoryStore() if out is None else FolderStore(out)
    return make_plan(name or dataset, folds, chosen, options, store), store


def _run(plan: Plan, store: FolderStore | MemoryStore, observer: Observer, command: list[str]) -> Comparison:
    records: list[dict[str, Any]] = []
    parts_of = _OneAtATime()
    check = checked_collection(plan.folds[0], parts_of, store)
    observer.checked(check["lines"])
    for cell in plan.cells:
        record = plan.finished.get(cell.key)
        reused = record is not None
        if record is None:
            parts = parts_of(cell.fold)
            observer.starting(cell.fold.name, cell.method.label, cell.n_fits)
            record = run_cell(cell.fold, parts, cell.method, plan.options, observer)
            if "error" not in record:
                store.put(cell.key, cell.label, record)
        records.append(record)
        observer.finished(record, reused)
    return Comparison(_summary(plan, check, command), records)


class _OneAtATime:
    """Reads folds when they are needed and holds one of them in memory."""

    def __init__(self):
        self._name, self._parts = "", None

    def __call__(self, fold: FoldSource) -> Triple:
        if self._parts is None or self._name != fold.name:
            self._parts = None  # the old fold goes before the new one comes
            self._name, self._parts = fold.name, _labelled(fold.load())
        return self._parts


def _labelled(parts: Triple) -> Triple:
    for name, part in zip(PARTS, parts, strict=True):
        if not part.labelled:
            raise DataError(
                f"{part.name or name}: has no relevance; a comparison needs it in all three parts"
            )
    return parts


def _summary(plan: Plan, check: dict[str, Any], command: list[str]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "dataset": plan.dataset,
        "select_by": plan.options.select_by,
        "measures": list(plan.options.measures),
        "convention": plan.options.convention,
        "seed": plan.options.seed,
        "missing": plan.options.missing,
        "methods": [
            {
                "label": each.label,
                "name": each.method.name,
                "measure": each.measure,
                "summary": each.method.summary,
                "paper": each.method.paper,
                "grid": {name: list(values) for name, values in each.method.grid.items()},
            }
            for each in plan.methods
        ],
        "folds": [
            {"name": fold.name, "sha256": dict(fold.digests), "files": dict(fold.files)}
            for fold in plan.folds
        ],
        "data_check": check,
        "environment": environment(),
        "command": command,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
