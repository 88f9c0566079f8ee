"""The model of cutting planes: planes below a convex risk, and the minimum of the regularised model."""

import numpy as np

from directrank.solvers.cuts.line_search import minimise_on_line
from directrank.solvers.cuts.simplex_qp import solve_blocks

#: How far beyond the best point, towards the minimum of the model, the next plane touches the risk.
BEYOND = 0.1
#: Share of a solver's tolerance to which the model is minimised.
SHARE_OF_TOLERANCE = 0.1


class Planes:
    """Planes below the risk; ½ |w|² + C · the largest of them (or 0) is the model of the objective."""

    idle = 50

    def __init__(self, n_features: int, C: float):
        self.vectors, self.offsets = np.empty((0, n_features)), np.empty(0)
        self.alpha, self.unused = np.empty(0), np.empty(0, np.int64)
        self.C = C

    def add(self, vector: np.ndarray, offset: float) -> None:
        """Add a plane, and remove those without weight for fifty rounds."""
        used = self.unused < self.idle
        self.vectors = np.vstack((self.vectors[used], vector))
        self.offsets = np.append(self.offsets[used], offset)
        self.alpha, self.unused = np.append(self.alpha[used], 0.0), np.append(self.unused[used], 0)

    def solve(self, tolerance: float) -> tuple[np.ndarray, float]:
        """Return the minimiser of the model and a lower bound of its minimum."""
        w = -self.alpha @ self.vectors
        starts, caps = np.array([0, len(self.offsets)]), np.array([self.C])
        bound = solve_blocks(
            self.vectors, self.offsets, starts, caps, self.alpha, w, SHARE_OF_TOLERANCE * tolerance, 2000
        )[1]  # fmt: skip
        self.unused = np.where(self.alpha > 0, 0, self.unused + 1)
        return w, bound


def minimise_model(risk, start: np.ndarray, tolerance: float, max_iterations: int = 300):
    """Minimise ½ |w|² + risk(w) for a convex risk ≥ 0 that is cheap to evaluate.

    Parameters
    ----------
    risk : callable
        From w to the value and a derivative.
    start : ndarray of shape (n_features,)
    tolerance : float
        Largest duality gap, relative to the value.
    max_iterations : int, default=300

    Returns
    -------
    w : ndarray of shape (n_features,)
    value, bound : float
    """
    best, planes = np.array(start), Planes(len(start), 1.0)
    value, point = np.inf, best
    bound = 0.0
    for _ in range(max_iterations):
        height, slope = risk(point)
        planes.add(slope, height - float(slope @ point))
        value = min(value, 0.5 * float(best @ best) + risk(best)[0])
        w, bound = planes.solve(tolerance)
        if value - bound <= tolerance * value:
            break
        move = w - best

        def along(t: float, best=best, move=move) -> tuple[float, float]:
            here = best + t * move
            height, slope = risk(here)
            return 0.5 * float(here @ here) + height, float((here + slope) @ move)

        t, value = minimise_on_line(along)
        best = best + t * move
        point = best + BEYOND * (w - best)
    return best, value, bound
