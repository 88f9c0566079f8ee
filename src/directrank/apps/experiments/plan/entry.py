"""`Entry`: a row of a comparison, which is trained at every point of a grid; `MethodEntry`: a method."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, Self

import numpy as np

from directrank.apps.auto import AutoRanker
from directrank.apps.experiments.store.records import Measured, Scaling, Training
from directrank.contracts import Measure
from directrank.data import QueryGroups
from directrank.estimators import Ranker
from directrank.estimators.methods import Configured
from directrank.estimators.parameters import Grid, Parameters, Point
from directrank.estimators.ranker import remedy
from directrank.estimators.synonyms import our_name
from directrank.features import processors
from directrank.measures import parse_measure
from directrank.storage.strict_json import Plain, as_plain

#: The record of a fit has at most this many rows of a training history, for tables and the page.
MOST_ROWS = 200


@dataclass(frozen=True)
class Task:
    """What an entry of a comparison learns from: the sets of a fold, and a point of its grid."""

    fold: str
    # train, vali, test: The test set has no relevance, and is there only for entries that store scores.
    # Without a validation set there is nothing to stop by.
    train: QueryGroups
    vali: QueryGroups | None
    test: QueryGroups | None
    parameters: Parameters  # A point of the grid
    seed: int
    n_threads: int | None  # All processors by default
    # From scores of the validation set, in the caller's order, to the mean of the measure of selection
    monitor: Callable[[np.ndarray], float] | None
    rounds: int | None = None  # The number of rounds, where it is known; else the validation set chooses it
    together: QueryGroups | None = None  # Training and validation set as one, for a last fit
    chooses: bool = True  # Whether the measure of selection may choose inside the fit
    # Of an ensemble, candidates with their points, and their rankers fitted to these sets
    fitted: Sequence[tuple["Entry", Point, Ranker]] = ()

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
    """What an entry learned: scores in the caller's row order, or a fitted ranker, and how training ended."""

    # vali, test: None where a set was not scored; NaN for documents without a score
    vali: np.ndarray | None
    test: np.ndarray | None
    training: Training = field(default_factory=Training)
    scaling: Scaling = field(default_factory=Scaling)
    rounds: int | None = None  # The number of rounds that the scores use
    ranker: Any = None  # None where only scores are known

    @classmethod
    def of(cls, fitted: Any, vali: np.ndarray | None, test: np.ndarray | None, ranker: Any = None) -> Self:
        """Return scores, and how the training of a ranker of directrank ended."""
        training = Training(
            status=fitted.status_,
            message=getattr(fitted, "message_", ""),
            remedy=remedy(fitted),
            certificate={name: float(value) for name, value in fitted.certificate_.items()},
            iterations=len(fitted.history_),
            notes=list(fitted.notes_),
            history=thinned(fitted.history_),
        )
        scaling = Scaling(kind=fitted.scaling_, reason=fitted.scaling_reason_)
        return cls(vali, test, training, scaling, ranker=ranker)


def thinned(history: Sequence[Parameters]) -> list[dict[str, Any]]:
    """Return at most `MOST_ROWS` rows of a history, evenly, the first and the last among them."""
    rows = [
        {name: value for name, value in as_plain(row).items() if isinstance(value, (int, float, str))}
        for row in history
    ]
    if len(rows) <= MOST_ROWS:
        return rows
    return [rows[place] for place in np.unique(np.linspace(0, len(rows) - 1, MOST_ROWS).round().astype(int))]


class Measuring(Protocol):
    """What measures scores of a fold in place of grades, such as a log of clicks."""

    def validation(self, fold: str, scores: np.ndarray) -> float:
        """Return the value of scores of the validation set."""
        ...

    def measured(self, fold: str, scores: Mapping[str, np.ndarray]) -> Measured:
        """Return what the record of a cell holds of scores of the test set, and of the validation set."""
        ...


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
        Whether an external estimator's fit depends on a seed, so that several are trained.
    partial : bool
        Whether documents may be without a score: runs hold what was retrieved.
    reads_docid : bool
        Whether the names of documents decide the scores: runs find documents by them.
    measuring : Measuring or None
        What measures the scores; None for the grades of the data.
    """

    label: str
    method: Any
    measure: str | Measure | None
    stores_scores = False
    is_random = False
    partial = False
    reads_docid = False
    measuring: Measuring | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a setting or a baseline may call it."""
        return (self.label,)

    @abstractmethod
    def points(self) -> list[Point]:
        """Return the grid: one dict of parameters for each point."""

    @abstractmethod
    def learn(self, task: Task) -> Learned:
        """Train at a point of the grid."""

    @abstractmethod
    def parameters(self) -> Point:
        """Return all parameters that can be set, with their values."""

    def parameter_called(self, name: str) -> str | None:
        """Return the parameter that a name means, None if there is none."""
        return name if name in self.parameters() else None

    @abstractmethod
    def check(self, point: Parameters) -> None:
        """Raise `ValueError` if a point of the grid cannot be set."""

    def check_value(self, parameter: str, value: object) -> None:
        """Raise `ValueError` if a parameter does not take a value."""
        return

    @abstractmethod
    def changed(self, fixed: Parameters, grid: Grid) -> Self:
        """Return the entry with other fixed parameters and another grid."""

    @abstractmethod
    def reads_select_by(self, parameters: Parameters) -> bool:
        """Say whether the measure of selection can change what a fit at a point of the grid learns."""

    def candidates(self, point: Parameters, measure: Measure) -> list[tuple["Entry", Point]]:
        """Return the entries and points that an ensemble trains and a measure chooses among."""
        return []

    @abstractmethod
    def facts(self, fold: str, point: Parameters, chooses: bool) -> tuple[Plain, ...]:
        """Return objects whose class, state and code decide what a fit learns, beside its seed."""

    @abstractmethod
    def labelled(self, label: str) -> Self:
        """Return the entry with another label."""

    def restarted(self, point: Point, times: int) -> Point:
        """Return a point with extra random restarts, if the method takes them."""
        return {"n_restarts": times, **point} if "n_restarts" in self.parameters() else point

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
class MethodEntry(Configured, Entry):
    """A method of directrank as a row of a comparison."""

    @classmethod
    def of(cls, method: Configured) -> Self:
        """Return a method as a row."""
        return cls(**vars(method))

    def parameter_called(self, name: str) -> str | None:
        """Return the parameter that a name means, also one of another library; None if there is none."""
        return our_name(name, self.parameters())

    def candidates(self, point: Parameters, measure: Measure) -> list[tuple[Entry, Point]]:
        """Return the methods and points that an ensemble trains, if the measure chooses among them."""
        ranker = self.build(point)
        if not isinstance(ranker, AutoRanker) or ranker.measure != measure:
            return []
        return [(MethodEntry.of(method), values) for method, values in ranker.candidates()]

    def facts(self, fold: str, point: Parameters, chooses: bool) -> tuple[Plain, ...]:
        """Return the estimator, its parameters and its measures."""
        selection_measure = self.select_by if chooses else None
        return self.method.estimator, self.method.fixed, point, self.measure, selection_measure

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
        refit = task.together is not None
        if isinstance(ranker, AutoRanker) and task.fitted:
            known = {(method.label, repr(point)): each for method, point, each in task.fitted}
            fitted = [known.get((method.label, repr(point))) for method, point in ranker.candidates()]
            ranker.fit_among(fitted, task.train, eval_set=task.vali, refit=refit)
        else:
            ranker.fit(task.train, eval_set=task.vali, refit=refit)
        vali = None if refit or task.vali is None else ranker.predict(task.vali)
        return Learned.of(ranker, vali, None, ranker=ranker)

    def reads_select_by(self, parameters: Parameters) -> bool:
        """Say whether `select_by` can change what a fit at a point of the grid learns."""
        return self.measure is None and self.build(parameters).components()[1].chooses
