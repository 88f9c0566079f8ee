"""Boosting of trees, whoever grows them: derivatives, rounds, the monitor, early stopping."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Protocol, Self

import numpy as np

from directrank.contracts import Curvature, Reweighable, Solution, Solver, ValueAndGradient
from directrank.errors import check_choice
from directrank.scorers import Trees
from directrank.scorers.set_trees import SetTrees

#: The least curvature of a document, as a share of its first one. Where a loss is nearly straight, a Newton
#: step would have no end.
FLOOR = 0.01
#: Bits of whole numbers that stand for derivatives.
FINE = 30
#: Leaves of a tree and intervals of a feature, by default, and where features outnumber documents.
LIMITS, WIDE_LIMITS = (31, 255), (7, 31)


class Derivatives:
    """The gradient and the curvature of an objective, in the units of the libraries.

    An `Objective` is a mean over queries, divided by its value at zero scores. The libraries' limits, such as
    XGBoost's ``min_child_weight``, are for losses that add up over rows with a curvature of about 1 each, as
    the squared error's. So both derivatives are those of the sum over queries that can train, times the power
    of two that brings the mean of the first curvatures closest to 1. With a mean over queries no tree would
    split; with the sum alone, losses such as 1 − P@5, whose curvature is small, would not.

    Parameters
    ----------
    objective : directrank.contracts.ObjectiveOracles
        Offers `ValueAndGradient` and `Curvature`. If it is `Reweighable` its weights follow the scores.

    Attributes
    ----------
    factor : float
        What derivatives of the objective are multiplied by; the first scores set its power of two.
    first : ndarray of shape (n_docs,)
        The curvature at the first scores; 0 for documents from which nothing can be learned.
    """

    def __init__(self, objective: Any):
        self.objective = objective
        self.factor = np.count_nonzero(objective.weights) / objective.scale
        self.first: Any = None

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the objective, and gradient and curvature of each document, float64, in inner order."""
        objective = self.objective
        typed = scores.astype(objective.dtype)
        if Reweighable in objective.offers:
            objective.reweigh(typed)
        value, gradient = objective.value_and_gradient(typed)
        curvature = objective.curvature(typed).astype(np.float64)
        if self.first is None:
            self.factor *= _to_one(self.factor * curvature)
            self.first = self.factor * curvature
        curvature *= self.factor
        floored = np.maximum(curvature, FLOOR * self.first)
        return value, self.factor * gradient.astype(np.float64), floored


def _to_one(curvature: np.ndarray) -> float:
    """Return the power of two that brings the mean of positive curvatures closest to 1."""
    live = curvature[curvature > 0]
    return float(2.0 ** -np.rint(np.log2(live.mean()))) if live.size else 1.0


def whole_numbers(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Return values rounded to 2⁻³⁰ of the power of two above the largest, as int64, and this unit."""
    largest = float(np.abs(values).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return np.zeros(len(values), np.int64), 1.0
    power = int(np.frexp(largest)[1]) - FINE
    return np.rint(np.ldexp(values.astype(np.float64), -power)).astype(np.int64), float(np.ldexp(1.0, power))


class Grower(Protocol):
    """A model of trees in training."""

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
    ranking are fixed anew before each round.

    Parameters
    ----------
    rounds : int, default=500
        Largest number of trees.
    keep : {"best", "last"}, default="best"
        The trees up to the best round by the monitor, or all trees.
    patience : int, optional
        With ``keep="best"``, stop after so many rounds without an improvement of the monitor.
    learning_rate : float, default=0.1
        ν in (0, 1].
    leaves : int, optional
        Largest number of leaves of a tree: by default 31, or 7 where features outnumber documents.
    bins : int, optional
        Largest number of intervals of a feature between which a split may fall: by default 255, or 31 where
        features outnumber documents.
    leaf_share : float, default=0.001
        Least :math:`\sum_L h`, as a share of the sum over all documents at zero scores.
    penalty : float, default=0.001
        λ, as a share of the same sum.
    feature_share : float, default=1.0
        Share of the features, drawn for each tree, on which it may split.
    n_threads : int, default=1
        At most one for every 4 MiB of features: threads of a library wait for each other, and keep their
        processors busy, at every node of a tree. Results do not depend on it.

    Notes
    -----
    A scorer with trees is where the run starts: its scores are those of the training documents before the
    first tree, and its trees come first in the result. The monitor then judges the start, too.

    Both shares follow the scale of the objective: a factor of it, or of all weights, changes no model, a
    steepness changes only the scale of the scores, and a query of weight 2 is two queries; but bins of
    features with more values, and LightGBM's splits on sets of categories, count documents.

    A value that is missing where none was in training is scored like the training median of its feature.
    Where some were, the library learns to which side of a split they go.

    The certificate is the objective after the last round. The number of rounds is a choice, so a run is
    complete when it ends.
    """

    needs = frozenset({ValueAndGradient, Curvature})
    uses = frozenset({Reweighable})
    trains = Trees

    def __init__(
        self, *, rounds=500, patience=None, learning_rate=0.1, leaves=None, bins=None, leaf_share=1e-3,
        penalty=1e-3, feature_share=1.0, keep="best", n_threads=1,
    ):  # fmt: skip
        check_choice("keep", keep, ("best", "last"))
        self.rounds, self.patience, self.learning_rate = rounds, patience, learning_rate
        self.leaves, self.bins, self.leaf_share, self.penalty = leaves, bins, leaf_share, penalty
        self.feature_share, self.keep, self.n_threads = feature_share, keep, n_threads

    @property
    def chooses_rounds(self) -> bool:
        """Whether the monitor chooses how many trees are kept."""
        return self.keep == "best"

    def of_rounds(self, rounds: int) -> Self:
        """Return the solver that grows so many trees and keeps them all."""
        fixed = copy(self)
        fixed.rounds, fixed.keep = rounds, "last"
        return fixed

    def of_all_rounds(self) -> Self:
        """Return the solver that ends as this one does, and keeps all trees that it has trained."""
        whole = copy(self)
        whole.keep = "all"
        return whole

    def limits(self, features: np.ndarray) -> tuple[int, int]:
        """Return the largest numbers of leaves of a tree and of intervals of a feature.

        Of wide data a tree takes as long as leaves times intervals. Larger trees learn such documents by
        heart, and an interval for a few of them is enough.
        """
        leaves, bins = WIDE_LIMITS if features.shape[1] > len(features) else LIMITS
        return self.leaves or leaves, self.bins or bins

    def begin(
        self, features: np.ndarray, live: np.ndarray, monitored: np.ndarray, total: float, seed: int,
        scorer: Trees,
    ) -> Grower | None:  # fmt: skip
        """Return a model without trees, or None if no feature tells documents apart.

        Parameters
        ----------
        features, monitored : ndarray of shape (n, n_features), float32
            Of the documents, and of those that the monitor judges; they may be one array.
        live : ndarray of shape (n_docs,), bool
            The documents to train on.
        total : float
            The sum of all curvatures at zero scores.
        seed : int
        scorer : Trees
            It says which features are categories, if some are (`SetTrees`).
        """
        raise NotImplementedError

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        derivatives = Derivatives(objective)
        first = derivatives(np.zeros(len(features)))
        base: Any = np.zeros(len(features))
        before: Any = 0.0
        if scorer.n_trees:
            base, before = scorer.scores(features), scorer.scores(monitor.features)
        # A document from which nothing can be learned would still take part in the choice of thresholds.
        live = first[2] > 0
        numbers, unit = whole_numbers(first[2])  # whose sum does not depend on the order of documents
        total, seed = float(numbers.sum() * unit), int(rng.integers(2**31))
        grower: Any = self.begin(features, live, monitor.features, total, seed, scorer)
        best, best_value, value, trace = 0, monitor(before) if scorer.n_trees else -np.inf, first[0], []
        for value in _values(grower, derivatives, live, base, first) if grower else ():
            reached = monitor(before + grower.monitored())
            trace.append({"round": len(trace) + 1, "objective": value, "monitor": reached})
            if reached > best_value:
                best, best_value = len(trace), reached
            if len(trace) == self.rounds or (self.keep != "last" and len(trace) - best == self.patience):
                break
        kept, message = len(trace), f"Trained {len(trace)} trees"
        if self.keep == "best":
            kept, message = best, f"{message}, kept the first {best}"
        trees = Trees.concatenate([])
        if grower and kept:
            trees = grower.trees(kept)
        if scorer.n_trees:
            pieces, n_features = [scorer, trees], features.shape[1]
            if any(isinstance(piece, SetTrees) for piece in pieces):
                trees = SetTrees.joined(pieces, n_features).without_unused(n_features)
            else:
                trees = Trees.concatenate(pieces)
            message += f", after {scorer.n_trees} of the start"
        return Solution(trees, "complete", {"objective": float(value)}, trace, message, kept)


def _values(
    grower: Grower, derivatives: Derivatives, live: np.ndarray, base: np.ndarray, first: tuple
) -> Iterator[float]:
    """Add trees to scores, and yield the objective after each, until one changes no score."""
    _, gradient, curvature = derivatives(base) if base.any() else first
    scores = base.copy()
    while True:
        grower.grow(gradient[live], curvature[live])
        before, scores[live] = scores[live], base[live] + grower.scores()
        if np.array_equal(before, scores[live]):
            return
        value, gradient, curvature = derivatives(scores)
        yield value
