"""Boosting of trees that a library grows: rounds, the monitor, early stopping."""

from abc import abstractmethod
from typing import Protocol

import numpy as np

from directrank.contracts import Solution, Solver
from directrank.integrations.derivatives import Derivatives
from directrank.oracles import Curvature, Reweighable, ValueAndGradient
from directrank.scorers import Trees
from directrank.scorers.missing_values import filled, medians, missing_counts


class Grower(Protocol):
    """A library's model in training."""

    def grow(self, gradient: np.ndarray, curvature: np.ndarray) -> None:
        """Add one tree."""
        ...

    def scores(self) -> np.ndarray:
        """Return the scores of the training documents, (n_docs,)."""
        ...

    def monitored(self) -> np.ndarray:
        """Return the scores of the documents that the monitor judges."""
        ...

    def trees(self, n_trees: int) -> Trees:
        """Return the first trees."""
        ...


class GrownTrees(Solver):
    r"""Gradient-boosted trees under any objective with a gradient and a curvature.

    Each round grows a tree on the gradient g and the curvature h of the documents: a leaf L adds
    :math:`-\nu \sum_L g / (\sum_L h + \lambda)` to the scores of its documents. Weights that depend on the
    ranking are fixed anew before each round. The result is the trees up to the best round by the monitor.

    Parameters
    ----------
    rounds : int, default=500
        Largest number of trees.
    patience : int, optional
        Stop after so many rounds without an improvement of the monitor.
    learning_rate : float, default=0.1
        ν in (0, 1].
    leaves : int, default=31
        Largest number of leaves of a tree.
    min_documents : int, default=20
        Least number of documents of a leaf; XGBoost counts each with its curvature, relative to the mean.
    penalty : float, default=1.0
        λ, in units of the mean curvature of a document.
    feature_share : float, default=1.0
        Share of the features, drawn for each tree, on which it may split.
    n_threads : int, default=1
        Results do not depend on it.

    Notes
    -----
    λ follows the scale of the objective, so that a factor of the objective, or a steepness in the place of a
    scale of scores, changes no ranking.

    A value that is missing where none was in training is scored like the training median of its feature.
    Where some were, the library learns to which side of a split they go.

    The certificate is the objective after the last round. The number of rounds is a choice, so a run is
    complete when it ends.
    """

    needs = frozenset({ValueAndGradient, Curvature})
    uses = frozenset({Reweighable})
    trains = Trees

    def __init__(
        self, *, rounds=500, patience=None, learning_rate=0.1, leaves=31, min_documents=20, penalty=1.0,
        feature_share=1.0, n_threads=1,
    ):  # fmt: skip
        self.rounds, self.patience, self.learning_rate = rounds, patience, learning_rate
        self.leaves, self.min_documents, self.penalty = leaves, min_documents, penalty
        self.feature_share, self.n_threads = feature_share, n_threads

    @abstractmethod
    def grower(self, features: np.ndarray, monitored: np.ndarray, level: float, seed: int) -> Grower:
        """Return a model without trees.

        Parameters
        ----------
        features, monitored : ndarray, float32
            Of the documents to train on, and of those that the monitor judges; they may be the same array.
        level : float
            The mean curvature of a document.
        seed : int
        """
        ...

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        whole, typical = missing_counts(features) == 0, medians(features)
        derivatives = Derivatives(objective)
        value, gradient, curvature = derivatives(np.zeros(len(features)))
        judged = monitor.features
        if judged is not features:
            judged = filled(judged, np.where(whole, typical, np.float32(np.nan)))
        grower = self.grower(features, judged, derivatives.level or 1.0, int(rng.integers(2**31)))
        best, trace = 0, []
        best_value, scores = -np.inf, np.zeros(len(features))
        while len(trace) < self.rounds and len(trace) - best < (self.patience or self.rounds):
            grower.grow(gradient, curvature)
            before, scores = scores, grower.scores()
            if np.array_equal(before, scores):
                break
            value, gradient, curvature = derivatives(scores)
            found = monitor(grower.monitored())
            trace.append({"round": len(trace) + 1, "objective": value, "monitor": found})
            if found > best_value:
                best, best_value = len(trace), found
        trees = grower.trees(best) if best else Trees.of([])
        message = f"Trained {len(trace)} trees, kept the first {best}"
        certificate = {"objective": float(value)}
        return Solution(trees.with_missing_like(typical, whole), "complete", certificate, trace, message)


def missing_library(name: str, error: ImportError) -> ImportError:
    """Return the error that says how to install a library."""
    return ImportError(f"{name} is not usable ({error}): pip install 'directrank[{name}]'")
