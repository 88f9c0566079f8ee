"""Least squares in closed form, from sums over shards."""

from collections.abc import Sequence

import numpy as np
import scipy

from directrank.contracts import LinearScorer, Part, Solution, Solver, Targets
from directrank.features.shards import added_up
from directrank.solvers.descent import judged
from directrank.solvers.passes import sum_over_rows

# Directions that vary less than this, relative to the largest, count as constant: float32 features have no
# more than seven digits, and their squares twice as many.
SINGULAR = 1e-12
#: From this number of features on, products are those of whole shards, and Cholesky's factors solve them.
WIDE = 512
#: Least reciprocal condition number of a matrix whose rank Cholesky's factors show to be full.
REGULAR = 1e-9
#: The same of a matrix in float32 that is good enough for steps of refinement, the most of these, and the
#: gradient at which they end, relative to that at zero coefficients.
ROUGHLY_REGULAR, MOST_STEPS, REFINED = 1e-4, 10, 1e-12
#: Largest gradient of a solved system, relative to that at zero coefficients.
SOLVED = 1e-6
#: LAPACK's factors, reciprocal condition number and solution.
CHOLESKY = ("potrf", "pocon", "potrs")


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
    Makes two passes over the data, for means and for centred products, so that large offsets cost no digits:
    a feature is constant only if it has one value.
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
        # Around a document sums are exact for constant features, and large offsets cost no digits.
        origin = next(row for row in objective.over_shards(_first_row, features) if row is not None)
        total, target, weight = sum_over_rows(objective, _sums, features, origin)
        mean, target = origin + total / weight, float(target / weight)
        if objective.n_docs < len(mean):
            shards = objective.over_shards(_centred_rows, features, mean, target)
            rows, targets = (
                np.concatenate(vectors) / np.sqrt(weight) for vectors in zip(*shards, strict=True)
            )
            coefficients, gradient, rank = self._minimum_of_few_rows(mean, rows, targets)
        else:
            minimum = None
            if len(mean) >= WIDE:
                minimum = self._refined(objective, features, mean, target, weight)
            if minimum is None:
                products, moments = objective.sum_over_shards(_products, features, mean, target)
                minimum = self._minimum(mean, products / weight, moments / weight)
            coefficients, gradient, rank = minimum
        norm, first = (float(np.abs(slopes).max(initial=0.0)) for slopes in gradient)
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

    def _refined(self, objective, features, mean, target, weight) -> tuple[np.ndarray, tuple, int] | None:
        """Return the same as `_minimum` from products in float32, which take half as long as in float64.

        Each step of refinement solves for the gradient, which is in float64. None if a feature is constant,
        or features are so dependent that the steps would not end.
        """
        products, squares, moments = objective.sum_over_shards(_rough_products, features, mean, target)
        varies, scale = _deviations(np.sqrt(squares / weight))
        if not varies.all():
            return None
        units = (1.0 / (scale * np.sqrt(weight))).astype(np.float32)
        products *= units
        products *= units[:, None]
        factorised, condition, solved = scipy.linalg.get_lapack_funcs(CHOLESKY, (products,))
        lower = np.abs(products)
        norm = (lower.sum(axis=0) + lower.sum(axis=1) - lower.diagonal()).max()
        factor, failed = factorised(products, lower=True)
        if failed or condition(factor, norm, uplo="L")[0] <= ROUGHLY_REGULAR:
            return None
        if self.ridge:
            products[np.diag_indices(len(products))] += self.ridge
            factor = factorised(products, lower=True)[0]
        right = moments / weight / scale
        standardised, slopes, largest = np.zeros(len(mean)), right, np.abs(right).max()
        for _ in range(MOST_STEPS):
            if np.abs(slopes).max() <= REFINED * largest:
                return standardised / scale, (slopes, right), len(mean)
            size = np.abs(slopes).max()  # float32 has few small numbers
            step = solved(factor, (slopes / size).astype(np.float32), lower=True)[0]
            standardised = standardised + size * step
            (summed,) = objective.sum_over_shards(_slopes, features, mean, target, standardised / scale)
            slopes = summed / weight / scale - self.ridge * standardised
        return None

    def _minimum(self, mean, products, moments) -> tuple[np.ndarray, tuple, int]:
        """Return the coefficients, the gradient per standard deviation, and the rank of the features."""
        varies, scale = _deviations(np.sqrt(np.diag(products)))
        matrix = products / scale / scale[:, None]
        matrix[~varies], matrix[:, ~varies] = 0.0, 0.0
        right = np.where(varies, moments / scale, 0.0)
        rank, standardised = self._solved(matrix, right, varies)
        gradient = matrix @ standardised + self.ridge * standardised - right
        return np.where(varies, standardised / scale, 0.0), (gradient, right), rank

    def _solved(self, matrix, right, varies) -> tuple[int, np.ndarray]:
        """Return the rank of a matrix of correlations, and the solution of minimum norm."""
        if len(right) >= WIDE and varies.all():
            factorised, condition, solved = scipy.linalg.get_lapack_funcs(CHOLESKY, (matrix,))
            factor, failed = factorised(matrix, lower=True)
            if not failed and condition(factor, np.abs(matrix).sum(axis=0).max(), uplo="L")[0] > REGULAR:
                if self.ridge:
                    factor = factorised(matrix + self.ridge * np.eye(len(right)), lower=True)[0]
                return len(right), solved(factor, right, lower=True)[0]
        values, vectors = np.linalg.eigh(matrix)
        usable, inverse = self._inverse(values)
        return int(usable.sum()), vectors @ (inverse * (vectors.T @ right))

    def _minimum_of_few_rows(self, mean, rows, targets) -> tuple[np.ndarray, tuple, int]:
        """Return the same for fewer documents than features, from the products of documents."""
        varies, scale = _deviations(np.sqrt(np.einsum("ij,ij->j", rows, rows)))
        rows = np.where(varies, rows / scale, 0.0)
        values, vectors = np.linalg.eigh(rows @ rows.T)
        usable, inverse = self._inverse(values)
        standardised = (vectors @ (inverse * (vectors.T @ targets))) @ rows
        right = targets @ rows
        gradient = (rows @ standardised) @ rows + self.ridge * standardised - right
        return np.where(varies, standardised / scale, 0.0), (gradient, right), int(usable.sum())

    def _inverse(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which eigenvalues are not 0, and the inverse of those with the penalty."""
        usable = values > SINGULAR * max(values[-1], 1.0)
        return usable, np.where(usable, 1.0 / np.where(usable, values + self.ridge, 1.0), 0.0)


def _deviations(spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which features vary, and their standard deviations, 1 for the others."""
    varies = spread > 0
    return varies, np.where(varies, spread, 1.0)


def _first_row(objective, features, parts: Sequence[Part]) -> np.ndarray | None:
    """Return the features of the first document of a shard that has a weight, if there is one."""
    for part in parts:
        _, w = part.oracles.targets()
        if w.any():
            return features[part.rows][int(np.argmax(w > 0))].astype(np.float64)
    return None


def _sums(part: Part, rows: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, float, float]:
    y, w = part.oracles.targets()
    return w @ (rows - origin), w @ y, w.sum()


def _products(objective, features, parts: Sequence[Part], mean: np.ndarray, target: float):
    """Return the weighted products of centred features, and those with the targets, over a shard."""
    if len(mean) >= WIDE:  # Adding a matrix costs more than the product of a block of few rows.
        rows, targets = _centred_rows(objective, features, parts, mean, target)
        return rows.T @ rows, targets @ rows
    return added_up(_products_of_part(part, features[part.rows], mean, target) for part in parts)


def _rough_products(objective, features, parts: Sequence[Part], mean: np.ndarray, target: float):
    """Return the lower half of the products in float32; in float64 sums of squares and moments."""
    rows, targets = _centred_rows(objective, features, parts, mean, target)
    columns = rows.astype(np.float32).T
    (syrk,) = scipy.linalg.get_blas_funcs(("syrk",), (columns,))
    products = syrk(1.0, columns, lower=True)
    return products, np.einsum("ij,ij->j", rows, rows), targets @ rows


def _slopes(objective, features, parts: Sequence[Part], mean, target: float, coefficients) -> tuple:
    """Return the products of centred features with the errors that coefficients leave, over a shard."""
    rows, targets = _centred_rows(objective, features, parts, mean, target)
    return ((targets - rows @ coefficients) @ rows,)


def _products_of_part(part: Part, rows: np.ndarray, mean: np.ndarray, target: float):
    y, w = part.oracles.targets()
    centred = rows - mean
    weighted = centred * w[:, None]
    return weighted.T @ centred, (y - target) @ weighted


def _centred_rows(objective, features, parts: Sequence[Part], mean: np.ndarray, target: float):
    """Return the centred features and targets of a shard, times the roots of their weights."""
    y, w = (
        np.concatenate(vectors) for vectors in zip(*(part.oracles.targets() for part in parts), strict=True)
    )
    root = np.sqrt(w)
    rows = features[parts[0].rows.start : parts[-1].rows.stop] - mean
    rows *= root[:, None]
    return rows, (y - target) * root
