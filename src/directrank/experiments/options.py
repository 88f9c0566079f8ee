"""The options of a comparison: types, defaults, and the checks that need no data."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from directrank.experiments.tables.contrasts import checked_correction
from directrank.experiments.tables.layout import is_error
from directrank.measures import CONVENTIONS, parse_measure

STANDARD = "standard"
GRID = "grid"
MEASURES = ("AP", "nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10")
#: Options that decide the record of a cell; it states them.
OF_A_CELL = (
    "select_by", "measures", "convention", "seeds", "missing", "search", "refit", "audit", "restarts",
)  # fmt: skip

_RANDOM_SEARCH = re.compile(r"random:([1-9]\d*)$")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a comparison; `directrank.compare` documents each."""

    select_by: str = "AP"
    measures: Sequence[str] = MEASURES
    convention: str = STANDARD
    settings: Mapping[str, Any] = field(default_factory=dict)
    grids: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    out: Path | None = None
    name: str | None = None
    seed: int = 0
    seeds: Sequence[int] | None = None
    missing: str | float = "error"
    kfold: int | None = None
    search: str = GRID
    refit: bool = False
    restarts: int = 0
    jobs: int = 1
    baseline: str | None = None
    correction: str = "holm"
    audit: bool = True

    def checked(self) -> "Options":
        """Return the options with canonical names of measures and a tuple of seeds.

        Raises
        ------
        ValueError
            If an option has a value that it does not take.
        """
        given = replace(self, seeds=self.all_seeds)
        return replace(given, **{name: check(getattr(given, name)) for name, check in CHECKS.items()})

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds of every fit: `seeds`, or `seed` alone."""
        return tuple(self.seeds or (self.seed,))

    @property
    def conventions(self) -> tuple[str, ...]:
        """The conventions of the report: the requested one first."""
        return tuple(dict.fromkeys((self.convention, STANDARD)))

    @property
    def of_a_cell(self) -> dict[str, Any]:
        """The options that decide the record of a cell, as plain values."""
        kept = {name: getattr(self, name) for name in OF_A_CELL}
        return {name: list(each) if isinstance(each, tuple) else each for name, each in kept.items()}


def checked_chooser(name: str) -> str:
    """Return the canonical name of a measure that can choose; an error measure cannot."""
    measure: Any = parse_measure(name)
    if is_error(measure.name):
        raise ValueError(f"{measure.name} is an error; choose by {measure.bare_name}(complement=1)")
    return measure.name


def checked_measures(names: Sequence[str]) -> tuple[str, ...]:
    """Return the canonical names of measures, each once."""
    if not names:
        raise ValueError("no measure is named; give one or more, such as AP,nDCG@10")
    return tuple(dict.fromkeys(parse_measure(each).name for each in names))


def checked_convention(name: str) -> str:
    """Return the name of a convention."""
    if name not in CONVENTIONS:
        raise ValueError(f"no convention is called {name!r}; expected one of {', '.join(CONVENTIONS)}")
    return name


def checked_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return seeds, each once."""
    if not all(0 <= each < 2**32 for each in seeds):
        raise ValueError(f"a seed is a number from 0 to {2**32 - 1}, got {max(seeds, key=abs)}")
    return tuple(dict.fromkeys(int(each) for each in seeds))


def checked_search(search: str) -> str:
    """Return a search, ``grid`` or ``random:N``."""
    if search != GRID and not _RANDOM_SEARCH.match(search):
        raise ValueError(f"unknown search {search!r}; expected grid, or random:N such as random:20")
    return search


def n_drawn(search: str) -> int | None:
    """Return how many points of a grid a search draws; None if it tries all of them."""
    match = _RANDOM_SEARCH.match(checked_search(search))
    return int(match.group(1)) if match else None


def _at_least(least: int, name: str) -> Callable[[int], int]:
    def check(number: int) -> int:
        if number < least:
            raise ValueError(f"{name} must be {least} or more, got {number}")
        return number

    return check


def checked_kfold(k: int | None) -> int | None:
    """Return a number of folds, or None for the folds of the data."""
    if k is not None and k < 3:
        raise ValueError(f"k-fold needs three folds or more (to train, validate and test), got {k}")
    return k


#: The check of each option that has one; it returns the value in its canonical form.
CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "select_by": checked_chooser,
    "measures": checked_measures,
    "convention": checked_convention,
    "seeds": checked_seeds,
    "kfold": checked_kfold,
    "search": checked_search,
    "restarts": _at_least(0, "restarts"),
    "jobs": _at_least(1, "jobs"),
    "correction": checked_correction,
}
