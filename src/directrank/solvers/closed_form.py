"""Least squares in closed form, from sums over shards."""

from collections.abc import Sequence

import numpy as np

from directrank.contracts import LinearScorer, Solution, Solver
from directrank.oracles import Part, Targets

# Directions that vary less than this, relative to the largest, count as constant: float32 features have no
# more than seven digits, and their squares twice as many.
SINGULAR = 1e-12


class ClosedForm(Solver):
    r"""Minimise the weighted squared error of a linear scorer with an intercept.

    If the features are dependent, the solution has minimum norm in standardised features; a constant feature
    has weight exactly 0.

    Parameters
    ----------
    ridge : float, default=0.0
        Penalty ≥ 0 on the squared standardised coefficients, relative to the number of documents.

    Notes
    -----
    Makes two passes over the data, for means and for centred products, so that large offsets cost no digits.
    The certificate is the largest component of the gradient of the mean squared error, per standard
    deviation.
    """

    needs = frozenset({Targets})
    trains = LinearScorer

    def __init__(self, *, ridge: float = 0.0):
        self.ridge = ridge

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        mean, target = _means(objective, features)
        products, moments = _centred_products(objective, features, mean, target)
        coefficients, gradient, rank = self._minimum(mean, products, moments)
        solution = scorer.at(coefficients)
        value = monitor(solution.scores(monitor.features))
        return Solution(
            solution,
            "converged",
            {"gradient_norm": float(np.abs(gradient).max(initial=0.0)), "rank": float(rank)},
            [{"rank": rank, "monitor": value}],
            f"rank {rank} of {len(mean)} features",
        )

    def _minimum(self, mean, products, moments) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the coefficients, the gradient per standard deviation, and the rank of the features."""
        spread = np.sqrt(np.diag(products))
        varies = spread > 1e-6 * np.maximum(np.abs(mean), np.finfo(np.float32).tiny)
        scale = np.where(varies, spread, 1.0)
        matrix = np.where(np.outer(varies, varies), products / np.outer(scale, scale), 0.0)
        right = np.where(varies, moments / scale, 0.0)
        values, vectors = np.linalg.eigh(matrix)
        usable = values > SINGULAR * max(values[-1], 1.0)
        inverse = np.where(usable, 1.0 / np.where(usable, values + self.ridge, 1.0), 0.0)
        standardised = vectors @ (inverse * (vectors.T @ right))
        gradient = matrix @ standardised + self.ridge * standardised - right
        return np.where(varies, standardised / scale, 0.0), gradient, int(usable.sum())


def _means(objective, features: np.ndarray) -> tuple[np.ndarray, float]:
    def statistic(parts: Sequence[Part]):
        weight, target, total = 0.0, 0.0, np.zeros(features.shape[1])
        for part in parts:
            y, w = part.oracles.targets()
            weight += w.sum()
            target += w @ y
            total += w @ features[part.rows].astype(np.float64)
        return weight, target, total

    weights, targets, totals = zip(*objective.map_shards(statistic), strict=True)
    return np.sum(totals, axis=0) / sum(weights), float(sum(targets) / sum(weights))


def _centred_products(objective, features: np.ndarray, mean: np.ndarray, target: float):
    n_features = features.shape[1]

    def statistic(parts: Sequence[Part]):
        products, moments, weight = np.zeros((n_features, n_features)), np.zeros(n_features), 0.0
        for part in parts:
            y, w = part.oracles.targets()
            centred = features[part.rows] - mean
            weighted = centred * w[:, None]
            products += weighted.T @ centred
            moments += (y - target) @ weighted
            weight += w.sum()
        return products, moments, weight

    products, moments, weights = zip(*objective.map_shards(statistic), strict=True)
    return np.sum(products, axis=0) / sum(weights), np.sum(moments, axis=0) / sum(weights)
