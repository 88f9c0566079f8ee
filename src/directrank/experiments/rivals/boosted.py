"""Boosted trees of other libraries, stopped early by the measure of selection on the validation set."""

from abc import abstractmethod
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from directrank.experiments.rivals.described import described, library_of
from directrank.experiments.rivals.learner import Learned, Learner, Rows, Task, rows_of

#: A fit stops after this many rounds without a better validation value, or after as many as are allowed.
PATIENCE, ROUNDS = 50, 500


class Watch:
    """The validation value after each round, and whether to stop.

    Parameters
    ----------
    monitor : callable or None
        As of `Task`; None measures nothing and never stops.
    rows : Rows or None
        Those of the validation set.
    """

    def __init__(self, monitor: Callable[[np.ndarray], float] | None, rows: Rows | None):
        self.monitor, self.rows = monitor, rows
        self.values: list[float] = []

    def __call__(self, scores: np.ndarray) -> float:
        """Return the value of the scores of a round, in the order of the rows."""
        assert self.monitor is not None
        assert self.rows is not None
        self.values.append(self.monitor(self.rows.to_caller(np.asarray(scores))))
        return self.values[-1]

    @property
    def best(self) -> int:
        """The number of rounds with the largest value, the first of equal ones."""
        return 1 + int(np.argmax(self.values))

    @property
    def is_over(self) -> bool:
        """Whether there was no better value for `PATIENCE` rounds."""
        return len(self.values) - self.best >= PATIENCE


class BoostedTrees(Learner):
    """Trees grown for an objective of another library.

    Parameters
    ----------
    objective : str
        As the library calls it.
    """

    library: ClassVar[str]
    #: The library's estimator, whose parameters these are.
    estimator_name: ClassVar[str]
    #: The parameter that is the number of rounds.
    rounds_name: ClassVar[str] = "n_estimators"
    #: Parameters that the estimator takes and does not list.
    unlisted: ClassVar[tuple[str, ...]] = ()
    stops_early = True
    is_random = True

    def __init__(self, objective: str):
        self.objective = objective

    @property
    def is_installed(self) -> bool:
        """Whether the library can be imported."""
        return find_spec(self.library) is not None

    @property
    def estimator(self) -> Any:
        """The class of the library's estimator."""
        return getattr(import_module(self.library), self.estimator_name)

    def describe(self, fold: str) -> Any:
        """Return the objective and the library."""
        return [described(self.estimator), self.objective, PATIENCE]

    def libraries(self) -> dict[str, str]:
        """Return the library's version."""
        found = library_of(self.estimator)
        return {} if found is None else dict([found])

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the library's estimator."""
        return {**dict.fromkeys(self.unlisted), **self.estimator().get_params()}

    def learn(self, task: Task) -> Learned:
        """Grow trees until the validation value rises no more, and return the scores of the best round."""
        limit = int(task.parameters.get(self.rounds_name, ROUNDS))
        watch = Watch(task.monitor, None if task.vali is None else rows_of(task.vali))
        predict = self.grow(task, rows_of(task.train), watch, task.rounds or limit)
        rounds = task.rounds or (watch.best if watch.values else limit)
        scores = [_scored(predict, groups, rounds) for groups in (task.vali, task.test)]
        message = f"{rounds} of at most {limit} rounds"
        return Learned(scores[0], scores[1], "complete", message, rounds, tuple(watch.values))

    @abstractmethod
    def grow(
        self, task: Task, train: Rows, watch: Watch, rounds: int
    ) -> Callable[[np.ndarray, int], np.ndarray]:
        """Return a function that scores features by the first rounds of a model.

        Where `watch` has a monitor it is called after each round, and says when to stop.
        """


def _scored(predict: Callable[[np.ndarray, int], np.ndarray], groups, rounds: int) -> Any:
    if groups is None:
        return None
    rows = rows_of(groups)
    return rows.to_caller(np.asarray(predict(rows.X, rounds)))
