"""The options of a comparison, each written once: type, flag, sentence for the command line, check, default.

A check raises `ValueError`, and returns the value in its canonical form. The help of the command line is made
of them, so that nothing heavy is imported before an option has a value.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar, get_args, get_origin

from directrank.data.reading_options import TableOptions
from directrank.errors import of_option

if TYPE_CHECKING:
    from directrank.apps.experiments.splitting import Splitting
    from directrank.contracts import Measure

#: Parameters of a function, what it takes in one, and what it returns.
Words = ParamSpec("Words")
Given = TypeVar("Given")
Result = TypeVar("Result")

STANDARD = "standard"
GRID = "grid"
#: First stages that are no feature: BM25 of `directrank features` if it is one, the order of documents, none.
AUTO, ORDER, NO_FIRST_STAGE = "auto", "order", "none"
MEASURES = ("nDCG@10", "AP", "nDCG@1", "nDCG@3", "nDCG@5")
CORRECTIONS = ("holm", "bh")
FAMILIES = ("measure", "all")
#: An external estimator that draws random numbers is trained with this many seeds unless seeds are named:
#: one seed moves its values.
SEEDS_OF_EXTERNAL = 3
#: The number of random folds where a column is told that they do not divide, and no number.
FOLDS = 5


def taking(
    fields_of: Callable[Words, Given],
) -> Callable[[Callable[[Given], Result]], Callable[Words, Result]]:
    """Make a function of an object one that takes the fields of its class, each a parameter."""
    declared = signature(fields_of)
    parameters = [
        one.replace(annotation=get_args(one.annotation)[0] if _is_option(one.annotation) else one.annotation)
        for one in declared.parameters.values()
    ]

    def decorate(function: Callable[[Given], Result]) -> Callable[Words, Result]:
        @wraps(function)
        def call(*values: Words.args, **words: Words.kwargs) -> Result:
            try:
                declared.bind(*values, **words)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            return function(fields_of(*values, **words))

        returned = signature(function).return_annotation
        call.__dict__["__signature__"] = declared.replace(parameters=parameters, return_annotation=returned)
        return call

    return decorate


def _is_option(kind: Any) -> bool:
    """Return whether the type of a field is that of an option, with its declaration."""
    return get_origin(kind) is Annotated


def check_name(kind: str, names: Collection[str], name: str) -> str:
    """Return a name that is one of several; `kind` says what they name."""
    if name not in names:
        raise ValueError(f"no {kind} is called {name!r}; expected one of {', '.join(names)}")
    return name


def check_measures(measures: "str | Measure | Sequence[str | Measure]") -> "tuple[Measure, ...]":
    """Return measures to report, of which there is one or more."""
    from directrank.measures import distinct_measures

    if not measures:
        raise ValueError("no measure is named; give one or more, such as AP,nDCG@10")
    return distinct_measures(measures)


def check_convention(name: str) -> str:
    """Return the name of a convention."""
    from directrank.apps.evaluation import CONVENTIONS

    return check_name("convention", CONVENTIONS, name)


def check_correction(name: str) -> str:
    """Return the name of a correction for many tests."""
    return check_name("correction", CORRECTIONS, name)


def check_family(name: str) -> str:
    """Return the name of a family of tests."""
    return check_name("family", FAMILIES, name)


def seeds_after(seed: int) -> tuple[int, ...]:
    """Return the seeds of an external estimator where only one seed is named: it and those after it."""
    return tuple((seed + more) % 2**32 for more in range(SEEDS_OF_EXTERNAL))


def check_kfold(folds: int | None) -> int | None:
    """Return a number of random folds."""
    return _at_least(3, folds, "k-fold needs three folds or more (to train, validate and test)")


def _at_least(least: int, number: int | None, problem: str) -> int | None:
    if number is not None and number < least:
        raise ValueError(f"{problem}, got {number}")
    return number


def _check_selection_measure(name: "str | Measure") -> "Measure":
    from directrank.measures import distinct_measures

    (measure,) = distinct_measures([name])
    if measure.is_error:
        raise ValueError(f"{measure.name} is an error; choose by {measure.bare_name}(complement=1)")
    return measure


def _check_seeds(seeds: Sequence[int] | None) -> tuple[int, ...]:
    seeds = seeds or ()
    if not all(0 <= seed < 2**32 for seed in seeds):
        raise ValueError(f"a seed is a number from 0 to {2**32 - 1}, got {max(seeds, key=abs)}")
    return tuple(dict.fromkeys(int(seed) for seed in seeds))


def _check_search(search: str) -> str:
    if search != GRID and not re.fullmatch(r"random:[1-9]\d*", search):
        raise ValueError(f"unknown search {search!r}; expected grid, or random:N such as random:20")
    return search


@dataclass(frozen=True, kw_only=True)
class Reporting:
    """How a comparison chooses and reports, and where."""

    select_by: Annotated[
        Any,
        (
            "--select-by NAME",
            "Measure that chooses on validation data, in the standard convention.",
            _check_selection_measure,
        ),
    ] = MEASURES[0]
    measures: Annotated[
        Sequence[Any] | Any,  # one, or several
        ("--measures NAMES", "Measures to report, with commas; see `directrank measures`.", check_measures),
    ] = MEASURES
    convention: Annotated[
        str,
        (
            "--convention NAME",
            "How to report: standard, letor3, letor4, trec_eval, lightgbm, xgboost or sklearn.",
            check_convention,
        ),
    ] = STANDARD
    settings: Annotated[
        Mapping[str, Any] | None,
        (
            "--set NAME=VALUE",
            "Set a parameter of all methods that have it (penalty=0.1) or of one method "
            "(ranksvm.penalty=0.1); may be repeated.",
            lambda settings: settings or {},
        ),
    ] = None
    grids: Annotated[
        Mapping[str, Sequence[Any]] | None,
        (
            "--grid NAME=VALUES",
            "Choose a parameter from these values, such as penalty=0.01,0.1 or ranksvm.penalty=0.01,0.1; "
            "may be repeated.",
            lambda grids: grids or {},
        ),
    ] = None
    out: Annotated[
        str | os.PathLike | None,
        (
            "--out FOLDER",
            "Folder for results.  [default: runs/ and the name]",
            lambda folder: None if folder is None else Path(folder),
        ),
    ] = None
    force: Annotated[
        bool, ("--force", "Use a folder that holds other files; results replace files of their names.")
    ] = False
    name: Annotated[
        str | None,
        ("--name NAME", "Name of the data set in results.  [default: the name of its folder]"),
    ] = None
    seed: Annotated[int, ("--seed N", "Seed of all random numbers; same seed and data, same results.")] = 0


@dataclass(frozen=True, kw_only=True)
class Options(TableOptions, Reporting):
    """The options of a comparison, in the order of the help of `directrank compare`; each is checked.

    `directrank.compare` takes the same. Names of measures become measures, and `seeds` all that were named.
    """

    kfold: Annotated[
        int | None,
        (
            "--kfold N",
            "Split all queries into N random folds (uses --seed).",
            lambda folds: _at_least(2, folds, "expected two folds or more"),
        ),
    ] = None
    fold_by: Annotated[
        Any,
        (
            "--fold-by COLUMN",
            "Random folds that never divide the queries with one value of this column, such as their text; "
            "--kfold 5 by default.",
        ),
    ] = None
    split_by: Annotated[
        Any,
        ("--split-by COLUMN", "Divide queries at values of this column, such as a date."),
    ] = None
    test_from: Annotated[
        Any, ("--test-from VALUE", "First value of --split-by that tests, such as 2026-09-01.")
    ] = None
    vali_from: Annotated[
        Any,
        (
            "--vali-from VALUE",
            "First value of --split-by that validates.  [default: the last fifth of queries before the test]",
        ),
    ] = None
    split_last: Annotated[
        int | None,
        (
            "--split-last N",
            "Leave the last N interactions (rows of relevance above 0) of each query out, by the times of "
            "--split-by: they test, and the N before validate.",
        ),
    ] = None
    search: Annotated[
        str, ("--search RULE", "Points of each grid to try: grid for all, or random:20.", _check_search)
    ] = GRID
    refit: Annotated[
        bool, ("--refit", "Train the chosen point again on training and validation data together.")
    ] = False
    seeds: Annotated[
        Sequence[int] | None,
        (
            "--seeds N,N,…",
            "Seeds to average over, such as 0,1,2.  [default: --seed; for random methods of other libraries "
            "also the next two]",
            _check_seeds,
        ),
    ] = None
    restarts: Annotated[
        int,
        (
            "--restarts N",
            "Extra random restarts, where supported.",
            lambda number: _at_least(0, number, "restarts must be 0 or more"),
        ),
    ] = 0
    scheduler: Annotated[
        Any,
        (
            "--scheduler ADDRESS",
            "Use a Dask cluster: the address of its scheduler; or local, or local:WORKERS, for workers on "
            "this machine.",
        ),
    ] = None
    jobs: Annotated[
        int,
        (
            "--jobs N",
            "Processes, of one thread each; at most one per processor.",
            lambda number: _at_least(1, number, "jobs must be 1 or more"),
        ),
    ] = 1
    baseline: Annotated[
        str | None, ("--baseline NAME", "Test the other methods against this one, not every pair.")
    ] = None
    correction: Annotated[
        str,
        (
            "--correction NAME",
            "Correction for many tests: holm, or bh (Benjamini-Hochberg).",
            check_correction,
        ),
    ] = "holm"
    family: Annotated[
        str,
        (
            "--family NAME",
            "Tests that --correction covers: measure, the pairs of each measure; or all, those of all "
            "measures.",
            check_family,
        ),
    ] = "measure"
    audit: Annotated[
        bool,
        ("--audit/--no-audit", "Record the bounds on the measure of each model, for the page."),
    ] = True
    first_stage: Annotated[
        str,
        (
            "--first-stage NAME",
            "What gave the candidates, for the verdict: the feature that is its score; order, where "
            "documents are in its order; none; or auto, whole.bm25 where features have it.",
        ),
    ] = AUTO
    judge: Annotated[
        Any,
        (
            "--judge DATA",
            "Documents that a machine judged, with the features of DATA: of its queries and of more. "
            "Differences to --baseline get the shorter interval that they allow.",
        ),
    ] = None
    keep_models: Annotated[
        bool,
        ("--keep-models", "Save the tested models, in models/ of the folder for results."),
    ] = False
    #: Digest of the measures that are defined outside directrank, "" without any.
    own: str = field(init=False, default="")
    #: The name of the measure of validation values, with a digest if it is defined outside directrank.
    selection_measure: str = field(init=False, default="")

    def __post_init__(self) -> None:
        from directrank.apps.experiments.store.identity import identity_of
        from directrank.measures import distinct_measures

        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        if self.fold_by is not None and self.kfold is None:
            put("kfold", FOLDS)
        for option in fields(self):
            if _is_option(option.type):
                for check in get_args(option.type)[1][2:]:
                    with of_option(option.name):
                        put(option.name, check(getattr(self, option.name)))
        with of_option("seed"):
            _check_seeds([self.seed])
        columns = [name for name in self.splitting.columns if name not in self.drop]
        put("drop", (*self.drop, *columns))
        with of_option("measures"):
            distinct_measures([self.select_by, *self.measures])
        measures, name = self.own_measures, self.select_by.name
        put("own", identity_of(measures) if measures else "")
        put("selection_measure", f"{name} {identity_of(self.select_by)}" if name in measures else name)

    @property
    def splitting(self) -> "Splitting":
        """How all queries are divided, if they are."""
        from directrank.apps.experiments.splitting import Splitting

        names = (field.name for field in fields(Splitting) if field.name != "k")
        return Splitting(self.kfold, **{name: getattr(self, name) for name in names})

    @property
    def conventions(self) -> tuple[str, ...]:
        """The conventions of the report: the requested one first."""
        return tuple(dict.fromkeys((self.convention, STANDARD)))

    @property
    def every_seed(self) -> tuple[int, ...]:
        """The seeds of every fit: `seed` alone if none are named."""
        return tuple(self.seeds or (self.seed,))

    @property
    def external_seeds(self) -> tuple[int, ...]:
        """Those of random external estimators: `seed` and those after it if none are named."""
        return tuple(self.seeds or seeds_after(self.seed))

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that were chosen, by their role or as those to drop."""
        roles = ("qid", "label", "docid", "features", "drop", "categorical")
        columns = {role: getattr(self, role) for role in roles} | {"drop": self.drop or None}
        return {role: name for role, name in columns.items() if name is not None}

    @property
    def own_measures(self) -> "dict[str, Measure]":
        """The measures that are defined outside directrank, by name."""
        from directrank.measures import is_own

        return {measure.name: measure for measure in (self.select_by, *self.measures) if is_own(measure)}
