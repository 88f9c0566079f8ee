"""`Learner`: what scores the documents of a fold for a rival, and what it is given to do so."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrank.data import QueryGroups

#: The status of a fit of which nothing says whether it has converged.
UNKNOWN = "not known"

Parameters = Mapping[str, Any]


class Rows(NamedTuple):
    """Documents as other libraries take them: queries one after the other, rows in the caller's order.

    The inner order of `QueryGroups` is no choice: it is by relevance, and some libraries break ties by the
    order of rows.

    Attributes
    ----------
    X : ndarray of shape (n_docs, n_features), float32
        Raw features, with NaN for missing ones.
    relevance : ndarray of shape (n_docs,), float64
    sizes : ndarray of shape (n_queries,), int64
        Documents of each query.
    place : ndarray of shape (n_docs,), int64
        The caller's row of each document.
    """

    X: np.ndarray
    relevance: np.ndarray
    sizes: np.ndarray
    place: np.ndarray

    @property
    def query(self) -> np.ndarray:
        """The number of each document's query, ascending."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def to_caller(self, scores: np.ndarray) -> np.ndarray:
        """Return scores of these rows in the caller's row order."""
        found = np.empty_like(scores)
        found[self.place] = scores
        return found


def rows_of(groups: QueryGroups) -> Rows:
    """Return the documents of query groups, as other libraries take them."""
    queries = groups.queries
    order = np.lexsort((queries.row, np.repeat(np.arange(queries.n_queries), queries.sizes)))
    return Rows(groups.features[order], queries.relevance[order], queries.sizes, queries.row[order])


def without_relevance(groups: QueryGroups) -> QueryGroups:
    """Return documents without their relevance; neither their order nor their grades tell it."""
    return QueryGroups(
        groups.X, None, groups.qid, docid=groups.docid, feature_names=groups.feature_names, name=groups.name
    )


@dataclass(frozen=True)
class Task:
    """What a learner is asked for: scores of the validation and the test set, learned from the training set.

    Attributes
    ----------
    fold : str
    train, vali, test : QueryGroups
        The test set has no relevance. Without a validation set there is nothing to stop by.
    parameters : mapping
        Parameters of the learner at a point of the grid.
    seed, n_threads : int
    monitor : callable or None
        From scores of the validation set, in the caller's order, to the mean of the measure of selection.
    rounds : int or None
        The number of rounds, where it is known; else the validation set chooses it.
    """

    fold: str
    train: QueryGroups
    vali: QueryGroups | None
    test: QueryGroups
    parameters: Parameters
    seed: int
    n_threads: int
    monitor: Callable[[np.ndarray], float] | None
    rounds: int | None = None


class Learned(NamedTuple):
    """Scores in the caller's row order; None where a set was not scored.

    `rounds` is the number of rounds that the scores use, and `trace` the validation value after each round.
    """

    vali: np.ndarray | None
    test: np.ndarray
    status: str = UNKNOWN
    message: str = ""
    rounds: int | None = None
    trace: tuple[float, ...] = ()


class Learner(ABC):
    """A way to score the documents of a fold.

    Attributes
    ----------
    stops_early : bool
        Whether the measure of selection chooses inside a fit.
    is_random : bool
        Whether a fit depends on a seed.
    partial : bool
        Whether documents may be without a score: runs hold what was retrieved.
    reads_docid : bool
        Whether the names of documents decide the scores: runs find documents by them.
    """

    stops_early = False
    is_random = False
    partial = False
    reads_docid = False

    @abstractmethod
    def describe(self, fold: str) -> Any:
        """Return plain values that, with the parameters, decide the scores on a fold."""

    @abstractmethod
    def learn(self, task: Task) -> Learned:
        """Return the scores of the validation and the test set."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that can be set, with their values."""
        return {}

    def check(self, parameters: Parameters) -> None:
        """Raise `ValueError` for parameters that cannot be set."""
        unknown = [name for name in parameters if name not in self.parameters()]
        if unknown:
            raise ValueError(f"no parameter is called {unknown[0]!r}")

    def libraries(self) -> dict[str, str]:
        """Return the versions of the libraries that this needs beside directrank's own, by name."""
        return {}
