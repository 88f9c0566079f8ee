"""Where the starts of a search are, and the best parameters it has reached."""

from collections.abc import Sequence

import numpy as np

from directrank.contracts import Monitor
from directrank.features import scored


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
    return monitor(scored(scorer, monitor.features))
