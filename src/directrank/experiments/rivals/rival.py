"""`Rival`: a method of another library, or rankings made elsewhere, as a row of a comparison."""

import contextlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any
from uuid import uuid4

import numpy as np

from directrank.data import QueryGroups
from directrank.errors import MethodError
from directrank.estimators.methods import Configured
from directrank.experiments.rivals.described import UndescribedError, described
from directrank.experiments.rivals.foreign import ForeignEstimator
from directrank.experiments.rivals.learner import Learned, Learner, Task
from directrank.measures.evaluation.arguments import checked_scores
from directrank.storage.strict_json import as_plain, dump


@dataclass(frozen=True)
class Rival:
    """A method of another library as a row of a comparison, beside those of directrank.

    It is trained on the same folds, on raw features, and the validation set chooses a point of its grid. If
    it has a parameter ``random_state`` (or ``random_seed``, ``seed``), three seeds are trained and the values
    of each query averaged, unless the comparison names its seeds.

    Parameters
    ----------
    label : str
        The name in tables.
    estimator : object
        Anything with ``fit(X, y)`` and ``predict(X)``. If ``fit`` has an argument ``qid``, ``group_id`` or
        ``group``, it gets the queries. The object itself is never fitted.
    grid : mapping of str to sequence, optional
        Parameters that the validation set chooses, as ``estimator.set_params`` takes them.
    fixed : mapping, optional
        Other parameters.
    summary, paper : str, optional
        What it does, in one line, and where it was published.
    name : str, optional
        The name on the command line.

    Attributes
    ----------
    label, estimator, grid, fixed, summary, paper, name
        As given.

    Raises
    ------
    ValueError
        If the object cannot be trained, or a value of the grid is not plain.

    Examples
    --------
    >>> from directrank import Rival
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> rival = Rival("forest", RandomForestRegressor(), grid={"min_samples_leaf": (1, 5, 20)})
    >>> len(rival.points())
    3
    """

    label: str
    estimator: Any
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    paper: str = ""
    name: str = ""
    _token: str = field(default_factory=lambda: uuid4().hex, repr=False, compare=False)

    #: A rival has no measure of its own that is known.
    measure = None

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label.strip():
            raise ValueError(f"a rival needs a name, such as Rival('forest', …), not {self.label!r}")
        if not isinstance(self.estimator, Learner) and not can_be_rival(self.estimator):
            raise ValueError(f"{self.label}: {_shown(self.estimator)} has no methods fit and predict")
        for name, values in self.grid.items():
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or not len(values):
                raise ValueError(f"{self.label}: the grid of {name} must be a list of one value or more")
            _check_plain(f"{self.label}: the grid of {name}", list(values))
        self.learner.check(dict.fromkeys([*self.grid, *self.fixed]))
        object.__setattr__(self, "summary", self.summary or _summary(self.estimator))
        object.__setattr__(self, "name", self.name or self.label)

    @property
    def method(self) -> "Rival":
        """Itself: it has what the table of methods says of a method, as `directrank.estimators.methods`."""
        return self

    @cached_property
    def learner(self) -> Learner:
        """What is trained."""
        return self.estimator if isinstance(self.estimator, Learner) else ForeignEstimator(self.estimator)

    @property
    def is_random(self) -> bool:
        """Whether a fit depends on its seed."""
        return self.learner.is_random

    def points(self) -> list[dict[str, Any]]:
        """Return the grid: one dict of parameters for each point."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

    def parameters(self) -> dict[str, Any]:
        """Return all parameters that can be set, with their values."""
        return {**self.learner.parameters(), **self.fixed}

    def check(self, point: Mapping[str, Any]) -> None:
        """Raise `ValueError` if a point of the grid cannot be set."""
        self.learner.check({**self.fixed, **point})

    def reads_select_by(self, point: Mapping[str, Any]) -> bool:
        """Say whether the measure of selection chooses inside a fit."""
        return self.learner.stops_early

    def identity(self, fold: str) -> Any:
        """Return plain values that decide what a fit on a fold learns, beside its point and seed."""
        try:
            return {"rival": self.learner.describe(fold), "fixed": described(dict(self.fixed))}
        except UndescribedError:
            return {"rival": self._token}  # results of such a rival are not stored

    def check_storable(self) -> None:
        """Raise `ValueError` if results cannot be stored, because a rerun would not know the rival again."""
        if not isinstance(self.learner, ForeignEstimator):
            return
        try:
            described([self.estimator, dict(self.fixed)])
        except UndescribedError as error:
            raise UndescribedError(
                f"{self.label}: results cannot be stored: {error}; define it in a module, or compare without "
                "a folder (out=None in Python)"
            ) from None

    def learn(self, task: Task) -> Learned:
        """Return the scores of a fold; what the rival prints goes to the standard error.

        Raises
        ------
        MethodError
            If the scores of all documents of a set are equal, or the rival ends the process.
        DataError
            If a score is missing or NaN.
        """
        try:
            with contextlib.redirect_stdout(sys.stderr):
                found = self.learner.learn(task)
        except SystemExit as error:
            raise MethodError(f"{self.label} ended with exit code {error.code}") from None
        return found._replace(
            vali=None if found.vali is None else self._checked("validation", found.vali, task.vali),
            test=self._checked("test", found.test, task.test),
        )

    def _checked(self, what: str, scores: np.ndarray, groups: QueryGroups | None) -> np.ndarray:
        assert groups is not None
        held = ~np.isnan(scores) if self.learner.partial else None
        values = checked_scores(scores, groups.n_docs, retrieved=held)
        known = values if held is None else values[held]
        if len(known) > 1 and (known == known[0]).all() and len(known) == len(values):
            raise MethodError(f"{self.label} gives every document of the {what} set the score {known[0]:g}")
        return values


#: The methods of a comparison: directrank's own and others.
AnyMethod = Configured | Rival


def can_be_rival(value: Any) -> bool:
    """Whether an object can be trained and asked for scores."""
    return not isinstance(value, type) and has_methods(value)


def has_methods(value: Any) -> bool:
    """Whether an object or a class has the methods of an estimator."""
    return all(callable(getattr(value, name, None)) for name in ("fit", "predict"))


def libraries_of(methods: Iterable[AnyMethod]) -> dict[str, str]:
    """Return the versions of the libraries of rivals, by name."""
    rivals = [each for each in methods if isinstance(each, Rival)]
    return {name: version for each in rivals for name, version in each.learner.libraries().items()}


def check_storable(methods: Iterable[AnyMethod]) -> None:
    """Raise `ValueError` if the results of a rival cannot be stored."""
    for each in methods:
        if isinstance(each, Rival):
            each.check_storable()


def _summary(estimator: Any) -> str:
    """Return what the documentation says of an estimator, in one line."""
    lines = (type(estimator).__doc__ or "").strip().splitlines()
    said = lines[0].strip().rstrip(".") if lines else ""
    name = type(estimator).__name__
    return f"{name}: {said[0].lower()}{said[1:]}" if said else name


def _shown(value: Any) -> str:
    is_class = isinstance(value, type)
    return f"the class {value.__name__} (give an object of it)" if is_class else repr(value)[:60]


def _check_plain(what: str, value: Any) -> None:
    try:
        dump(as_plain(value))
    except TypeError:
        raise ValueError(f"{what} must hold numbers, text, lists, true, false or none") from None
