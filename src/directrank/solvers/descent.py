"""What solvers by gradients minimise, when it is minimal, where they start, and the best so far."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from directrank.contracts import ApproximationErrors, BoundObjective, LinearScorer, Monitor, Part
from directrank.features import scored
from directrank.features.statistics import add_moments
from directrank.solvers.passes import all_scores, sum_over_rows, value_and_gradient
from directrank.timing import tell

#: Largest quotient at a minimum, relative to that at the start, or to 1 where the start is flatter.
STATIONARY = 1e-4


class Problem:
    r"""Minimise :math:`S(\theta) + \frac{\lambda}{2} |\theta|^2` over the parameters of a scorer.

    A gradient is judged in units that follow the scale of features: a component is divided by √(λ + s²), s
    being the standard deviation of its feature. Losses have a second derivative of about 1 in scores, so half
    the square of the quotient is about what the best step along that coefficient alone would gain. What
    counts is the largest quotient, relative to the start.
    """

    def __init__(self, objective: BoundObjective, scorer: Any, features: Any, penalty: float):
        self.objective, self.scorer, self.features, self.penalty = objective, scorer, features, penalty

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
    ) -> Any:
        """Run L-BFGS from a point; return SciPy's result, with `first`, the first gradient.

        `at_iterate` is called at every iterate with the parameters, the value and the largest component of
        the gradient.
        """
        latest, gradients = {}, []

        def function(parameters: np.ndarray):
            value, gradient = self.at(parameters)
            latest[parameters.tobytes()] = (value, float(np.abs(gradient).max()))
            if not gradients:
                gradients.append(gradient)
            return value, gradient

        def callback(parameters: np.ndarray) -> None:
            value, norm = latest[parameters.tobytes()]
            latest.clear()
            tell("objective", value)
            if at_iterate is not None:
                at_iterate(parameters, value, norm)

        result = minimize(
            function, start, jac=True, method="L-BFGS-B", callback=callback,
            options={"maxiter": max_iterations, "gtol": tolerance, "ftol": 1e-12, "maxcor": 20},
        )  # fmt: skip
        result.first = gradients[0]
        return result

    @cached_property
    def unit(self) -> np.ndarray:
        """What components of the gradient are divided by, (n_parameters,)."""
        linear = isinstance(self.scorer, LinearScorer)
        spread = spread_of(self.objective, self.features) if linear else 1.0
        unit = np.sqrt(self.penalty + np.square(spread))
        # A constant feature without a penalty changes no ranking: its coefficient is free.
        return np.where(unit > 0, unit, np.inf)

    def relative(self, gradient: np.ndarray, at_start: np.ndarray) -> float:
        """Return the largest component of a gradient in these units, relative to that at the start."""
        largest, first = (float(np.abs(slope / self.unit).max(initial=0.0)) for slope in (gradient, at_start))
        return largest / max(1.0, first)

    def change(self, before: np.ndarray, after: np.ndarray) -> float:
        """Return how far parameters have moved, relative to their norm, both in these units."""
        length = float(np.linalg.norm(self._scaled(after)))
        return float(np.linalg.norm(self._scaled(after - before)) / max(length, np.finfo(float).tiny))

    def opposed(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Say whether two directions of parameters, in these units, form an obtuse angle."""
        return bool(self._scaled(one) @ self._scaled(other) < 0.0)

    def _scaled(self, parameters: np.ndarray) -> np.ndarray:
        """Return parameters in these units; those that change no ranking are 0."""
        return np.where(np.isfinite(self.unit), self.unit, 0.0) * parameters


def _errors_of_shard(objective, features, parts: Sequence[Part], scorer, parameters) -> np.ndarray:
    total = np.zeros(3)
    for part in parts:
        scores = scorer.forward(parameters, features[part.rows], np.float64)
        errors, bounds = part.oracles.approximation_errors(scores)
        weights = objective.weights[part.queries]
        total[:2] += weights @ errors, weights @ bounds
        total[2] = max(total[2], bounds.max(initial=0.0, where=weights > 0))
    return total


def spread_of(objective: BoundObjective, features: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each feature over all documents, float64 (n_features,)."""
    origin = features[0].astype(np.float64)
    sums, squares = sum_over_rows(objective, _moments, features, origin)
    return np.sqrt(np.maximum(squares - sums * sums / len(features), 0.0) / len(features))


def _moments(part: Part, rows: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sums, squares = np.zeros((2, len(origin)))
    none = np.zeros(0, np.float32), np.zeros(0, np.bool_)
    add_moments(rows, np.ones(len(rows)), *none, origin, sums, squares)
    return sums, squares


class Incumbent:
    """The parameters with the largest value of the monitor so far; the first of equals stays."""

    def __init__(self, scorer, monitor: Monitor):
        self.scorer, self.monitor = scorer, monitor
        self.value, self.parameters = -np.inf, None

    def offer(self, parameters: np.ndarray) -> float:
        """Judge parameters, store them if they are better, and return their value."""
        value = judged(self.monitor, self.scorer.at(parameters))
        if value > self.value:
            self.value, self.parameters = value, np.array(parameters)
        return value


def starting_points(
    scorer, n_features: int, starts: Sequence[np.ndarray], n_restarts: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return the given starts (or the scorer's own), then random directions of unit length."""
    points = [np.asarray(each, np.float64) for each in starts] or [scorer.initial(n_features)]
    for _ in range(n_restarts):
        direction = rng.standard_normal(len(points[0]))
        points.append(direction / np.linalg.norm(direction))
    return points


def judged(monitor: Monitor, scorer) -> float:
    """Return the monitor's value for the scores of a scorer."""
    return monitor(scored(scorer.scores, monitor.features))
