"""One-slack cutting planes with an exact line search on scores."""

from collections.abc import Sequence

import numpy as np

from directrank.contracts import Part, Solution
from directrank.solvers.cuts.simplex_qp import solve_blocks


class CuttingPlane:
    r"""Cutting planes on the sum over queries, with a line search.

    Minimises :math:`\frac12 |w|^2 + C \sum_q \omega_q \max_\pi H_q(\pi; w)`. Each iteration adds one plane,
    solves the model of all planes, and searches the line from the best point to the model's solution. Scores
    are linear along it, so the search costs no pass over the features; the next plane is taken a little
    beyond the best point.

    Parameters
    ----------
    C : float, default=10.0
        > 0; that of Eq. (8).
    penalty : float, optional
        In place of C: λ > 0 on half the squared norm, the objective being 1 at zero scores, as gradient
        solvers have it. What is reported is then λ/2 |w|² plus that objective.
    line_search : bool, default=True
        Without it, the plain cutting-plane method: many more iterations.
    tolerance : float, default=1e-3
        Largest duality gap, relative to the objective.
    max_iterations : int, default=500
        Two passes over the data each; one without the line search.

    Notes
    -----
    Everything that crosses shards is a sum. The certificate is the gap between the objective and the model's
    minimum.

    References
    ----------
    .. [1] V. Franc, S. Sonnenburg, "Optimized cutting plane algorithm for support vector machines", ICML
       2008.
    .. [2] T. Joachims, T. Finley, C.-N. Yu, "Cutting-plane training of structural SVMs", Machine Learning 77,
       2009.
    """

    needs = frozenset({"most_violated", "value_and_gradient"})
    beyond = 0.1

    def __init__(self, *, C=10.0, penalty=None, line_search=True, tolerance=1e-3, max_iterations=500):
        if not C > 0:
            raise ValueError(f"C must be positive, not {C}")
        if penalty is not None and not penalty > 0:
            raise ValueError(f"penalty must be positive, not {penalty}")
        self.C, self.penalty, self.line_search = float(C), penalty, line_search
        self.tolerance, self.max_iterations = tolerance, max_iterations

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        n_features = features.shape[1]
        best, scores = np.zeros(n_features), np.zeros(objective.n_docs, objective.dtype)
        point, at = best, scores
        unit = 1.0 if self.penalty is None else self.penalty
        C = self.C if self.penalty is None else objective.scale / self.penalty
        planes = _Planes(n_features, C)
        trace: list[dict] = []
        objective_value, status, passes, gap = np.inf, "budget", 0, np.inf
        for iteration in range(1, self.max_iterations + 1):
            risk, vector, offset = self._plane(objective, scorer, features, at)
            planes.add(vector, offset)
            if not self.line_search or iteration == 1:
                value = 0.5 * float(point @ point) + C * risk
                if value < objective_value:
                    best, scores, objective_value = point, at, value
            w, bound = planes.solve(0.1 * self.tolerance)
            passes += 1 + self.line_search
            if objective_value - bound > self.tolerance * objective_value:
                ahead = forward(objective, scorer, features, w)
                if self.line_search:
                    t, objective_value = self._search(objective, C, best, w, scores, ahead)
                    best, scores = best + t * (w - best), scores + t * (ahead - scores)
                    point = best + self.beyond * (w - best)
                    at = scores + objective.dtype(self.beyond) * (ahead - scores)
                else:
                    point, at = w, ahead
            gap = objective_value - bound
            reported = {"objective": objective_value, "bound": bound, "gap": gap}
            trace.append({"iteration": iteration} | {name: unit * each for name, each in reported.items()})
            if gap <= self.tolerance * objective_value:
                status = "converged"
                break
        trace[-1]["monitor"] = monitor(scorer.at(best).scores(monitor.features))
        relative = gap / objective_value
        return Solution(
            scorer.at(best),
            status,
            {
                "duality_gap": unit * gap,
                "objective": unit * objective_value,
                "relative_gap": relative,
                "passes": float(passes),
            },
            trace,
            f"{len(trace)} planes, {passes} passes, duality gap {relative:.2%} of the objective",
        )

    def _plane(self, objective, scorer, features, scores) -> tuple[float, np.ndarray, float]:
        """Return the risk at some scores and the plane that touches it there."""

        def statistic(parts: Sequence[Part]):
            risk, slope, vector = 0.0, 0.0, np.zeros(features.shape[1])
            for part in parts:
                value, direction = part.oracles.value_and_gradient(scores[part.rows])
                risk += value
                slope += float(direction @ scores[part.rows].astype(np.float64))
                vector += scorer.backward(features[part.rows], direction)
            return risk, slope, vector

        risks, slopes, vectors = zip(*objective.map_shards(statistic), strict=True)
        return sum(risks), np.sum(vectors, axis=0), sum(risks) - sum(slopes)

    def _search(self, objective, C, best, w, scores, ahead) -> tuple[float, float]:
        """Minimise along the line from `best` to `w` by its tangents; return the step and the value."""
        move = ahead - scores
        a, b = float(best @ (w - best)), float((w - best) @ (w - best))

        def along(t: float) -> tuple[float, float]:
            s = scores + objective.dtype(t) * move
            risk, slope = _line(objective, s, move)
            quadratic = 0.5 * float(best @ best) + t * a + 0.5 * t * t * b
            return quadratic + C * risk, a + t * b + C * slope

        return minimise_on_line(along)


def minimise_on_line(along, tolerance: float = 1e-6, max_steps: int = 40) -> tuple[float, float]:
    """Minimise a convex function of t ≥ 0 that returns value and slope; return the best t and its value.

    The bracket is cut where the tangents of its ends meet, or in the middle when that does not shrink it.
    """
    low, (value, slope) = 0.0, along(0.0)
    best = (value, 0.0)
    if slope >= 0:
        return 0.0, value
    low_value, low_slope = value, slope
    high = 1.0
    high_value, high_slope = along(high)
    while high_slope < 0 and high < 1e6:
        best = min(best, (high_value, high))
        low, low_value, low_slope = high, high_value, high_slope
        high *= 2.0
        high_value, high_slope = along(high)
    best = min(best, (high_value, high))
    for step in range(max_steps):
        meet = (high_value - low_value + low_slope * low - high_slope * high) / (low_slope - high_slope)
        below = low_value + low_slope * (meet - low)
        if best[0] - below <= tolerance * abs(best[0]) or high - low <= 1e-12 * high:
            break
        t = 0.5 * (low + high) if step % 3 == 2 or not low < meet < high else meet
        value, slope = along(t)
        best = min(best, (value, t))
        if slope < 0:
            low, low_value, low_slope = t, value, slope
        else:
            high, high_value, high_slope = t, value, slope
    return best[1], best[0]


def forward(objective, scorer, features: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return all scores, in one pass over the shards."""
    scores = np.empty(objective.n_docs, objective.dtype)

    def statistic(parts: Sequence[Part]) -> None:
        for part in parts:
            scores[part.rows] = scorer.forward(w, features[part.rows], objective.dtype)

    objective.map_shards(statistic)
    return scores


def _line(objective, scores: np.ndarray, move: np.ndarray) -> tuple[float, float]:
    def statistic(parts: Sequence[Part]) -> tuple[float, float]:
        risk, slope = 0.0, 0.0
        for part in parts:
            value, direction = part.oracles.value_and_gradient(scores[part.rows])
            risk += value
            slope += float(direction @ move[part.rows].astype(np.float64))
        return risk, slope

    risks, slopes = zip(*objective.map_shards(statistic), strict=True)
    return sum(risks), sum(slopes)


class _Planes:
    """The model: planes below the risk, and the minimum of the regularised model."""

    idle = 50

    def __init__(self, n_features: int, C: float):
        self.vectors, self.offsets = np.empty((0, n_features)), np.empty(0)
        self.alpha, self.unused = np.empty(0), np.empty(0, np.int64)
        self.C = C

    def add(self, vector: np.ndarray, offset: float):
        """Add a plane; those without weight for fifty rounds go."""
        kept = self.unused < self.idle
        self.vectors = np.vstack((self.vectors[kept], vector))
        self.offsets = np.append(self.offsets[kept], offset)
        self.alpha, self.unused = np.append(self.alpha[kept], 0.0), np.append(self.unused[kept], 0)

    def solve(self, tolerance: float) -> tuple[np.ndarray, float]:
        """Return the model's solution and a lower bound of its minimum."""
        w = -self.alpha @ self.vectors
        starts, caps = np.array([0, len(self.offsets)]), np.array([self.C])
        bound = solve_blocks(
            self.vectors, self.offsets, starts, caps, self.alpha, w, tolerance, 2000
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
    best, planes = np.array(start), _Planes(len(start), 1.0)
    value, point = np.inf, best
    bound = 0.0
    for _ in range(max_iterations):
        height, slope = risk(point)
        planes.add(slope, height - float(slope @ point))
        value = min(value, 0.5 * float(best @ best) + risk(best)[0])
        w, bound = planes.solve(0.1 * tolerance)
        if value - bound <= tolerance * value:
            break
        move = w - best

        def along(t: float, best=best, move=move) -> tuple[float, float]:
            here = best + t * move
            height, slope = risk(here)
            return 0.5 * float(here @ here) + height, float((here + slope) @ move)

        t, value = minimise_on_line(along)
        best = best + t * move
        point = best + CuttingPlane.beyond * (w - best)
    return best, value, bound
