"""One-slack cutting planes with an exact line search on scores."""

import numpy as np

from directrank.contracts import Part, Solution, Solver, ValueAndGradient
from directrank.solvers.descent import judged
from directrank.solvers.passes import all_scores, sum_over_parts, sum_over_rows
from directrank.solvers.planes import BEYOND, Model, minimise_on_line


class CuttingPlane(Solver):
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
        In place of C: λ > 0 on half the squared norm, the objective being 1 at zero scores, as for gradient
        solvers. The objective reported is then λ/2 |w|² plus that objective.
    line_search : bool, default=True
        Without it, the plain cutting-plane method: many more iterations.
    tolerance : float, default=1e-3
        Largest duality gap, relative to the objective.
    max_iterations : int, default=500
        Two passes over the data each; one without the line search.

    Notes
    -----
    Shards exchange sums only. The certificate is the gap between the objective and the model's
    minimum.

    References
    ----------
    .. [1] V. Franc, S. Sonnenburg, "Optimized cutting plane algorithm for support vector machines", ICML
       2008.
    .. [2] T. Joachims, T. Finley, C.-N. Yu, "Cutting-plane training of structural SVMs", Machine Learning 77,
       2009.
    """

    needs = frozenset({ValueAndGradient})
    convex_only = True
    chooses = False
    sums_over_shards = True

    def __init__(self, *, C=10.0, penalty=None, line_search=True, tolerance=1e-3, max_iterations=500):
        if not C > 0:
            raise ValueError(f"C must be positive, not {C}")
        if penalty is not None and not penalty > 0:
            raise ValueError(f"penalty must be positive, not {penalty}")
        self.C, self.penalty, self.line_search = float(C), penalty, line_search
        self.tolerance, self.max_iterations = tolerance, max_iterations

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        # The objective is reported in units of 1, or of λ where the penalty is given.
        unit = 1.0 if self.penalty is None else self.penalty
        C = self.C if self.penalty is None else objective.scale / self.penalty
        run = _Run(objective, scorer, features, C)
        trace: list[dict] = []
        status = "budget"
        for iteration in range(1, self.max_iterations + 1):
            run.add_plane(judge=not self.line_search or iteration == 1)
            w, run.bound = run.model.minimise(self.tolerance)
            if run.value - run.bound > self.tolerance * run.value:
                if self.line_search:
                    run.search(w)
                else:
                    run.point, run.at = w, all_scores(objective, scorer, w, features)
            gap = run.value - run.bound
            reported = {"objective": run.value, "bound": run.bound, "gap": gap}
            trace.append({"iteration": iteration} | {name: unit * value for name, value in reported.items()})
            if abs(gap) <= self.tolerance * run.value:
                status = "converged"
                break
        solved, last = scorer.at(run.best), trace[-1]
        last["monitor"] = judged(monitor, solved)
        passes, relative = len(trace) * (1 + self.line_search), last["gap"] / last["objective"]
        certificate = {
            "duality_gap": last["gap"],
            "objective": last["objective"],
            "relative_gap": relative,
            "passes": float(passes),
        }
        message = f"{len(trace)} planes, {passes} passes, duality gap {relative:.2%} of the objective"
        return Solution(solved, status, certificate, trace, message)


class _Run:
    """One run: the model, the best point with its scores, and the point where the next plane touches."""

    def __init__(self, objective, scorer, features: np.ndarray, C: float):
        self.objective, self.scorer, self.features, self.C = objective, scorer, features, C
        self.model = Model(features.shape[1], C)
        self.best, self.scores = np.zeros(features.shape[1]), np.zeros(objective.n_docs, objective.dtype)
        self.point, self.at = self.best, self.scores
        self.value, self.bound = np.inf, 0.0

    def add_plane(self, judge: bool) -> None:
        """Add the plane that touches the risk at the current point; `judge` whether the point is the best."""
        risk, slope, vector = sum_over_rows(
            self.objective, _plane_of_part, self.features, self.scorer, rows=(self.at,)
        )
        self.model.add(vector, risk - slope)
        value = 0.5 * float(self.point @ self.point) + self.C * risk
        if judge and value < self.value:
            self.best, self.scores, self.value = self.point, self.at, value

    def search(self, w: np.ndarray) -> None:
        """Search the line from the best point to w, and take the next plane a little beyond the minimum."""
        best, ahead = self.best, all_scores(self.objective, self.scorer, w, self.features)
        move, dtype = ahead - self.scores, self.objective.dtype
        a, b = float(best @ (w - best)), float((w - best) @ (w - best))

        def along(t: float) -> tuple[float, float]:
            scores = self.scores + dtype(t) * move

            def statistic(part: Part) -> tuple[float, float]:
                value, direction = part.oracles.value_and_gradient(scores[part.rows])
                return value, float(direction @ move[part.rows].astype(np.float64))

            risk, slope = sum_over_parts(self.objective, statistic)
            quadratic = 0.5 * float(best @ best) + t * a + 0.5 * t * t * b
            return quadratic + self.C * risk, a + t * b + self.C * slope

        t, self.value = minimise_on_line(along)
        self.best, self.scores = best + t * (w - best), self.scores + t * move
        self.point = self.best + BEYOND * (w - self.best)
        self.at = self.scores + dtype(BEYOND) * (ahead - self.scores)


def _plane_of_part(part: Part, rows: np.ndarray, scorer, scores) -> tuple[float, float, np.ndarray]:
    value, direction = part.oracles.value_and_gradient(scores)
    return value, float(direction @ scores.astype(np.float64)), scorer.backward(rows, direction)
