"""One pass over the features: value and gradient with respect to the parameters, and approximation errors."""

from collections.abc import Sequence

import numpy as np

from directrank.contracts import ApproximationErrors, BoundObjective, Part
from directrank.solvers.smooth.streaming import can_stream, stream
from directrank.solvers.sums import added_up, sum_over_rows


def value_and_gradient(
    objective: BoundObjective, scorer, parameters: np.ndarray, features: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the objective at `parameters` and its derivative, in one pass over the features.

    Each shard streams its blocks: scores, gradient with respect to scores and the product with the features
    follow each other while a block is in the processor's cache. Shards are added in index order.
    """
    typed = parameters.astype(objective.dtype)
    if can_stream(objective, scorer):
        value, gradient = added_up(stream(objective, scorer, typed, features))
    else:
        value, gradient = sum_over_rows(objective, _of_part, features, scorer, typed)
    return objective.scale * value, objective.scale * gradient


def _of_part(part: Part, rows: np.ndarray, scorer, typed: np.ndarray) -> tuple[float, np.ndarray]:
    value, slope = part.oracles.value_and_gradient(scorer.forward(typed, rows, typed.dtype.type))
    return value, scorer.backward(rows, slope)


def penalised(
    objective: BoundObjective, scorer, parameters: np.ndarray, features: np.ndarray, penalty: float
) -> tuple[float, np.ndarray]:
    """Return the objective with half the penalty times the squared norm, and its derivative."""
    value, gradient = value_and_gradient(objective, scorer, parameters, features)
    return value + float(0.5 * penalty * parameters @ parameters), gradient + penalty * parameters


def approximation_row(objective: BoundObjective, scorer, parameters, features) -> dict[str, float]:
    """Return the errors of an approximation for the trace, or nothing if the objective does not offer them.

    They are the weighted means over queries of the error and of its proved bound, and the largest bound.
    """
    if ApproximationErrors not in objective.offers:
        return {}

    results = np.array(objective.over_shards(_errors_of_shard, features, scorer, parameters))
    error, bound = results[:, :2].sum(axis=0)
    return {
        "approximation_error": float(error),
        "certified_error": float(bound),
        "largest_certified_error": float(results[:, 2].max()),
    }


def _errors_of_shard(objective, features, parts: Sequence[Part], scorer, parameters) -> np.ndarray:
    total = np.zeros(3)
    for part in parts:
        scores = scorer.forward(parameters, features[part.rows], np.float64)
        errors, bounds = part.oracles.approximation_errors(scores)
        weights = objective.weights[part.queries]
        total[:2] += weights @ errors, weights @ bounds
        total[2] = max(total[2], bounds.max(initial=0.0, where=weights > 0))
    return total
