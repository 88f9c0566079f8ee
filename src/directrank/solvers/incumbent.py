"""The best parameters so far, judged by the monitor."""

import numpy as np

from directrank.contracts import Monitor


class Incumbent:
    """The parameters with the largest value of the monitor so far; the first of equals stays."""

    def __init__(self, scorer, monitor: Monitor):
        self.scorer, self.monitor = scorer, monitor
        self.value, self.parameters = -np.inf, None

    def offer(self, parameters: np.ndarray) -> float:
        """Judge parameters, store them if they are better, and return their value."""
        value = self.monitor(self.scorer.at(parameters).scores(self.monitor.features))
        if value > self.value:
            self.value, self.parameters = value, np.array(parameters)
        return value
