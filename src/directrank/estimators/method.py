"""`Method`: a row of the table of methods. `Entry`: what a comparison trains, such as a `Configured` one."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import product
from typing import Any, Self

import numpy as np

from directrank.contracts import Measure
from directrank.data import QueryGroups
from directrank.estimators.parameters import parameters_of
from directrank.estimators.ranker import Ranker, remedy
from directrank.features.shards import processors
from directrank.measures import parse_measure
from directrank.measures.names import name_of
from directrank.scorers import Trees

#: The status of a fit of which nothing says whether it has converged.
UNKNOWN = "not known"
#: The penalties that a comparison tries. Every objective is 1 at zero scores, so one list suits all methods.
PENALTIES = {"penalty": (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)}


@dataclass(frozen=True)
class Method:
    """One entry of the table of methods.

    Parameters
    ----------
    name : str
        Its name on the command line.
    estimator : type
        A `Ranker`.
    summary : str, optional
        What it does, in one line; by default the first line of the estimator's docstring.
    paper : str, optional
        Where it was published.
    measure : str or Measure, optional
        The measure that the name fixes.
    takes_measure : bool, default=False
        Whether a measure can be given in brackets.
    fixed : mapping
        Constructor parameters that the name fixes.
    grid : mapping of str to tuple
        Hyper-parameters that a comparison selects on the validation set.
    aliases : tuple of str
        Other names of the same method.
    extra : str, optional
        The library that it needs, which is also the extra of directrank that installs it.
    in_all : bool, default=True
        Whether ``all`` names it; not if it rarely converges and ranks no better than others.
    """

    name: str
    estimator: type[Ranker]
    summary: str = ""
    paper: str = ""
    measure: str | Measure | None = None
    takes_measure: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    extra: str = ""
    in_all: bool = True

    @property
    def installed(self) -> bool:
        """Whether the library that it needs is installed."""
        return not self.extra or find_spec(self.extra) is not None

    def __post_init__(self) -> None:
        line = (self.estimator.__doc__ or "?").splitlines()[0].rstrip(".")
        object.__setattr__(self, "summary", self.summary or line[0].lower() + line[1:])


@dataclass(frozen=True)
class Task:
    """What an entry of a comparison learns from: the sets of a fold, and a point of its grid."""

    fold: str
    # train, vali, test: The test set has no relevance, and is there only for entries that store scores.
    # Without a validation set there is nothing to stop by.
    train: QueryGroups
    vali: QueryGroups | None
    test: QueryGroups | None
    parameters: Mapping[str, Any]  # A point of the grid
    seed: int
    n_threads: int | None  # All processors by default
    # From scores of the validation set, in the caller's order, to the mean of the measure of selection
    monitor: Callable[[np.ndarray], float] | None
    rounds: int | None = None  # The number of rounds, where it is known; else the validation set chooses it
    together: QueryGroups | None = None  # Training and validation set as one, for a last fit
    chooses: bool = True  # Whether the measure of selection may choose inside the fit
    fitted: Sequence[Ranker] = ()  # Of a committee, its candidates fitted to these sets, if they are known

    @property
    def threads(self) -> int:
        """The number of threads."""
        return self.n_threads or processors()

    @property
    def to_score(self) -> QueryGroups:
        """The test set, of an entry that stores scores."""
        assert self.test is not None
        return self.test


@dataclass(frozen=True)
class Learned:
    """What an entry learned: scores in the caller's row order, or a scorer, and how training ended."""

    # vali, test: None where a set was not scored; NaN for documents without a score
    vali: np.ndarray | None
    test: np.ndarray | None
    status: str = UNKNOWN
    message: str = ""
    rounds: int | None = None  # The number of rounds that the scores use
    trace: tuple[float, ...] = ()  # The validation value after each round
    remedy: str = ""
    history: Sequence[Mapping[str, Any]] = ()
    certificate: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()
    scaling: tuple[str, str] = ("none", "")  # The kind, and the reason for it
    scorer: Any = None  # None where only scores are known


class Entry(ABC):
    """A row of a comparison: what is trained at every point of a grid.

    Attributes
    ----------
    label : str
        The name in tables.
    method : object
        What the tables say: `name`, `summary`, `paper`, `grid` and `fixed`.
    stores_scores : bool
        Whether scores of the test set are stored in place of a model.
    is_random : bool
        Whether a rival's fit depends on a seed, so that several are trained.
    partial : bool
        Whether documents may be without a score: runs hold what was retrieved.
    reads_docid : bool
        Whether the names of documents decide the scores: runs find documents by them.
    """

    label: str
    method: Any
    measure: str | Measure | None
    stores_scores = False
    is_random = False
    partial = False
    reads_docid = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a setting or a baseline may call it."""
        return (self.label,)

    def points(self) -> list[dict[str, Any]]:
        """Return the grid: one dict of parameters for each point."""
        grid = self.method.grid
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]

    @abstractmethod
    def learn(self, task: Task) -> Learned:
        """Train at a point of the grid."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return all parameters that can be set, with their values."""

    @abstractmethod
    def check(self, point: Mapping[str, Any]) -> None:
        """Raise `ValueError` if a point of the grid cannot be set."""

    def check_value(self, parameter: str, value: Any) -> None:
        """Raise `ValueError` if a parameter does not take a value."""
        return

    @abstractmethod
    def changed(self, fixed: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> Self:
        """Return the entry with other fixed parameters and another grid."""

    @abstractmethod
    def reads_select_by(self, parameters: Mapping[str, Any]) -> bool:
        """Say whether the measure of selection can change what a fit at a point of the grid learns."""

    def candidates(self, point: Mapping[str, Any], measure: Measure) -> list[tuple["Entry", dict[str, Any]]]:
        """Return the entries and points that a committee trains and a measure chooses among."""
        return []

    @abstractmethod
    def facts(self, fold: str, point: Mapping[str, Any], chooses: bool) -> tuple[Any, ...]:
        """Return objects whose class, state and code decide what a fit learns, beside its seed."""

    @abstractmethod
    def called(self) -> list[str | None]:
        """Return the names in the key of a fit."""

    @abstractmethod
    def labelled(self, label: str) -> Self:
        """Return the entry with another label."""

    def restarted(self, point: dict[str, Any], times: int) -> dict[str, Any]:
        """Return a point with extra random restarts, if there are any."""
        return point

    def check_storable(self) -> None:
        """Raise `ValueError` if results cannot be stored, because a rerun would not know the entry again."""
        return

    def libraries(self) -> dict[str, str]:
        """Return the versions of the libraries that this needs beside directrank's own, by name."""
        return {}


@cache  # Every fit asks, and reading the metadata of a package takes milliseconds.
def tree_libraries() -> dict[str, str]:
    """Return the versions of the libraries that grow trees, of those that are installed."""
    installed = {}
    for name in ("lightgbm", "xgboost", "xgboost-cpu"):
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


@dataclass(frozen=True)
class Configured(Entry):
    """A method with its measure, such as ``adarank(nDCG@5)``, and the measure that selects."""

    label: str
    method: Method
    measure: str | Measure | None
    select_by: str | Measure

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator with their defaults."""
        return self.method.estimator().get_params(deep=False)

    def check(self, point: Mapping[str, Any]) -> None:
        """Raise `ValueError` if a point of the grid cannot be set."""
        self.build(point).checked()

    def check_value(self, parameter: str, value: Any) -> None:
        """Raise `ValueError` if a declared parameter does not take a value."""
        declared = parameters_of(self.method.estimator)
        if parameter in declared:
            declared[parameter].check(value, self.label)

    def changed(self, fixed: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> Self:
        """Return the method with other fixed parameters and another grid."""
        values = {name: tuple(points) for name, points in grid.items()}
        return replace(self, method=replace(self.method, fixed=fixed, grid=values))

    def candidates(self, point: Mapping[str, Any], measure: Measure) -> list[tuple[Entry, dict[str, Any]]]:
        """Return the methods and points that a committee trains, if the measure chooses among them."""
        return self.build(point)._candidates(measure)

    def libraries(self) -> dict[str, str]:
        """Return the versions of the libraries that may grow its trees."""
        try:
            grows = isinstance(self.build().components()[2], Trees)
        except Exception:  # Members of a committee may be trees; what fails here fails in the fit.
            grows = True
        return tree_libraries() if grows else {}

    def facts(self, fold: str, point: Mapping[str, Any], chooses: bool) -> tuple[Any, ...]:
        """Return the estimator, its parameters and its measures."""
        chooser = self.select_by if chooses else None
        return self.method.estimator, self.method.fixed, point, self.measure, chooser

    def called(self) -> list[str | None]:
        """Return the names of the method, of its class and of its measure."""
        return [self.method.name, self.method.estimator.__name__, name_of(self.measure)]

    def labelled(self, label: str) -> Self:
        """Return the method with another label."""
        return replace(self, label=label)

    def restarted(self, point: dict[str, Any], times: int) -> dict[str, Any]:
        """Return a point with extra random restarts, if the method takes them."""
        return {"n_restarts": times, **point} if "n_restarts" in self.parameters() else point

    def learn(self, task: Task) -> Learned:
        """Fit a ranker; a last fit is on training and validation set together."""
        # The largest grade of these two sets: a fit must not depend on the grades of the test set.
        parts = (task.train, task.vali)
        max_grade = max(part.queries.max_relevance for part in parts if part is not None)
        ranker = self.build(task.parameters, random_state=task.seed)
        if not task.chooses:
            ranker.set_params(select_by=None)
        for name, measure in ranker.get_params(deep=False).items():
            if name in ("measure", "select_by") and measure is not None:
                ranker.set_params(**{name: parse_measure(measure).with_largest_grade(max_grade)})
        if task.n_threads is not None and "n_jobs" not in task.parameters:
            ranker.set_params(n_jobs=task.n_threads)
        vali = task.vali if task.together is None else None
        if task.together is None:
            ranker._fit_among(task.fitted, task.train, vali)
        else:
            # The validation set chooses the number of rounds before it is trained on.
            rounds = None
            if ranker.chooses_rounds:
                rounds = ranker.fit(task.train, eval_set=task.vali).rounds_
            ranker._fit_rounds(rounds, task.together)
        return Learned(
            None if vali is None else ranker.predict(vali),
            None,
            ranker.status_,
            getattr(ranker, "message_", ""),
            remedy=remedy(ranker),
            history=ranker.history_,
            certificate=ranker.certificate_,
            notes=list(ranker.notes_),
            scaling=(ranker.scaling_, ranker.scaling_reason_),
            scorer=ranker.scorer_,
        )

    def reads_select_by(self, parameters: Mapping[str, Any]) -> bool:
        """Say whether `select_by` can change what a fit at a point of the grid learns."""
        return self.measure is None and self.build(parameters).components()[1].chooses

    def build(self, parameters: Mapping[str, Any] | None = None, random_state: int = 0) -> Ranker:
        """Return an unfitted ranker at a point of the grid.

        A method that trains for a measure keeps its best round or start by that measure; `select_by` chooses
        among points, and inside methods that have no measure of their own.
        """
        trained = {"select_by": self.select_by} if self.measure is None else {"measure": self.measure}
        arguments: Any = {**self.method.fixed, **(parameters or {}), **trained}
        return self.method.estimator(**arguments, random_state=random_state)


#: A parameter with its value, in the brackets of a method.
_SETTING = re.compile(r"([a-z_]+)\s*=\s*(.*)")
_SPEC = re.compile(r"([A-Za-z][\w-]*)\s*(?:\((.*)\))?$")


def split_specs(text: str) -> list[str]:
    """Split ``adarank(nDCG(dcg='log2')@5),regression`` at the commas outside brackets and quotes."""
    pieces, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += (letter == "(") - (letter == ")") if not quote else 0
        if letter == "," and depth == 0 and not quote:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces if piece.strip()]


def configured_one(piece: str, table: Sequence[Method], select_by: str | Measure) -> Configured:
    """Return the method that a piece of a list names, such as ``adarank(nDCG@5)``.

    The brackets may also fix parameters, such as ``lambdaloss(nDCG@5, penalty=0.1)``. Raises ValueError if
    the method is unknown, a measure is given to one that takes none, or a parameter is not one of its.
    """
    match = _SPEC.match(piece)
    name, inner = (match.group(1).lower(), match.group(2)) if match else (piece, None)
    named = {name: method for method in table for name in (method.name, *method.aliases)}
    if name not in named:
        near = get_close_matches(name, named, 1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(named)}"
        raise ValueError(f"no method is called {piece!r}; {advice}")
    method = named[name]
    words = split_specs(inner or "")
    settings = [match for match in map(_SETTING.fullmatch, words) if match]
    measure = ", ".join(word for word in words if not _SETTING.fullmatch(word))
    if measure and not method.takes_measure:
        raise ValueError(f"{name} takes no measure in brackets, but {piece!r} gives one")
    chosen = configured_method(method, measure or None, select_by)
    return _with_settings(chosen, settings) if settings else chosen


def _with_settings(chosen: Configured, settings: Sequence[re.Match[str]]) -> Configured:
    """Return a method with the parameters in its brackets fixed; they leave its grid."""
    fixed: dict[str, Any] = {}
    for setting in settings:
        parameter, text = setting.groups()
        names = sorted(chosen.parameters().keys() - {"measure", "select_by"})
        if parameter not in names:
            raise ValueError(f"{chosen.label} has no parameter {parameter}; it has: {', '.join(names)}")
        try:
            fixed[parameter] = json.loads(text)
        except ValueError:
            fixed[parameter] = text
        chosen.check_value(parameter, fixed[parameter])
    grid = {name: values for name, values in chosen.method.grid.items() if name not in fixed}
    inner = [f"{name}={value}" for name, value in fixed.items()]
    label = f"{chosen.label[:-1]}, " if chosen.label.endswith(")") else f"{chosen.label}("
    return chosen.changed({**chosen.method.fixed, **fixed}, grid).labelled(f"{label}{', '.join(inner)})")


def configured_method(method: Method, measure: str | Measure | None, select_by: str | Measure) -> Configured:
    """Return a method that trains for a measure: the one given, else its own, else the one that selects."""
    trained = measure or method.measure or (select_by if method.takes_measure else None)
    trained = None if trained is None else parse_measure(trained)
    shown = method.name
    if trained is not None and trained.name != name_of(method.measure):
        shown = f"{method.name}({trained.name})"
    return Configured(shown, method, trained, select_by)
