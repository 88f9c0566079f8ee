"""What a comparison will do, known before anything is read."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from directrank.estimators.methods import Configured
from directrank.experiments.cells import Options
from directrank.experiments.jobs.environment import code_digest, versions
from directrank.experiments.jobs.store import Store, key_of
from directrank.experiments.sources import FoldSource
from directrank.storage.strict_json import as_plain

#: Changes when the content of a record changes.
RECORD = 3
GRID = "grid"

_SEARCH = re.compile(r"random:([1-9]\d*)$")


@dataclass(frozen=True)
class Fit:
    """A method at a point of its grid, on a fold, with a seed; and the key under which it is kept."""

    fold: FoldSource
    method: Configured
    point: Mapping[str, Any]
    seed: int
    part: str
    key: str

    @property
    def label(self) -> str:
        """Fold, method and point, for people."""
        point = ", ".join(f"{name}={value}" for name, value in sorted(self.point.items()))
        return f"{self.fold.name} {self.method.label} [{point}] seed {self.seed}, on {self.part}"


@dataclass(frozen=True)
class PlannedCell:
    """A method on a fold: its fits, and the key of what comes of them."""

    fold: FoldSource
    method: Configured
    fits: Sequence[Fit]
    n_refits: int
    key: str

    @property
    def label(self) -> str:
        """Fold and method, for people."""
        return f"{self.fold.name} {self.method.label}"

    @property
    def n_fits(self) -> int:
        """Points of the grid, times seeds, and last fits."""
        return len(self.fits) + self.n_refits


@dataclass(frozen=True)
class Plan:
    """Every cell of a comparison, fold by fold.

    Attributes
    ----------
    dataset : str
    folds : sequence of FoldSource
    methods : sequence of Configured
    options : Options
    cells : sequence of PlannedCell
    finished : dict of str to dict
        Records that exist already, by key.
    fitted : set of str
        Keys of fits that exist already.
    """

    dataset: str
    folds: Sequence[FoldSource]
    methods: Sequence[Configured]
    options: Options
    cells: Sequence[PlannedCell]
    finished: dict[str, dict[str, Any]]
    fitted: set[str]

    @property
    def n_fits(self) -> int:
        """Fits of all cells."""
        return sum(cell.n_fits for cell in self.cells)

    @property
    def n_fits_left(self) -> int:
        """Fits that are still to be made."""
        left = [cell for cell in self.cells if cell.key not in self.finished]
        return sum(cell.n_fits - sum(fit.key in self.fitted for fit in cell.fits) for cell in left)


def make_plan(
    dataset: str,
    folds: Sequence[FoldSource],
    methods: Sequence[Configured],
    options: Options,
    store: Store,
) -> Plan:
    """Return the plan of a comparison, with what the store holds of it already.

    Raises
    ------
    ValueError
        If two methods have one label, or the search is not understood.
    """
    labels = [method.label for method in methods]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is asked for twice; name each method once")
    cells = [_planned(fold, method, options) for fold in folds for method in methods]
    finished = store.values(cell.key for cell in cells)
    open_fits = [fit.key for cell in cells if cell.key not in finished for fit in cell.fits]
    return Plan(dataset, folds, methods, options, cells, finished, store.ended(open_fits))


def points_of(method: Configured, search: str) -> list[dict[str, Any]]:
    """Return the points of a method's grid that a search tries, in the grid's order.

    Parameters
    ----------
    method : Configured
    search : str
        ``grid`` for all of them, ``random:N`` for N different ones drawn at random, always the same.
    """
    points = method.points()
    number = checked_search(search)
    if number is None or number >= len(points):
        return points
    # The method's name is the seed: no method's draw depends on which others are compared.
    seed = int.from_bytes(hashlib.sha256(method.label.encode()).digest()[:8], "big")
    drawn = np.random.default_rng(seed).choice(len(points), size=number, replace=False)
    return [points[place] for place in sorted(drawn.tolist())]


def checked_search(search: str) -> int | None:
    """Return how many points a search draws, None for all.

    Raises
    ------
    ValueError
        If it is neither ``grid`` nor ``random:N``.
    """
    match = _SEARCH.match(search)
    if match is None and search != GRID:
        raise ValueError(f"search {search!r}: expected grid, or random:N such as random:20")
    return int(match.group(1)) if match else None


def refit_of(cell: PlannedCell, seed: int, point: Mapping[str, Any], options: Options) -> Fit:
    """Return the last fit of a cell, on train and validation together at the point chosen."""
    return _fit(cell.fold, cell.method, point, seed, "train and vali", options)


def _planned(fold: FoldSource, method: Configured, options: Options) -> PlannedCell:
    fits = [
        _fit(fold, method, point, seed, "train", options)
        for seed in options.seeds
        for point in _started(method, points_of(method, options.search), options.restarts)
    ]
    facts = {"record": RECORD, "fits": [fit.key for fit in fits], "options": asdict(options)}
    n_refits = len(options.seeds) if options.refit else 0
    return PlannedCell(fold, method, fits, n_refits, key_of(as_plain(facts)))


def _started(
    method: Configured, points: Sequence[Mapping[str, Any]], restarts: int
) -> list[Mapping[str, Any]]:
    """Return points with their number of random starts, if the method takes one."""
    if not restarts or "n_restarts" not in method.method.estimator().get_params(deep=False):
        return list(points)
    return [{"n_restarts": restarts, **point} for point in points]


def _fit(fold: FoldSource, method: Configured, point, seed: int, part: str, options: Options) -> Fit:
    """Return a fit; its key is a digest of all that decides its numbers."""
    facts = {
        "record": RECORD,
        "data": dict(fold.digests),
        "method": [method.method.name, method.method.estimator.__name__, method.measure],
        "fixed": method.method.fixed,
        "point": point,
        "seed": seed,
        "part": part,
        "select_by": options.select_by,
        "missing": options.missing,
        "versions": versions(),
        "code": code_digest(),
    }
    return Fit(fold, method, point, seed, part, key_of(as_plain(facts)))


class Observer:
    """Told what happens, in order; this one says nothing."""

    def planned(self, plan: "Plan") -> None:
        """Called once, before anything is read or trained."""

    def checked(self, lines: list[str]) -> None:
        """Called with what the data check found, in words."""

    def starting(self, fold: str, method: str, n_points: int) -> None:
        """Called before a method is trained on a fold, at so many points of its grid."""

    def fitted(self) -> None:
        """Called after each fit."""

    def finished(self, cell: dict[str, Any], reused: bool) -> None:
        """Called with the record of each cell, once it is kept."""
