"""Least squares in closed form, from sums over shards."""

import numpy as np

from directrank.contracts import LinearScorer, Part, Solution, Solver, Targets
from directrank.solvers.descent import judged
from directrank.solvers.passes import sum_over_rows

# Directions that vary less than this, relative to the largest, count as constant: float32 features have no
# more than seven digits, and their squares twice as many.
SINGULAR = 1e-12
#: Largest gradient of a solved system, relative to that at zero coefficients.
SOLVED = 1e-6


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
    deviation, and that relative to the gradient at zero coefficients, which decides whether the system counts
    as solved.
    """

    needs = frozenset({Targets})
    trains = LinearScorer
    chooses = False
    sums_over_shards = True

    def __init__(self, *, ridge: float = 0.0):
        self.ridge = ridge

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        total, target, weight = sum_over_rows(objective, _sums, features)
        mean, target = total / weight, float(target / weight)
        products, moments, weight = sum_over_rows(objective, _products, features, mean, target)
        coefficients, gradient, rank = self._minimum(mean, products / weight, moments / weight)
        norm, first = (float(np.abs(each).max(initial=0.0)) for each in gradient)
        relative = norm / max(1.0, first)
        solution = scorer.at(coefficients)
        value = judged(monitor, solution)
        return Solution(
            solution,
            "converged" if relative <= SOLVED else "stopped",
            {"gradient_norm": norm, "relative_gradient": relative, "rank": float(rank)},
            [{"rank": rank, "monitor": value}],
            f"rank {rank} of {len(mean)} features",
        )

    def _minimum(self, mean, products, moments) -> tuple[np.ndarray, tuple, int]:
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
        return np.where(varies, standardised / scale, 0.0), (gradient, right), int(usable.sum())


def _sums(part: Part, rows: np.ndarray) -> tuple[np.ndarray, float, float]:
    y, w = part.oracles.targets()
    return w @ rows.astype(np.float64), w @ y, w.sum()


def _products(part: Part, rows: np.ndarray, mean: np.ndarray, target: float):
    y, w = part.oracles.targets()
    centred = rows - mean
    weighted = centred * w[:, None]
    return weighted.T @ centred, (y - target) @ weighted, w.sum()
