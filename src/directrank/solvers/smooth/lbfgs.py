"""L-BFGS on the whole objective, from one or several starts."""

import numpy as np

from directrank.contracts import Solution, Solver
from directrank.oracles import ApproximationErrors, GradientKernel, Staged, ValueAndGradient
from directrank.solvers.incumbent import Incumbent
from directrank.solvers.smooth.descent import descend
from directrank.solvers.smooth.passes import approximation_row
from directrank.solvers.smooth.starts import starting_points


class LBFGS(Solver):
    r"""Limited-memory BFGS with an L2 penalty, from one or several starts.

    Minimises :math:`S(\theta) + \frac{\lambda}{2} |\theta|^2`, S being 1 at zero scores.

    Parameters
    ----------
    penalty : float, default=1e-3
        λ ≥ 0. Without it the parameters of an approximation grow and its steepness loses its meaning.
    n_restarts : int, default=0
        Random starts beside the first.
    starts : sequence of ndarray of shape (n_parameters,), default=()
        First starts, such as the coefficients of a fitted ranker; zeros if there are none.
    max_iterations : int, default=200
        For each start.
    tolerance : float, default=1e-6
        Largest component of the gradient at convergence.
    keep : {"last", "best"}, default="last"
        Of each start, its end or its best iterate by the monitor. Among starts the monitor decides.
    certify : {"ends", "all"}, default="ends"
        Where the trace holds the error of an approximation of a measure, with its proved bound: at the end of
        each start, or at every iterate, which doubles the time.

    Notes
    -----
    Every start passes through the easier objectives of an annealed surrogate, each from where the one before
    ended; its rows of the trace then name the `stage`. The certificate is the norm of the gradient at the end
    of the start that is returned.
    """

    needs = frozenset({ValueAndGradient})
    uses = frozenset({ApproximationErrors, GradientKernel, Staged})

    def __init__(
        self, *, penalty=1e-3, n_restarts=0, starts=(), max_iterations=200, tolerance=1e-6, keep="last",
        certify="ends",
    ):  # fmt: skip
        self.penalty, self.n_restarts, self.starts = penalty, n_restarts, starts
        self.max_iterations, self.tolerance, self.keep = max_iterations, tolerance, keep
        self.certify = certify

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        incumbent = Incumbent(scorer, monitor)
        trace: list[dict] = []
        end = {}
        points = starting_points(scorer, features.shape[1], self.starts, self.n_restarts, rng)
        for start, point in enumerate(points):
            before = incumbent.value
            found = self._from_start(objective, scorer, features, point, start, incumbent, trace)
            if incumbent.value > before or not end:
                end = found
        return Solution(
            scorer.at(incumbent.parameters),
            end["status"],
            {"gradient_norm": end["gradient_norm"], "objective": end["objective"]},
            trace,
            f"start {end['start']} of {len(points)}: {end['message']}",
        )

    def _from_start(self, objective, scorer, features, point, start, incumbent, trace) -> dict:
        """Minimise the stages one after the other, then the objective; return how it ended."""
        labels: dict = {"start": start}
        for stage, easier in enumerate(objective.stages):
            labels["stage"] = stage
            point = self._minimise(easier, scorer, features, point, dict(labels), incumbent, trace).x
        if objective.stages:
            labels["stage"] = len(objective.stages)
        result = self._minimise(objective, scorer, features, point, labels, incumbent, trace)
        norm = float(np.abs(result.jac).max())
        end = {"objective": float(result.fun), "gradient_norm": norm}
        errors = approximation_row(objective, scorer, result.x, features)
        trace.append(labels | end | {"monitor": incumbent.offer(result.x)} | errors)
        return {
            "start": start,
            **end,
            "status": _status(result, norm, self.tolerance),
            "message": f"{result.nit} iterations, largest component of the gradient {norm:.1e}",
        }

    def _minimise(self, objective, scorer, features, point, labels, incumbent, trace):
        def at_iterate(parameters: np.ndarray, value: float, norm: float) -> None:
            row = labels | {"objective": value, "gradient_norm": norm}
            if self.keep == "best":
                row["monitor"] = incumbent.offer(parameters)
            if self.certify == "all":
                row |= approximation_row(objective, scorer, parameters, features)
            trace.append(row)

        return descend(
            objective, scorer, features, point, penalty=self.penalty, max_iterations=self.max_iterations,
            tolerance=self.tolerance, at_iterate=at_iterate,
        )  # fmt: skip


def _status(result, norm: float, tolerance: float) -> str:
    # float32 scores limit how far a line search can go. A gradient that is small by then has converged.
    if result.success or norm <= 100 * tolerance:
        return "converged"
    return "budget" if result.status == 1 else "stopped"
