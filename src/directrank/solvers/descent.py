"""What solvers by gradients minimise, when it is minimal, where they start, and the best so far."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from directrank.contracts import (
    ApproximationErrors,
    LinearScorer,
    Monitor,
    ObjectiveOracles,
    Part,
)
from directrank.features import scored
from directrank.features.sharing import once
from directrank.features.statistics import add_moments
from directrank.solvers.passes import all_scores, sum_over_rows, value_and_gradient
from directrank.timing import tell

#: Largest quotient at a minimum, relative to that at the start, or to 1 where the start is flatter.
STATIONARY = 1e-4
#: Iterations of L-BFGS before it whitens features, or one in so many parameters.
FEW = 10
#: Share of a feature's spread that no others explain, at least, so that the features can be whitened.
LEAST = 1e-6
#: A component of a gradient of whitened features that is rounding in float32.
ROUNDING = 1e-5
#: From so many features on, fewer documents have coordinates of their own, which are rounded to float32.
WIDE = 512
#: Of more documents the coordinates take longer than most fits: their cost grows as the square.
MOST_DOCUMENTS = 1000


class Problem:
    r"""Minimise :math:`S(\theta) + \frac{\lambda}{2} |\theta|^2` over the parameters of a scorer.

    A gradient is judged in units that follow the scale of features: a component is divided by √(λ + s²), s
    being the standard deviation of its feature. Losses have a second derivative of about 1 in scores, so half
    the square of the quotient is about what the best step along that coefficient alone would gain. What
    counts is the largest quotient, relative to the start.
    """

    def __init__(self, objective: ObjectiveOracles, scorer: Any, features: Any, penalty: float):
        self.objective, self.scorer, self.features, self.penalty = objective, scorer, features, penalty
        self.is_linear = isinstance(scorer, LinearScorer)
        #: Iterations of L-BFGS before it whitens: it costs as much as some, which may be enough.
        self.n_unwhitened = max(FEW, features.shape[1] // FEW)

    def at(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and its derivative, in one pass over the features."""
        value, gradient = value_and_gradient(self.objective, self.scorer, parameters, self.features)
        value += float(0.5 * self.penalty * parameters @ parameters)
        return value, gradient + self.penalty * parameters

    def scores(self, parameters: np.ndarray) -> np.ndarray:
        """Return the scores of all documents, in one pass over the features."""
        return all_scores(self.objective, self.scorer, parameters, self.features)

    def approximation_errors(self, parameters: np.ndarray) -> dict[str, float]:
        """Return the errors of an approximation for the trace; nothing if the objective does not offer them.

        They are the weighted means over queries of the error and of its proved bound, and the largest bound.
        """
        if ApproximationErrors not in self.objective.offers:
            return {}
        shards = self.objective.over_shards(_errors_of_shard, self.features, self.scorer, parameters)
        error, bound = np.array(shards)[:, :2].sum(axis=0)
        return {
            "approximation_error": float(error),
            "certified_error": float(bound),
            "largest_certified_error": float(np.array(shards)[:, 2].max()),
        }

    def minimise(
        self,
        start: np.ndarray,
        max_iterations: int,
        tolerance: float,
        at_iterate: Callable[[np.ndarray, float, float], None] | None = None,
        at_start: tuple[float, np.ndarray] | None = None,
    ) -> Any:
        """Run L-BFGS from a point; return SciPy's result, with `first`, the first gradient, and `flat`.

        It ends where the largest component of the gradient is at most the tolerance. Convex losses of linear
        scorers that take long are minimised over whitened features; the gradient that ends them is of those.
        `at_iterate` is called at every iterate with the parameters, the value and the largest component of
        the gradient. The value and gradient `at_start` are computed unless they are given. `flat` says that
        a loss that is not convex has hardly a slope where all scores are equal, and was not left.
        """
        n_unwhitened = self.n_unwhitened if self.whitens else max_iterations
        result = self._run(start, None, min(n_unwhitened, max_iterations), tolerance, at_iterate, at_start)
        if result.status != 1 or result.nit >= max_iterations:
            return result
        least = ROUNDING if self.objective.dtype == np.float32 else 0.0
        more, tolerance = max_iterations - result.nit, max(tolerance, least)
        again = self._run(result.x, self.whitening, more, tolerance, at_iterate)
        again.nit, again.first, again.flat = again.nit + result.nit, result.first, result.flat
        return again

    def _run(self, start, whitening, max_iterations, tolerance, at_iterate, at_start=None) -> Any:
        latest, gradients = {}, []
        if whitening is not None:
            start = np.linalg.solve(whitening.T, start)

        def parameters_at(point: np.ndarray) -> np.ndarray:
            return point if whitening is None else point @ whitening

        flat = False
        if not self.objective.is_convex and not start.any():
            # Where scores are all equal a smooth approximation can be flat, and is no minimum there.
            at_start = at_start or self.at(parameters_at(start))
            flat = float(np.abs(at_start[1]).max()) <= tolerance

        def function(point: np.ndarray):
            at_known = None if gradients else at_start
            value, gradient = at_known or self.at(parameters_at(point))
            latest[point.tobytes()] = (value, float(np.abs(gradient).max()))
            if not gradients:
                gradients.append(gradient)
            return value, gradient if whitening is None else whitening @ gradient

        def callback(point: np.ndarray) -> None:
            value, norm = latest[point.tobytes()]
            latest.clear()
            tell("objective", value)
            if at_iterate is not None:
                at_iterate(parameters_at(point), value, norm)
            if flat and norm <= tolerance:
                raise StopIteration  # SciPy then returns where it is.

        least = 0.0 if flat else tolerance
        result = scipy.optimize.minimize(
            function, start, jac=True, method="L-BFGS-B", callback=callback,
            options={"maxiter": max_iterations, "gtol": least, "ftol": 1e-12, "maxcor": 20},
        )  # fmt: skip
        result.first, result.x = gradients[0], parameters_at(result.x)
        result.flat = flat and at_start is not None and at_start[0] - result.fun < tolerance
        if whitening is not None:
            result.jac = np.linalg.solve(whitening, result.jac)
        return result

    @cached_property
    def row_space(self) -> tuple[Any, np.ndarray | None]:
        """`in_row_space` of the features: the minimum lies in that space, if there is one, and a penalty."""
        return in_row_space(self.features) if self.whitens and self.penalty > 0 else (self.features, None)

    def begun(
        self, start: np.ndarray, descend: Callable[["Problem", np.ndarray, np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return where steps in the documents' coordinates end, and the features' gradient at the start.

        `descend` is called with the problem in coordinates, the start in them, and their basis, and returns
        coordinates. They are rounded, so that the caller has to end on the features. Where there are no
        coordinates, the start is returned, and None.
        """
        rows, basis = self.row_space
        if basis is None:
            return start, None
        inner = Problem(self.objective, self.scorer, rows, self.penalty)
        # But for rounding, L-BFGS makes the same steps in any orthogonal basis.
        inner.n_unwhitened = self.n_unwhitened
        return descend(inner, basis @ start, basis) @ basis, self.at(start)[1]

    @property
    def whitens(self) -> bool:
        """Whether L-BFGS whitens features; where a loss is not convex it would end elsewhere."""
        return self.objective.is_convex and self.is_linear

    @cached_property
    def whitening(self) -> np.ndarray:
        r"""A matrix W of which :math:`(W^T W)^{-1}` is about the second derivative in the parameters.

        Losses have one of about 1 in scores: it is the scatter of features inside queries, and λ.
        """
        inputs = self.features, self.objective.weights.tobytes()
        (scatter,) = once(
            "scatter", inputs, lambda: self.objective.sum_over_shards(_scatter_of_shard, self.features)
        )
        matrix = scatter + self.penalty * np.eye(self.features.shape[1])
        unit = np.sqrt(np.diag(matrix))
        unit[unit == 0.0] = 1.0
        correlations = matrix / np.outer(unit, unit) + LEAST * np.eye(len(unit))
        return np.linalg.inv(np.linalg.cholesky(correlations)) / unit

    @cached_property
    def unit(self) -> np.ndarray:
        """What components of the gradient are divided by, (n_parameters,)."""
        spread = spread_of(self.objective, self.features) if self.is_linear else 1.0
        unit = np.sqrt(self.penalty + np.square(spread))
        # A constant feature without a penalty changes no ranking: its coefficient is free.
        return np.where(unit > 0, unit, np.inf)

    def relative(self, gradient: np.ndarray, at_start: np.ndarray) -> float:
        """Return the largest component of a gradient in these units, relative to that at the start."""
        largest, first = np.abs((gradient, at_start) / self.unit).max(axis=1, initial=0.0).tolist()
        return largest / max(1.0, first)

    def change(self, before: np.ndarray, after: np.ndarray) -> float:
        """Return how far parameters have moved, relative to their norm, both in these units."""
        length = float(np.linalg.norm(self._scaled(after)))
        return float(np.linalg.norm(self._scaled(after - before)) / max(length, np.finfo(float).tiny))

    def opposed(self, first: np.ndarray, other: np.ndarray) -> bool:
        """Say whether two directions of parameters, in these units, form an obtuse angle."""
        return bool(self._scaled(first) @ self._scaled(other) < 0.0)

    def _scaled(self, parameters: np.ndarray) -> np.ndarray:
        """Return parameters in these units; those that change no ranking are 0."""
        return np.where(np.isfinite(self.unit), self.unit, 0.0) * parameters


def _scatter_of_shard(objective, features, parts: Sequence[Part]) -> tuple[np.ndarray]:
    total = np.zeros((features.shape[1], features.shape[1]))
    for part in parts:
        rows, sizes = features[part.rows].astype(np.float64), np.diff(part.ends)
        rows -= np.repeat(np.add.reduceat(rows, part.ends[:-1]) / sizes[:, None], sizes, axis=0)
        rows *= np.repeat(np.sqrt(objective.weights[part.queries] / sizes), sizes)[:, None]
        total += rows.T @ rows
    return (total,)


def _errors_of_shard(objective, features, parts: Sequence[Part], scorer, parameters) -> np.ndarray:
    total = np.zeros(3)
    for part in parts:
        scores = scorer.forward(parameters, features[part.rows], np.float64)
        errors, bounds = part.oracles.approximation_errors(scores)
        weights = objective.weights[part.queries]
        total[:2] += weights @ errors, weights @ bounds
        total[2] = max(total[2], bounds.max(initial=0.0, where=weights > 0))
    return total


def in_row_space(features: Any) -> tuple[Any, np.ndarray | None]:
    """Return features in a basis of the documents' own space where they are more than the documents, and it.

    The rows of the basis have length 1 and are orthogonal, so that a scorer's penalty and its scores are
    those of ``coefficients @ basis`` on the features themselves; a minimum with a penalty lies in this space.
    With fewer than `WIDE` features, more documents than features or than `MOST_DOCUMENTS`, or features in
    other processes, the features are as they are, and there is no basis. Coordinates are rounded to float32:
    with large offsets of features, or with features of very different sizes, the minimum is another one than
    that on the features.
    """
    least = max(len(features) + 1, WIDE)
    if not isinstance(features, np.ndarray) or len(features) > MOST_DOCUMENTS or features.shape[1] < least:
        return features, None
    return once("row space", (features,), lambda: _row_space(features))


def _row_space(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    answer: Any = scipy.linalg.qr(features.T.astype(np.float64), mode="economic", pivoting=True)
    columns, factor, order = answer
    sizes = np.abs(np.diag(factor))  # They fall; those of documents that others explain are rounding.
    rank = max(1, int(np.count_nonzero(sizes > sizes[0] * max(features.shape) * np.finfo(float).eps)))
    coordinates = np.empty((len(features), rank), np.float32)
    coordinates[order] = factor[:rank].T
    # Where a feature is 0 in all documents, the basis is not 0 but rounding.
    return coordinates, np.where(features.any(axis=0), columns[:, :rank].T, 0.0)


def spread_of(objective: ObjectiveOracles, features: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each feature over all documents, float64 (n_features,)."""
    origin = features[0].astype(np.float64)
    sums, squares = once("moments", (features,), lambda: sum_over_rows(objective, _moments, features, origin))
    return np.sqrt(np.maximum(squares - sums * sums / len(features), 0.0) / len(features))


def _moments(part: Part, rows: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sums, squares = np.zeros((2, len(origin)))
    add_moments(rows, np.ones(len(rows)), np.full(len(origin), np.nan, np.float32), origin, sums, squares)
    return sums, squares


class Incumbent:
    """The parameters with the largest value of the monitor so far; the first of equals stays."""

    def __init__(self, scorer, monitor: Monitor):
        self.scorer, self.monitor = scorer, monitor
        self.value, self.parameters = -np.inf, None

    def offer(self, parameters: np.ndarray) -> float:
        """Judge parameters, store them if they are better, and return their value."""
        return self.offer_scores(parameters, scored(self.scorer.at(parameters).scores, self.monitor.features))

    def offer_scores(self, parameters: np.ndarray, scores: np.ndarray) -> float:
        """`offer` parameters whose scores of the monitor's documents are known."""
        value = self.monitor(scores)
        if value > self.value:
            self.value, self.parameters = value, np.array(parameters)
        return value


def starting_points(scorer, n_features: int, n_restarts: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the parameters of the scorer, then random directions of unit length."""
    points = [scorer.initial(n_features)]
    for _ in range(n_restarts):
        direction = rng.standard_normal(len(points[0]))
        points.append(direction / np.linalg.norm(direction))
    return points


def judged(monitor: Monitor, scorer) -> float:
    """Return the monitor's value for the scores of a scorer."""
    return monitor(scored(scorer.scores, monitor.features))
