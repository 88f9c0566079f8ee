"""The plan of a comparison: every fit and every cell with its key, known before anything is read."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from directrank.apps.experiments.options import GRID, Options
from directrank.apps.experiments.plan.entry import Entry
from directrank.apps.experiments.plan.fits import TOGETHER, Fit
from directrank.apps.experiments.plan.sources import FoldSource
from directrank.apps.experiments.store.identity import code_digest, identity_of, names_of_objects, versions
from directrank.apps.experiments.store.records import (
    Cell,
    CollectionCheck,
    FailedCell,
    FitRecord,
    Parameters,
)
from directrank.apps.experiments.store.store import Store, key_of
from directrank.estimators.parameters import Point
from directrank.storage.strict_json import JSONObject, OddValueError, dump

#: Changes when the content of a record changes.
RECORD = 7


@dataclass(frozen=True)
class PlannedCell:
    """A method on a fold: its fits, and the key of the cell's record in the store."""

    fold: FoldSource
    method: Entry
    fits: Sequence[Fit]
    key: str

    @property
    def n_seeds(self) -> int:
        """Number of seeds, each of which has a last fit if there are last fits."""
        return len({fit.seed for fit in self.fits})

    @property
    def candidates(self) -> list[Fit]:
        """The fits that its ensembles choose members from, which other cells may have too."""
        return [candidate for fit in self.fits for candidate in fit.candidates]

    @property
    def label(self) -> str:
        """Fold and method, for people."""
        return f"{self.fold.name} {self.method.label}"

    def named(self, record: Cell | FailedCell) -> Cell | FailedCell:
        """Return a record of this cell with its names: keys do not depend on them, so they may be older."""
        return replace(record, fold=self.fold.name, method=self.method.label)


@dataclass(frozen=True)
class Plan:
    """Every cell of a comparison, with the records of finished ones and the keys of other finished fits."""

    dataset: str
    folds: Sequence[FoldSource]
    methods: Sequence[Entry]
    options: Options
    cells: Sequence[PlannedCell]
    finished: dict[str, Cell]
    fitted: set[str]

    def parse(self, key: str, value: JSONObject) -> FitRecord | Cell | CollectionCheck | None:
        """Return the record of a key of the store; None if the value is not what the key stands for."""
        try:
            if key in self.fit:
                return FitRecord.read(value)
            if key in self.cell:
                return Cell.read(value)
            return CollectionCheck.read(value)
        except OddValueError:
            return None

    @cached_property
    def cell(self) -> dict[str, PlannedCell]:
        """Every cell by key."""
        return {cell.key: cell for cell in self.cells}

    @cached_property
    def fit(self) -> dict[str, Fit]:
        """Every fit by key, with the last fits at all points that may be chosen."""
        fits = [fit for cell in self.cells for fit in (*cell.candidates, *cell.fits)]
        last = [_last_fit(fit, self.options) for fit in fits] if self.options.refit else []
        return {fit.key: fit for fit in (*fits, *last)}

    @property
    def n_fits(self) -> int:
        """Number of fits of all cells: points of the grids times seeds, and last fits."""
        return self._count(self.cells, set())

    @property
    def n_fits_left(self) -> int:
        """Number of fits that are not finished."""
        return self._count([cell for cell in self.cells if cell.key not in self.finished], self.fitted)

    def _count(self, cells: Sequence[PlannedCell], fitted: set[str]) -> int:
        last = sum(cell.n_seeds for cell in cells) if self.options.refit else 0
        fits = [fit for cell in cells for fit in cell.fits if fit.key not in fitted]
        keys = {counted.key for fit in fits for counted in (fit, *fit.candidates)}
        return last + len(keys - fitted)


class Observer:
    """Receives the progress of a comparison; this one ignores it."""

    def planned(self, plan: Plan) -> None:
        """Receive the plan, before anything is read or trained."""

    def reading(self, lines: list[str]) -> None:
        """Receive sentences on how the files are read: which columns are what, and random folds."""

    def checked(self, lines: list[str]) -> None:
        """Receive the sentences of the data check."""

    def starting(self, fold: str, method: str, n_points: int) -> None:
        """Receive the method about to be trained on a fold, and the number of points of its grid."""

    def fitted(self) -> None:
        """Receive the end of a fit."""

    def finished(self, cell: JSONObject, reused: bool) -> None:
        """Receive the saved record of a cell."""


def make_plan(
    dataset: str, folds: Sequence[FoldSource], methods: Sequence[Entry], options: Options, store: Store
) -> Plan:
    """Return the plan of a comparison, with the records of it that the store has."""
    labels = [method.label for method in methods]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is named twice; name each method once")
    cells = [_planned(fold, method, options) for fold in folds for method in methods]
    # Where cells keep all processes busy, an ensemble trains what it needs of candidates that no row has.
    if options.scheduler is None and options.jobs <= len(cells):
        of_rows = {fit.key for cell in cells for fit in cell.fits}
        cells = [replace(cell, fits=[_among(of_rows, fit) for fit in cell.fits]) for cell in cells]
    plan = Plan(dataset, folds, methods, options, cells, {}, set())
    store.parse = plan.parse
    finished = store.records(cell.key for cell in cells)
    unfinished = [cell for cell in cells if cell.key not in finished]
    open_fits = [fit.key for cell in unfinished for fit in (*cell.candidates, *cell.fits)]
    return replace(plan, finished=finished, fitted=store.known(open_fits))


def decisive_options(options: Options) -> Parameters:
    """Return the options that decide the record of a cell, as results state them."""
    missing = options.read_options().missing_rule
    decided = {"seeds": options.every_seed, "missing": missing, "columns": options.columns}
    names = ("select_by", "measures", "convention", "search", "refit", "audit", "restarts")
    return names_of_objects(decided | {name: getattr(options, name) for name in names})


def points_of(method: Entry, search: str) -> list[Point]:
    """Return the points of a method's grid that a search tries: all, or random ones, always the same."""
    points = method.points()
    number = len(points) if search == GRID else int(search.removeprefix("random:"))
    if number >= len(points):
        return points
    # The method's name is the seed: no method's draw depends on which others are compared.
    seed = int.from_bytes(hashlib.sha256(method.label.encode()).digest()[:8], "big")
    drawn = np.random.default_rng(seed).choice(len(points), size=number, replace=False)
    return [points[place] for place in sorted(drawn.tolist())]


def tested_fits(cell: PlannedCell, points: Mapping[int, Parameters], options: Options) -> list[Fit]:
    """Return the fit of each seed whose model is tested: that at its point, or the last fit from there."""
    fits = {(dump(names_of_objects(fit.point)), fit.seed): fit for fit in cell.fits}
    chosen = [fits[dump(point), seed] for seed, point in points.items()]
    return [_last_fit(fit, options) for fit in chosen] if options.refit else chosen


def _among(keys: set[str], fit: Fit) -> Fit:
    """Return a fit with those of its candidates that have one of these keys."""
    return replace(fit, candidates=[each for each in fit.candidates if each.key in keys])


def _last_fit(fit: Fit, options: Options) -> Fit:
    return _fit(fit.fold, fit.method, fit.identity, fit.point, fit.seed, TOGETHER, options)


def _planned(fold: FoldSource, method: Entry, options: Options) -> PlannedCell:
    points = points_of(method, options.search)
    if options.restarts:
        points = [method.restarted(point, options.restarts) for point in points]
    seeds = options.external_seeds if method.is_random else options.every_seed
    # They are told here, once: a worker process may not see the code that an object came from.
    identities = [_identity(fold, method, point) for point in points]
    # Equal values of a grid are one point; different ones must be told apart in records.
    if len({dump(names_of_objects(point)) for point in points}) < len(set(identities)):
        raise ValueError(f"{method.label}: two values of its grid have one name; name objects differently")
    fits = [
        _fit(fold, method, identity, point, seed, "train", options)
        for seed in seeds
        for identity, point in zip(identities, points, strict=True)
    ]
    facts = {"record": RECORD, "fits": [fit.key for fit in fits], "options": decisive_options(options)}
    return PlannedCell(fold, method, fits, key_of({**facts, "own": options.own}))


def _fit(
    fold: FoldSource, method: Entry, identity: str, point, seed: int, trained_on: str, options: Options
) -> Fit:
    """Return a fit; its key is a digest of everything that its numbers depend on."""
    select_by = options.select_by if _reads_select_by(method, point) else None
    facts = {
        "record": RECORD,
        "data": dict(fold.digests),
        "identity": identity,
        "seed": seed,
        "part": trained_on,
        "select_by": None if select_by is None else options.selection_measure,
        **fold.reading(options.read_options().missing_rule, docid=method.reads_docid),
        "versions": versions(),
        "libraries": method.libraries(),
        "code": code_digest(),
    }
    candidates = [] if trained_on == TOGETHER else method.candidates(point, options.select_by)
    return Fit(
        fold, method, point, seed, trained_on, select_by, options.selection_measure, identity, key_of(facts),
        [
            _fit(fold, candidate, _identity(fold, candidate, values), values, seed, trained_on, options)
            for candidate, values in candidates
        ],
    )  # fmt: skip


def _identity(fold: FoldSource, method: Entry, point: Parameters) -> str:
    return identity_of(*method.facts(fold.name, point, _reads_select_by(method, point)))


def _reads_select_by(method: Entry, point: Parameters) -> bool:
    try:
        return method.reads_select_by(point)
    except Exception:  # The fit will fail with the same error, and that is recorded.
        return True
