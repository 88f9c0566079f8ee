"""The protocol of a comparison: train on train, choose on vali, score test once; keep every cell."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from directrank.estimators.methods import Configured, configured
from directrank.experiments.cells import STANDARD, Options
from directrank.experiments.datacheck import checked_collection
from directrank.experiments.jobs.environment import environment
from directrank.experiments.jobs.store import Store
from directrank.experiments.parallel import run_in_processes
from directrank.experiments.plan import GRID, Observer, Plan, checked_search, make_plan
from directrank.experiments.results import FORMAT, Comparison
from directrank.experiments.sources import folds_of
from directrank.experiments.sweep import PartsOf, Sweep
from directrank.experiments.tables.contrasts import significance
from directrank.experiments.tables.formats import write_tables
from directrank.measures import CONVENTIONS, parse_measure

MEASURES = ("AP", "nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10")


def compare(
    source: Any,
    methods: str | Sequence[str | Configured] = "all",
    *,
    select_by: str = "AP",
    measures: Sequence[str] = MEASURES,
    convention: str = STANDARD,
    out: str | os.PathLike | None = None,
    seed: int = 0,
    missing: str | float = "error",
    name: str | None = None,
    kfold: int | None = None,
    search: str = GRID,
    refit: bool = False,
    seeds: Sequence[int] | None = None,
    restarts: int = 0,
    jobs: int = 1,
    baseline: str | None = None,
    correction: str = "holm",
    audit: bool = True,
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
    methods : str or sequence of str or Configured, default="all"
        Such as ``"adarank(AP),adarank(nDCG@10),regression"``; or methods with settings and grids of your own,
        see `directrank.estimators.methods`.
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
    kfold : int, optional
        Make so many folds of all queries, at random by `seed`, in place of those that came with the data.
    search : str, default="grid"
        ``grid`` tries every point of a method's grid, ``random:20`` twenty of them.
    refit : bool, default=False
        Whether the point chosen is trained once more on train and validation together, and that is tested.
        Such a last fit has no validation part: a method that picks among its rounds does so on its training
        queries.
    seeds : sequence of int, optional
        Every fit is made with each seed, each chooses for itself, and values are means over them; `seed`
        alone by default.
    restarts : int, default=0
        Random starts beside the usual one, for the methods that take them; the validation part decides among
        all, as it does among points.
    jobs : int, default=1
        Processes, of one thread each, that share the fits. One process uses all processors within a fit.
        Results do not depend on it.
    baseline : str, optional
        The method that the others are tested against; by default every pair of methods is tested.
    correction : {"holm", "bh"}, default="holm"
        For testing many pairs: Holm, or Benjamini and Hochberg.
    audit : bool, default=True
        Whether to keep how tight the bounds on the measure are for each model tested; it takes a moment a
        cell.
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
        seed=seed, missing=missing, name=name, kfold=kfold, search=search, refit=refit, seeds=seeds,
        audit=audit,
        restarts=restarts,
    )  # fmt: skip
    if jobs < 1:
        raise ValueError(f"jobs must be 1 or more, got {jobs}")
    if baseline is not None:
        baseline = label_of(baseline, plan)
    observer.planned(plan)
    result = _run(plan, store, observer, list(command), jobs)
    store.close()
    result.summary["significance"] = {
        each: significance(result, each, baseline=baseline, correction=correction)
        for each in result.conventions
    }
    if out is not None:
        result.write(out)
        write_tables(result, out)
    return result


def label_of(baseline: str, plan: Plan) -> str:
    """Return the label of a planned method that a name stands for.

    Raises
    ------
    ValueError
        If the method is not among those compared.
    """
    wanted = configured(baseline, plan.options.select_by)
    labels = [method.label for method in plan.methods]
    if len(wanted) != 1 or wanted[0].label not in labels:
        raise ValueError(f"baseline {baseline!r} is not one of the methods compared: {', '.join(labels)}")
    return wanted[0].label


def prepare(
    source: Any,
    methods,
    *,
    select_by,
    measures,
    convention,
    out,
    seed,
    missing,
    name,
    kfold=None,
    search=GRID,
    refit=False,
    seeds=None,
    audit=True,
    restarts=0,
) -> tuple[Plan, Store]:
    """Return what `compare` would do, without doing it; it takes the same parameters."""
    if convention not in CONVENTIONS:
        raise ValueError(f"no convention is called {convention!r}; there are {', '.join(CONVENTIONS)}")
    if not measures:
        raise ValueError("no measure is named; give one or more, such as AP,nDCG@10")
    chooser = parse_measure(select_by)
    if chooser.is_error:
        raise ValueError(f"{chooser.name} is an error; choose by {chooser.bare_name}(complement=1)")
    options = Options(
        chooser.name,
        tuple(dict.fromkeys(parse_measure(each).name for each in measures)),
        convention,
        tuple(dict.fromkeys(int(each) for each in seeds)) if seeds else (seed,),
        missing,
        search,
        bool(refit),
        bool(audit),
        restarts,
    )
    if not all(0 <= each < 2**32 for each in options.seeds):
        raise ValueError(f"a seed is a number from 0 to {2**32 - 1}, got {max(options.seeds, key=abs)}")
    if restarts < 0:
        raise ValueError(f"restarts must be 0 or more, got {restarts}")
    checked_search(search)
    chosen = configured(methods, options.select_by)
    dataset, folds = folds_of(source, missing=missing, k=kfold, seed=seed)
    store = Store(out)
    store.begin()
    return make_plan(name or dataset, folds, chosen, options, store), store


def _run(plan: Plan, store: Store, observer: Observer, command: list[str], jobs: int) -> Comparison:
    parts_of = PartsOf()
    check = checked_collection(plan.folds[0], parts_of, store)
    observer.checked(check["lines"])
    if jobs == 1:
        records = Sweep(plan, store, observer, parts_of).run()
    else:
        records = run_in_processes(plan, store, observer, jobs)
    return Comparison(_summary(plan, check, command), records)


def _summary(plan: Plan, check: dict[str, Any], command: list[str]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "dataset": plan.dataset,
        "select_by": plan.options.select_by,
        "measures": list(plan.options.measures),
        "convention": plan.options.convention,
        "seed": plan.options.seeds[0],
        "seeds": list(plan.options.seeds),
        "search": plan.options.search,
        "refit": plan.options.refit,
        "restarts": plan.options.restarts,
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
