"""The protocol of a comparison: train on train, choose on vali, score test once, save every cell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from directrank.apps.experiments.options import Options, taking
from directrank.apps.experiments.plan.entries import methods_by_name, methods_of, overridden
from directrank.apps.experiments.plan.entry import Entry
from directrank.apps.experiments.plan.fits import of_columns, restored, scores_of
from directrank.apps.experiments.plan.plan import (
    Observer,
    Plan,
    PlannedCell,
    decisive_options,
    make_plan,
    tested_fits,
)
from directrank.apps.experiments.plan.sources import (
    FoldReader,
    FoldSource,
    concatenated,
    folds_of,
    reading_lines,
)
from directrank.apps.experiments.results.comparison import FORMAT, Comparison, chosen_cells, described_choice
from directrank.apps.experiments.results.significance import with_significance
from directrank.apps.experiments.results.verdict import with_verdict
from directrank.apps.experiments.run.judging import (
    judged_differences,
    machine_values,
    queries_of,
    read_judge,
)
from directrank.apps.experiments.run.references import references_of
from directrank.apps.experiments.run.sweep import Step, Sweep, executor_of, perform
from directrank.apps.experiments.store.identity import code_digest, environment, names_of_objects
from directrank.apps.experiments.store.records import (
    CHOSEN,
    Cell,
    CollectionCheck,
    Compared,
    Described,
    DescribedMeasure,
    FailedCell,
    Failure,
    FitRecord,
    FoldFiles,
    JudgedDifference,
    Ranking,
)
from directrank.apps.experiments.store.store import Store, key_of
from directrank.data import QueryGroups
from directrank.diagnostics import check_data
from directrank.errors import MethodError, of_option
from directrank.measures import name_of
from directrank.models import save
from directrank.storage.folders import claim_folder
from directrank.storage.names import printable, slug
from directrank.storage.strict_json import as_plain, encode

#: The folder of models in that of the results.
MODELS = "models"
#: Joining the splits copies X; beyond this many bytes only the training set is checked.
LARGEST_COPY = 1 << 31


@dataclass(frozen=True, kw_only=True)
class Request(Options):
    """What `compare` is called with: data, methods, and the options of a comparison."""

    source: Any = field(kw_only=False)
    methods: Any = field(default="all", kw_only=False)
    observer: Observer | None = None
    command: Sequence[str] = ()


@taking(Request)
def compare(request: Request) -> Comparison:
    """Compare methods on a collection.

    On every fold, each method is trained on the training set at every point of its grid; the validation set
    chooses a point; the test set is scored once. Choosing always uses the standard convention, with expected
    values over ties; results are reported in the requested convention and in the standard one.

    Parameters
    ----------
    source : path, or sequence of three paths, or of three QueryGroups
        A folder with ``Fold1 … FoldN`` or with ``train.txt``, ``vali.txt``, ``test.txt``, or with tables
        such as ``train.csv``; or the three. With `kfold`, one file or one QueryGroups will do.
    methods : str, or sequence of str and objects, default="all"
        Such as ``"adarank(AP),adarank(nDCG@10),regression"``. Of your own: a `Ranker` with its parameters; a
        `Surrogate`, which L-BFGS minimises; or a `Method` (`directrank.estimators.methods`), which has a
        name and a grid. A method of another library is a name such as ``"lightgbm:lambdarank"``, an
        or any object with ``fit`` and ``predict``.
    select_by : str or Measure, default="nDCG@10"
        The measure that chooses on the validation set, and that methods train for whose name fixes none.
    measures : str, Measure, or a sequence of them
        The measures to report.
    convention : str, default="standard"
        The convention to report in: a name of `directrank.apps.evaluation.CONVENTIONS`.
    settings : mapping of str to value, optional
        Parameters to fix: ``{"penalty": 0.1}`` for all methods that have a penalty, or
        ``{"ranksvm.penalty": 0.1}`` for one method. A parameter that is fixed leaves the grid.
    grids : mapping of str to sequence, optional
        Values to search in place of a method's own: ``{"penalty": (0.01, 0.1)}`` or
        ``{"ranksvm.penalty": (0.01, 0.1)}``.
    out : path, optional
        The folder for results. Finished work is saved there at once; the same comparison with the same folder
        reuses it and retries what failed. An empty folder, a new one, or one of an earlier comparison.
    force : bool, default=False
        Whether the folder may hold other files; results replace those of their names.
    name : str, optional
        The name of the data set; that of the folder by default.
    seed : int, default=0
    missing : {"nan", "error", "query_min"} or float, default="nan"
        The meaning of a literal NULL or an empty cell; see `directrank.load_data`.
    qid, label, docid : str, optional
        Columns of tables; guessed by their names by default.
    features : sequence of str, optional
        Columns of features, or patterns; by default all other columns.
    drop : sequence of str, default=()
        Columns to leave out, or patterns.
    categorical : sequence of str, optional
        Features that are categories, or patterns, beside dictionaries of text in Parquet and Arrow.
    kfold : int, optional
        Split all queries into this many random folds (by `seed`) and ignore the folds of the data.
    fold_by : str or array of shape (n_docs,), optional
        A column of the table, or its values: queries with equal values, such as the same text, are in one of
        the `kfold` random pieces (5 by default).
    split_by, test_from, vali_from : optional
        Divide queries at values of a column of the table, or of an array of shape (n_docs,): numbers, or
        dates such as ``"2026-09-01"``. Queries from `test_from` on are the test set, those from `vali_from`
        on the validation set (by default the last fifth before), and the others the training set. The column
        is no feature.
    split_last : int, optional
        Leave so many last interactions of each query, such as a user, out by the times of `split_by`: they
        test, as many before them validate, and the others train. Interactions are rows of relevance above 0;
        the others are in all three sets.
    search : str, default="grid"
        ``grid`` tries every point of a method's grid, ``random:20`` twenty of them.
    refit : bool, default=False
        Whether to train again on training and validation set together at the chosen point, and to test that
        model. This last fit has no validation set: a method that selects among its rounds does so on its
        training queries.
    seeds : sequence of int, optional
        Train and choose with each seed, and report means over seeds; `seed` alone by default, and the two
        after it for methods of other libraries that draw random numbers.
    restarts : int, default=0
        Extra random restarts, where supported; the validation set decides among all of them.
    scheduler : str or distributed.Client, optional
        A Dask cluster whose workers make the fits.
    jobs : int, default=1
        Processes, of one thread each, that share the fits. One process uses all processors within a fit.
        Results do not depend on it.
    baseline : str, optional
        Test the other methods against this one; by default every pair of methods is tested.
    correction : {"holm", "bh"}, default="holm"
        The correction for testing many pairs: Holm, or Benjamini and Hochberg.
    family : {"measure", "all"}, default="measure"
        The tests that it covers: the pairs of each measure, or those of all measures.
    audit : bool, default=True
        Whether to record the bounds on the measure of each tested model; takes a moment a cell.
    first_stage : str, default="auto"
        What gave the candidates: the name of the feature that is its score, ``"order"`` if the documents of
        each query are in its order, or ``"none"``; by default ``whole.bm25`` of `directrank features`, where
        there is one. It is a row beside the methods, with the best single feature and the prior: the
        results say whether the winner beats them.
    judge : path or QueryGroups, optional
        Documents that a machine judged, with the features of the data: of test queries, and of queries that
        the data do not have. ``content.judged`` then has the difference of each method to the `baseline` with
        a shorter interval, which is right whatever the machine says; see
        `directrank.apps.evaluation.judged_mean`. Methods of other libraries are left out.
    keep_models : bool, default=False
        Whether to save the models that were tested, as `directrank.load` reads them: of each fold and method
        ``models/Fold1/ranksvm.dr`` in the folder `out`, with several seeds ``ranksvm.seed1.dr``. Finished
        work is not done again for this. Of methods of other libraries only scores are known.
    observer : Observer, optional
        Receives progress.
    command : sequence of str, optional
        The command line, recorded with the results.

    Returns
    -------
    Comparison
        Methods that failed are in ``failed``; the others have their values.

    Raises
    ------
    DataError
        If the data cannot be used, or two sets share queries.
    ValueError
        If a method, measure, convention, setting or other option is unknown.
    OSError
        If the folder for results cannot be written.
    """
    names = [option.name for option in fields(Options) if option.init]
    options = Options(**{name: getattr(request, name) for name in names})
    plan, store = prepare(request.source, request.methods, options)
    return carry_out(plan, store, request.observer or Observer(), request.command)


def prepare(source: object, methods: object, options: Options) -> tuple[Plan, Store]:
    """Return the plan of a comparison and the store of its results; train and write nothing."""
    if options.keep_models and options.out is None:
        raise ValueError("keep_models needs a folder: name it by out")
    with of_option("methods"):
        chosen = methods_of(methods, options.select_by)
        for method in chosen if options.out is not None else ():
            method.check_storable()
    chosen = overridden(chosen, options.settings or {}, options.grids or {})
    for method in chosen if options.settings or options.grids else ():
        for point in method.points():
            method.check(point)
    if options.baseline is not None:
        with of_option("baseline"):
            options = replace(options, baseline=_label_of(options.baseline, chosen))
    if options.judge is not None:
        against = [method for method in chosen if method.label == options.baseline]
        with of_option("judge"):
            if not against:
                raise ValueError("name the method to compare with by --baseline (in Python, baseline=)")
            if against[0].stores_scores:
                raise ValueError(
                    f"of {options.baseline} only scores of DATA are known; name another baseline"
                )
    dataset, folds = folds_of(source, options.read_options(), splitting=options.splitting)
    store = Store(options.out)
    chosen = [method.labelled(printable(method.label)) for method in chosen]
    return make_plan(printable(options.name or dataset), folds, chosen, options, store), store


def read_folds(plan: Plan) -> None:
    """Read all folds of a plan; raises the `DataError` of data that a run would refuse."""
    reader = FoldReader()
    for fold in plan.folds:
        references_of(reader(fold), fold.name, plan.options)
    if plan.options.judge is not None:
        read_judge(plan.options, reader(plan.folds[0]))


def carry_out(plan: Plan, store: Store, observer: Observer, command: Sequence[str] = ()) -> Comparison:
    """Run a plan, test the differences between methods, and write the files of results."""
    options = plan.options
    if options.out is not None:
        claim_folder(options.out, force=options.force)
    observer.planned(plan)
    observer.reading(reading_lines(plan.folds[0], options))
    reader = FoldReader()
    reading = {"missing": options.read_options().missing_rule, **options.columns}
    check = _checked_collection(plan.folds[0], reader, store, reading)
    observer.checked(check.lines)
    # A first stage that is no feature, or a judge of other columns, is refused before anything is trained.
    first = plan.folds[0]
    before = [references_of(reader(first), first.name, options)]
    judge = None if options.judge is None else read_judge(options, reader(first))
    records = _worked(plan, store, observer, reader)
    if options.keep_models:
        _save_models(plan, store, records, reader)
    before += [references_of(reader(fold), fold.name, options) for fold in plan.folds[1:]]
    judged = {} if judge is None else _judged(plan, store, records, reader, judge)
    result = with_significance(
        Comparison(replace(_results(plan, check, records, before, command), judged=judged)),
        options.baseline,
        options.correction,
        options.family,
    )
    result = with_verdict(result, _exports(plan, store, records, result.best_on_validation(), reader))
    if options.out is not None:
        result.write(options.out)
    return result


def _worked(plan: Plan, store: Store, observer: Observer, reader: FoldReader) -> list[Cell | FailedCell]:
    """Work until every cell of a plan has ended, and return their records in its order."""
    for cell in plan.cells:
        if cell.key in plan.finished:
            observer.finished(encode(cell.named(plan.finished[cell.key])), True)
    with executor_of(plan, reader, observer) as executor:
        records = Sweep(plan, store, observer, executor, reader).run()
    return [cell.named(record) for cell, record in zip(plan.cells, records, strict=True)]


def carry_out_scores(
    plan: Plan, store: Store, observer: Observer, command: Sequence[str] = ()
) -> tuple[Compared, dict[str, dict[str, list[np.ndarray]]]]:
    """Run a plan whose rows have what measures them, and store scores.

    Returns the results without tests of differences, and the scores of the test sets by row, of those that
    failed on no fold, and by fold: of each seed.
    """
    if plan.options.out is not None:
        claim_folder(plan.options.out, force=plan.options.force)
    observer.planned(plan)
    reader = FoldReader()
    records = _worked(plan, store, observer, reader)
    failed = {record.method for record in records if isinstance(record, FailedCell)}
    scores: dict[str, dict[str, list[np.ndarray]]] = {}
    for cell, _, fits in _tested_records(plan, store, records, reader):
        if cell.method.label not in failed:
            scores.setdefault(cell.method.label, {})[cell.fold.name] = [
                fit_scores
                for fit in fits.values()
                if (fit_scores := scores_of(fit, cell.method, "test", reader(cell.fold).test)) is not None
            ]
    sets = list(reader(plan.folds[0]))
    check = CollectionCheck(
        name=plan.dataset, findings=[], lines=[], of=plan.folds[0].name, n_features=sets[0].n_features,
        n_queries=sum(part.n_queries for part in sets), n_docs=sum(part.n_docs for part in sets),
    )  # fmt: skip
    content = _results(plan, check, records, [[] for _ in plan.folds], command)
    return replace(content, methods=[row for row in content.methods if row.label != CHOSEN]), scores


def _exports(
    plan: Plan, store: Store, records: Sequence[Cell | FailedCell], winner: str | None, reader: FoldReader
) -> dict[str, str]:
    """Return where the winner's model of the last fold can be exported to; nothing without its model."""
    from directrank.apps.engines import refusals

    # The last fold is in memory.
    last = [record for record in records if (record.fold, record.method) == (plan.folds[-1].name, winner)]
    for _, _, rankers in _tested(plan, store, last, reader):
        return refusals(next(iter(rankers.values())))
    return {}


def _save_models(plan: Plan, store: Store, records: Sequence[Cell | FailedCell], reader: FoldReader) -> None:
    """Save the models that were tested."""
    assert plan.options.out is not None
    models = Path(plan.options.out) / MODELS
    for cell, _, rankers in _tested(plan, store, records, reader):
        for seed, ranker in rankers.items():
            name = f".seed{seed}" if cell.n_seeds > 1 else ""
            path = models / slug(cell.fold.name) / f"{slug(cell.method.label)}{name}.dr"
            path.parent.mkdir(parents=True, exist_ok=True)
            save(ranker, path)


def _tested(
    plan: Plan, store: Store, records: Sequence[Cell | FailedCell], reader: FoldReader
) -> Iterator[tuple[PlannedCell, Cell, dict[int, Any]]]:
    """Yield each cell that stores models with its tested rankers by seed."""
    for cell, record, fits in _tested_records(plan, store, records, reader):
        if not cell.method.stores_scores:
            train = reader(cell.fold).train
            rankers = {seed: of_columns(restored(fit, cell.method), train) for seed, fit in fits.items()}
            yield cell, record, rankers


def _tested_records(
    plan: Plan, store: Store, records: Sequence[Cell | FailedCell], reader: FoldReader
) -> Iterator[tuple[PlannedCell, Cell, dict[int, FitRecord]]]:
    """Yield each cell with the records of its tested fits by seed; one that is damaged is made again."""
    cells = {(cell.fold.name, cell.method.label): cell for cell in plan.cells}
    for record in records:
        if isinstance(record, FailedCell):
            continue
        cell, fits = cells[record.fold, record.method], {}
        for fit in tested_fits(cell, {run.seed: run.chosen for run in record.seeds}, plan.options):
            made = store.get(fit.key) or perform(plan, Step(cell.key, fit.key), reader(cell.fold))
            if isinstance(made, Failure):
                raise MethodError(f"{fit.label}: {made.error.message}")
            fits[fit.seed] = made
        yield cell, record, fits


def _judged(
    plan: Plan, store: Store, records: Sequence[Cell | FailedCell], reader: FoldReader, judge: QueryGroups
) -> dict[str, list[JudgedDifference]]:
    """Return differences to the baseline, of methods that failed on no fold."""
    cells, machine, queries = {}, {}, {}
    for cell, record, rankers in _tested(plan, store, records, reader):
        place = cell.fold.name, cell.method.label
        cells[place], machine[place] = record, machine_values(judge, [*rankers.values()], plan.options)
        queries[cell.fold.name] = queries_of(reader(cell.fold))
    failed = {cell.method for cell in records if isinstance(cell, FailedCell)}
    machine = {place: values for place, values in machine.items() if place[1] not in failed}
    fine = plan.options.baseline not in failed
    return judged_differences(judge, queries, cells, machine, plan.options) if fine else {}


def _label_of(baseline: str, methods: Sequence[Entry]) -> str:
    """Return the label of the method that a name of a baseline stands for."""
    first, *more = [method.label for method in methods_by_name(methods, baseline)]
    if more:
        raise ValueError(f"{baseline} is {', '.join([first, *more])}; name one of them")
    return first


def _checked_collection(
    fold: FoldSource, reader: FoldReader, store: Store, reading: Mapping[str, object]
) -> CollectionCheck:
    """Return the data check of the three splits of a fold together, from the store if it is there.

    Together they are the whole collection where folds rotate the splits. Where queries are in several, only
    the training set is checked.
    """
    key = key_of(["data check", 3, dict(fold.digests), dict(reading), code_digest()])
    saved = store.get(key)
    if saved is not None:
        return saved
    splits = reader(fold)
    shared = bool(np.intersect1d(splits.train.queries.qid, splits.test.queries.qid).size)
    small = sum(split.features.nbytes for split in splits) <= LARGEST_COPY and not shared
    # Candidates of the training set may be a sample while those of the test set are not, or the reverse.
    check = check_data(concatenated(splits) if small else splits.train, candidates=splits.test)
    what = f"{'all parts' if small else 'the train part'} of {fold.name}"
    content = as_plain(check.to_dict(), lambda text: printable(text) if isinstance(text, str) else text)
    record = CollectionCheck.read({**content, "lines": list(map(printable, check.lines())), "of": what})
    store.save([(key, "data-check", record)])
    return record


def _results(
    plan: Plan, check: CollectionCheck, records: Sequence[Cell | FailedCell],
    before: Sequence[Sequence[tuple[Described, Ranking]]], command: Sequence[str],
) -> Compared:  # fmt: skip
    options = plan.options
    libraries = {name: version for method in plan.methods for name, version in method.libraries().items()}
    methods = [
        Described(
            label=method.label, name=method.method.name, measure=name_of(method.measure),
            summary=method.method.summary, paper=method.method.paper,
            grid=names_of_objects(method.method.grid),
        )
        for method in plan.methods
    ]  # fmt: skip
    # What there was before has to be known of every fold.
    common = set.intersection(*({row.method for _, row in rows} for rows in before))
    common -= {method.label for method in methods}
    if chosen_cells(records, [fold.name for fold in plan.folds]):
        methods.append(described_choice(options.select_by.name))
    return Compared(
        format=FORMAT,
        dataset=plan.dataset,
        **decisive_options(options),
        own_measures={name: DescribedMeasure.of(measure) for name, measure in options.own_measures.items()},
        seed=options.every_seed[0],
        settings=names_of_objects(options.settings),
        grids=names_of_objects(options.grids),
        methods=methods,
        folds=[
            FoldFiles(name=fold.name, sha256=dict(fold.digests), files=as_plain(fold.files))
            for fold in plan.folds
        ],
        reading=reading_lines(plan.folds[0], options),
        data_check=check,
        environment={**environment(), **libraries},
        command=list(map(printable, command)),
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        cells=list(records),
        first_stage=options.first_stage,
        references=[row for rows in before for _, row in rows if row.method in common],
        reference_methods=[method for method, row in before[0] if row.method in common],
    )
