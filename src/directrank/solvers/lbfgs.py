"""L-BFGS on the whole objective, from one or several starts."""

from functools import partial
from typing import Any

import numpy as np
import scipy

from directrank.contracts import (
    ApproximationErrors,
    GradientKernel,
    Solution,
    Solver,
    Staged,
    ValueAndGradient,
)
from directrank.errors import check_not_negative
from directrank.solvers.descent import STATIONARY, Incumbent, Problem, starting_points

#: `LBFGS.least_decrease` is that of so many iterations.
SPAN = 20


class LBFGS(Solver):
    r"""Limited-memory BFGS with an L2 penalty, from one or several starts.

    Minimises :math:`S(\theta) + \frac{\lambda}{2} |\theta|^2`, S being 1 at zero scores.

    Parameters
    ----------
    penalty : float, default=1e-3
        λ ≥ 0. Without it the parameters of an approximation grow and its steepness loses its meaning.
    n_restarts : int, default=0
        Random starts beside the parameters of the scorer, zeros if it has none.
    annealing : int, default=0
        Values of the objective that simulated annealing reads, in a cube around zero that holds all
        directions of unit length; the first start is then the best point that it finds from there.
    max_iterations : int, default=200
        For each start.
    tolerance : float, default=1e-6
        Stop at this largest component of the gradient, of whitened features where `Problem` whitens them.
    least_decrease : float, default=0.0
        Stop when twenty iterations have lowered the objective by a smaller share of it; the run is complete.
    keep : {"last", "best"}, default="last"
        Of each start, its end or its best iterate by the monitor. Among starts the monitor decides.
    certify : {"ends", "all"}, default="ends"
        Where the trace holds the error of an approximation of a measure, with its proved bound: at the end of
        each start, or at every iterate, which doubles the time.

    Notes
    -----
    Every start passes through the easier objectives of an annealed surrogate, each from where the one before
    ended; its rows of the trace then name the `stage`. The certificate is the gradient at the end of the
    start that is returned: its largest component, and that in the units of `Problem`, which decides
    whether the run has converged, however it stopped.

    From 512 features on, with fewer documents, at most 1,000, and a penalty, iterations on a convex loss
    begin in as many coordinates as there are documents, in which the problem is the same but for rounding;
    they end on the features, of which the certificate is. In rows of the trace from iterations in coordinates
    there is no gradient.
    """

    needs = frozenset({ValueAndGradient})
    uses = frozenset({ApproximationErrors, GradientKernel, Staged})
    sums_over_shards = True

    def __init__(
        self, *, penalty=1e-3, n_restarts=0, annealing=0, max_iterations=200, tolerance=1e-6,
        least_decrease=0.0, keep="last", certify="ends",
    ):  # fmt: skip
        check_not_negative("penalty", penalty)
        check_not_negative("least_decrease", least_decrease)
        self.penalty, self.n_restarts = penalty, n_restarts
        self.max_iterations, self.tolerance, self.least_decrease = max_iterations, tolerance, least_decrease
        self.keep, self.certify, self.annealing = keep, certify, annealing
        self.chooses = keep == "best" or n_restarts > 0

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        incumbent, problem = Incumbent(scorer, monitor), Problem(objective, scorer, features, self.penalty)
        trace: list[dict] = []
        end: dict[str, Any] = {}
        points = starting_points(scorer, features.shape[1], self.n_restarts, rng)
        if self.annealing:
            points[0] = scipy.optimize.dual_annealing(
                lambda point: problem.at(point)[0], [(-1.0, 1.0)] * len(points[0]), initial_temp=1.0,
                maxiter=self.annealing, maxfun=self.annealing, no_local_search=True,
                x0=np.clip(points[0], -1.0, 1.0),
                seed=int(rng.integers(1 << 31)),  # pyright: ignore[reportCallIssue]  # `rng` from SciPy 1.15 on
            ).x  # fmt: skip
        for start, point in enumerate(points):
            before = incumbent.value
            result = self._from_start(problem, point, start, incumbent, trace)
            if incumbent.value > before or not end:
                norm = float(np.abs(result.jac).max())
                relative = problem.relative(result.jac, result.first)
                without_end = result.slow or result.flat
                ran_out = "complete" if without_end else "budget" if result.status == 1 else "stopped"
                slow = f", the last {SPAN} of little decrease" if result.slow else ""
                flat = "; the loss is flat where scores are equal: begin elsewhere" if result.flat else ""
                end = {
                    "status": "converged" if relative <= STATIONARY and not flat else ran_out,
                    "message": f"start {start} of {len(points)}: {result.nit} iterations{slow}, largest "
                    f"component of the gradient {norm:.1e}{flat}",
                    "certificate": {
                        "gradient_norm": norm, "relative_gradient": relative, "objective": float(result.fun),
                    },
                }  # fmt: skip
        return Solution(scorer.at(incumbent.parameters), trace=trace, **end)

    def _from_start(self, problem: Problem, point, start: int, incumbent: Incumbent, trace: list[dict]):
        """Minimise the stages one after the other, then the objective; return the last result."""
        labels: dict = {"start": start}
        stages = problem.objective.stages
        for stage, easier in enumerate(stages):
            labels["stage"] = stage
            first = Problem(easier, problem.scorer, problem.features, self.penalty)
            point = self._minimise(first, point, dict(labels), incumbent, trace).x
        if stages:
            labels["stage"] = len(stages)
        result = self._minimise(problem, point, labels, incumbent, trace)
        end = {"objective": float(result.fun), "gradient_norm": float(np.abs(result.jac).max())}
        errors = problem.approximation_errors(result.x)
        trace.append(labels | end | {"monitor": incumbent.offer(result.x)} | errors)
        return result

    def _minimise(self, problem: Problem, point, labels: dict, incumbent: Incumbent, trace: list[dict]):
        values: list[float] = []

        def is_slow() -> bool:
            least = self.least_decrease * abs(values[-1]) if values else 0.0
            return len(values) > SPAN and values[-SPAN - 1] - values[-1] < least

        def at_iterate(parameters: np.ndarray, value: float, norm: float, basis=None) -> None:
            values.append(value)
            row = labels | {"objective": value} | ({"gradient_norm": norm} if basis is None else {})
            if basis is not None and (self.keep == "best" or self.certify == "all"):
                parameters = parameters @ basis
            if self.keep == "best":
                row["monitor"] = incumbent.offer(parameters)
            if self.certify == "all":
                row |= problem.approximation_errors(parameters)
            trace.append(row)
            if is_slow():
                raise StopIteration  # SciPy then returns where it is.

        def descend(inner: Problem, point: np.ndarray, basis: np.ndarray) -> np.ndarray:
            in_coordinates = partial(at_iterate, basis=basis)
            # One iteration at least is left for the features themselves, which their coordinates round.
            return inner.minimise(point, self.max_iterations - 1, self.tolerance, in_coordinates).x

        point, first = problem.begun(point, descend) if self.max_iterations > 1 else (point, None)
        n_before = len(values)
        result = problem.minimise(point, self.max_iterations - n_before, self.tolerance, at_iterate)
        result.nit += n_before
        result.first = result.first if first is None else first
        result.slow = is_slow()
        return result
