"""The monitor of a fit: the mean of a measure on some queries, under the standard convention."""

import math

import numpy as np

from directrank.contracts import Measure
from directrank.data.groups import QueryGroups
from directrank.measures import mean_values
from directrank.timing import phase, tell


class MeanMonitor:
    """The mean of a measure over queries, for scores of their documents: a `directrank.contracts.Monitor`."""

    def __init__(self, measure: Measure, groups: QueryGroups, weights: np.ndarray | None = None):
        self.measure, self.groups, self.weights = measure, groups, weights
        self.features = groups.features

    def __call__(self, scores: np.ndarray) -> float:
        """Return the mean for scores in the inner order, or minus infinity if a score is not finite."""
        if not np.isfinite(scores).all():
            return -math.inf
        with phase("monitor"):
            value = mean_values([self.measure], self.groups.queries, scores, self.weights, n_threads=1)[0]
        tell(self.measure.name, value)
        return value
