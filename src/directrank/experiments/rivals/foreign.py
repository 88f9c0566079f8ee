"""Estimators of other libraries: anything with `fit(X, y)` and `predict(X)`."""

import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from directrank.data import QueryGroups
from directrank.experiments.rivals.described import described, library_of
from directrank.experiments.rivals.learner import Learned, Learner, Rows, Task, rows_of

#: Arguments by which `fit` takes the query of each row, or the sizes of queries.
QUERY, SIZES = ("qid", "group_id"), "group"
#: Last parts of the names of parameters that are a seed or a number of threads.
SEEDS, THREADS = ("random_state", "random_seed", "seed"), ("n_jobs", "nthread", "thread_count", "num_threads")
#: Silences CatBoost, which takes only one of these.
VOICES = ("verbose", "logging_level", "verbose_eval", "silent")


class ForeignEstimator(Learner):
    """An object with `fit` and `predict`, trained on raw features.

    Queries are passed to a `fit` that has an argument for them: ``qid``, ``group_id`` or ``group``.

    Parameters
    ----------
    estimator : object
        It is copied before it is fitted.
    """

    def __init__(self, estimator: Any):
        self.estimator = estimator

    @property
    def is_random(self) -> bool:
        """Whether the estimator has a parameter that is a seed."""
        return bool(_ending(self.parameters(), SEEDS)) or _library(self.estimator) == "catboost"

    def describe(self, fold: str) -> Any:
        """Return the class, its code and the parameters."""
        return described(self.estimator)

    def libraries(self) -> dict[str, str]:
        """Return the package of the class with its version."""
        found = library_of(type(self.estimator))
        return {} if found is None else dict([found])

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator, and of those inside it."""
        return _parameters(self.estimator)

    def check(self, parameters) -> None:
        """Raise `ValueError` if the estimator does not take a parameter."""
        if parameters and not hasattr(self.estimator, "set_params"):
            name = type(self.estimator).__name__
            raise ValueError(f"{name} has no set_params, so its parameters cannot be chosen from a grid")
        if _library(self.estimator) is None:  # the libraries of trees have more than their objects list
            super().check(parameters)

    def learn(self, task: Task) -> Learned:
        """Fit a copy of the estimator and return its predictions."""
        estimator: Any = clone(self.estimator, safe=False)
        if estimator is self.estimator:
            estimator = copy.deepcopy(self.estimator)
        chosen = {**task.parameters, **settings(estimator, task.seed, task.n_threads)}
        if chosen:
            estimator.set_params(**chosen)
        train = rows_of(task.train)
        estimator.fit(train.X, train.relevance, **queries_for(estimator, train))
        # Forests add the predictions of their trees in the order in which threads end.
        single = dict.fromkeys(_ending(_parameters(estimator), ("n_jobs",)), 1)
        if single and task.n_threads > 1:
            estimator.set_params(**single)
        vali = None if task.vali is None else _predicted(estimator, task.vali)
        return Learned(vali, _predicted(estimator, task.test))


def queries_for(estimator: Any, rows: Rows) -> dict[str, np.ndarray]:
    """Return the argument by which `fit` takes queries; none if there is none."""
    for name in QUERY:
        if has_fit_parameter(estimator, name):
            return {name: rows.query}
    return {SIZES: rows.sizes} if has_fit_parameter(estimator, SIZES) else {}


def settings(estimator: Any, seed: int, n_threads: int) -> dict[str, Any]:
    """Return the parameters that a comparison sets: seeds, threads, and what makes a fit repeatable."""
    known, seed = _parameters(estimator), seed % 2**31  # the libraries of trees take no larger one
    found = dict.fromkeys(_ending(known, SEEDS), seed) | dict.fromkeys(_ending(known, THREADS), n_threads)
    library = _library(estimator)
    if library == "lightgbm":
        found |= {"deterministic": True, "force_row_wise": True, "verbosity": -1}
    if library == "catboost":
        seeds, threads = _ending(known, SEEDS), _ending(known, THREADS)
        found |= {} if seeds else {"random_seed": seed}
        found |= {} if threads else {"thread_count": n_threads}
        found |= {} if set(VOICES) & set(known) else {"verbose": False}
        found["allow_writing_files"] = False
    return found


def _predicted(estimator: Any, groups: QueryGroups) -> np.ndarray:
    """Return predictions in the caller's row order; the length is checked later."""
    rows = rows_of(groups)
    scores = np.asarray(estimator.predict(rows.X))
    return rows.to_caller(scores) if scores.shape == rows.place.shape else scores


def _parameters(estimator: Any) -> dict[str, Any]:
    return estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}


def _ending(names, endings: tuple[str, ...]) -> list[str]:
    """Return the names, also of estimators inside others, whose last part is one of some words."""
    return [name for name in names if name.rpartition("__")[2] in endings]


def _library(estimator: Any) -> str | None:
    """Return the library of trees that a class is from, or inherits from."""
    tops = [each.__module__.partition(".")[0] for each in type(estimator).__mro__]
    return next((top for top in tops if top in ("lightgbm", "xgboost", "catboost")), None)
