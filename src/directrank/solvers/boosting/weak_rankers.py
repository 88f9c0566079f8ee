"""Weak rankers that are not stumps: single features, and objects fitted to weighted documents."""

from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from directrank.contracts import BoundObjective, Part
from directrank.scorers import Tree, single_feature
from directrank.scorers.missing_values import filled, medians
from directrank.solvers.sums import sum_over_parts


class FeatureSearch:
    """Single signed features, each scaled to [0, 1] by its range; the median stands for a missing value.

    Parameters
    ----------
    objective : BoundObjective
    features : ndarray of shape (n_docs, n_features), float32
    """

    def __init__(self, objective: BoundObjective, features: np.ndarray):
        self.fill = medians(features)
        self.objective, self.features = objective, (features := filled(features, self.fill))
        self.low = features.min(axis=0).astype(np.float64)
        self.width = features.max(axis=0) - self.low

    def best(self, weights: np.ndarray, rng: np.random.Generator) -> Tree | None:
        """Return the feature, with either sign, that agrees most with the weights."""

        def statistic(part: Part) -> tuple[np.ndarray]:
            return ((self.features[part.rows].T @ weights[part.rows]).astype(np.float64),)

        agreement = sum_over_parts(self.objective, statistic)[0]
        agreement -= self.low * weights.sum(dtype=np.float64)
        merit = np.divide(agreement, self.width, out=np.zeros(len(self.width)), where=self.width > 0)
        k = int(np.argmax(np.abs(merit)))
        if merit[k] == 0:
            return None
        low, width, fill = self.low[k], self.width[k], self.fill[k]
        if merit[k] > 0:
            return single_feature(k, slope=1.0 / width, offset=-low / width, fill=fill)
        return single_feature(k, slope=-1.0 / width, offset=1.0 + low / width, fill=fill)


@runtime_checkable
class WeakLearner(Protocol):
    """An object that fits weak rankers to weighted documents."""

    def fit(self, features: np.ndarray, weights: np.ndarray, seed: int) -> Any:
        """Return a `Tree`, an object with ``predict(features)`` of shape (n_docs,), or None."""
        ...


class Learned:
    """Weak rankers fitted by an object to the documents and their weights.

    Parameters
    ----------
    learner : WeakLearner
    features : ndarray of shape (n_docs, n_features), float32
    """

    def __init__(self, learner: WeakLearner, features: np.ndarray):
        self.learner, self.features = learner, features

    def best(self, weights: np.ndarray, rng: np.random.Generator) -> Any:
        """Return the weak ranker fitted to the weights, or None if they are all zero."""
        if not weights.any():
            return None
        return self.learner.fit(self.features, weights, seed=int(rng.integers(2**31)))


def predictions(weak: Any, features: Any) -> np.ndarray:
    """Return the value of each row, float64 (n_docs,).

    Of features in other processes, the column that a stump reads is fetched.
    """
    if isinstance(features, np.ndarray):
        return weak.predict(features)
    column = features[:, weak.feature[0]]
    return replace(weak, feature=np.zeros_like(weak.feature)).predict(column[:, None])


def sampled_weights(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw as many documents as there are in proportion to |weight|; return the signed number of each."""
    size = np.abs(weights).astype(np.float64)
    total = size.sum()
    if not total > 0:
        return np.zeros(len(weights))
    drawn = rng.choice(len(weights), len(weights), p=size / total)
    return np.bincount(drawn, minlength=len(weights)) * np.sign(weights)
