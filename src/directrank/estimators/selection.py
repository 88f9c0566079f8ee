"""The monitor of a run: a measure on the validation part, or on training, under the standard convention."""

import math

import numpy as np

from directrank.contracts import Measure
from directrank.data.groups import QueryGroups
from directrank.measures.positions import positions_of


def mean_measure(
    measure: Measure, groups: QueryGroups, scores: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Return the mean of a measure over queries, with expected ties; a query without a value counts as 0.

    Parameters
    ----------
    measure : Measure
    groups : QueryGroups
    scores : ndarray of shape (n_docs,)
        In the inner order.
    weights : ndarray of shape (n_queries,), optional
    """
    queries = groups.queries
    values = measure.query_values(queries, positions_of(queries, scores, leading=measure.leading(queries)))
    if weights is None:
        return math.fsum(values) / len(values)
    return math.fsum(values * weights) / math.fsum(weights)


class MeanMonitor:
    """The mean of a measure for scores of some documents; what `directrank.contracts.Monitor` asks for."""

    def __init__(self, measure: Measure, groups: QueryGroups, weights: np.ndarray | None = None):
        self.measure, self.groups, self.weights = measure, groups, weights
        self.features = groups.features

    def __call__(self, scores: np.ndarray) -> float:
        """Return the mean for scores in the inner order; scores that are not finite are worth nothing."""
        if not np.isfinite(scores).all():
            return -math.inf
        return mean_measure(self.measure, self.groups, scores, self.weights)
