"""The options of a comparison: types, defaults, and the checks that need no data."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from directrank.contracts import Measure
from directrank.data.files.options import MISSING
from directrank.experiments.identity import identity_of, shown
from directrank.experiments.records import seeds_after
from directrank.measures import CONVENTIONS, DEFAULT_MEASURE
from directrank.measures.naming.names import distinct_measures, is_own

STANDARD = "standard"
GRID = "grid"
MEASURES = (DEFAULT_MEASURE, "AP", "nDCG@1", "nDCG@3", "nDCG@5")
CORRECTIONS = ("holm", "bh")
#: Options that decide the record of a cell; it states them.
OF_A_CELL = (
    "select_by", "measures", "convention", "seeds", "missing", "search", "refit", "audit", "restarts",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a comparison; `directrank.compare` documents each.

    Names of measures become measures, and `seeds` the seeds of every fit: `seed` alone if none are given.
    `rival_seeds` are those of rivals that draw random numbers: `seeds`, or `seed` and those after it.

    Raises
    ------
    ValueError
        If an option has a value that it does not take.
    """

    select_by: Any = DEFAULT_MEASURE
    measures: Any = MEASURES
    convention: str = STANDARD
    settings: Mapping[str, Any] = field(default_factory=dict)
    grids: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    out: Path | None = None
    force: bool = False
    name: str | None = None
    seed: int = 0
    seeds: Sequence[int] = ()
    rival_seeds: Sequence[int] = ()
    missing: str | float = MISSING
    qid: str | None = None
    label: str | None = None
    docid: str | None = None
    features: Sequence[str] | None = None
    drop: Sequence[str] = ()
    kfold: int | None = None
    search: str = GRID
    refit: bool = False
    restarts: int = 0
    jobs: int = 1
    scheduler: Any = None
    baseline: str | None = None
    correction: str = "holm"
    audit: bool = True
    keep_models: bool = False
    #: Digest of the measures that are none of directrank's, "" without any.
    own: str = field(init=False, default="")
    #: The name of the measure of validation values, with a digest if it is none of directrank's.
    chooser: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "rival_seeds", self.rival_seeds or self.seeds or seeds_after(self.seed))
        object.__setattr__(self, "seeds", self.seeds or (self.seed,))
        for name, check in CHECKS.items():
            with of_option(name):
                object.__setattr__(self, name, check(getattr(self, name)))
        if self.keep_models and self.out is None:
            raise ValueError("keep_models needs a folder: name it by out")
        with of_option("measures"):
            distinct_measures([self.select_by, *self.measures])
        own = self.own_measures
        object.__setattr__(self, "own", identity_of(own) if own else "")
        chooser = self.select_by.name
        object.__setattr__(
            self, "chooser", f"{chooser} {identity_of(self.select_by)}" if chooser in own else chooser
        )

    @property
    def conventions(self) -> tuple[str, ...]:
        """The conventions of the report: the requested one first."""
        return tuple(dict.fromkeys((self.convention, STANDARD)))

    @property
    def reading(self) -> dict[str, Any]:
        """How files are read, as `directrank.load_data` takes it."""
        return {"missing": self.missing, **self.columns}

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that were named, by their role or as those to drop."""
        named = {
            "qid": self.qid, "label": self.label, "docid": self.docid, "features": self.features,
            "drop": self.drop or None,
        }  # fmt: skip
        return {role: name for role, name in named.items() if name is not None}

    @property
    def of_a_cell(self) -> dict[str, Any]:
        """The options that decide the record of a cell, as plain values."""
        return shown({**{name: getattr(self, name) for name in OF_A_CELL}, "columns": self.columns})

    @property
    def own_measures(self) -> dict[str, Measure]:
        """The measures that are none of directrank's, by name."""
        return {each.name: each for each in (self.select_by, *self.measures) if is_own(each)}


@contextmanager
def of_option(name: str, key: str = "") -> Iterator[None]:
    """Record in a ValueError which option caused it, for the command line, which prints it as typed."""
    try:
        yield
    except ValueError as error:
        error.__dict__.setdefault("option", (name, key))
        raise


def one_of(kind: str, names: Collection[str]) -> Callable[[str], str]:
    """Return a check that a name is one of several; `kind` says what they name."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"no {kind} is called {name!r}; expected one of {', '.join(names)}")
        return name

    return check


def _at_least(least: int, problem: str) -> Callable[[Any], Any]:
    def check(number: int | None) -> int | None:
        if number is not None and number < least:
            raise ValueError(f"{problem}, got {number}")
        return number

    return check


def _chooser(given: str | Measure) -> Measure:
    (measure,) = distinct_measures([given])
    if measure.is_error:
        raise ValueError(f"{measure.name} is an error; choose by {measure.bare_name}(complement=1)")
    return measure


def _measures(given: str | Measure | Sequence[str | Measure]) -> tuple[Measure, ...]:
    if not given:
        raise ValueError("no measure is named; give one or more, such as AP,nDCG@10")
    return distinct_measures(given)


def _seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    if not all(0 <= each < 2**32 for each in seeds):
        raise ValueError(f"a seed is a number from 0 to {2**32 - 1}, got {max(seeds, key=abs)}")
    return tuple(dict.fromkeys(int(each) for each in seeds))


def _search(search: str) -> str:
    if search != GRID and not re.fullmatch(r"random:[1-9]\d*", search):
        raise ValueError(f"unknown search {search!r}; expected grid, or random:N such as random:20")
    return search


#: The check of each option that has one; it returns the value in its canonical form.
CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "select_by": _chooser,
    "measures": _measures,
    "convention": one_of("convention", CONVENTIONS),
    "seeds": _seeds,
    "rival_seeds": _seeds,
    "kfold": _at_least(3, "k-fold needs three folds or more (to train, validate and test)"),
    "search": _search,
    "restarts": _at_least(0, "restarts must be 0 or more"),
    "jobs": _at_least(1, "jobs must be 1 or more"),
    "correction": one_of("correction", CORRECTIONS),
}
