"""Where a search starts."""

from collections.abc import Sequence

import numpy as np


def starting_points(
    scorer, n_features: int, starts: Sequence[np.ndarray], n_restarts: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return the given starts (or the scorer's own), then random directions of unit length."""
    points = [np.asarray(each, np.float64) for each in starts] or [scorer.initial(n_features)]
    for _ in range(n_restarts):
        direction = rng.standard_normal(len(points[0]))
        points.append(direction / np.linalg.norm(direction))
    return points
