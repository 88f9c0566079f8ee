"""Stochastic gradient descent, query by query."""

import numpy as np

from directrank.contracts import Solution, Solver
from directrank.oracles import ApproximationErrors, GradientKernel, ValueAndGradient
from directrank.solvers.incumbent import Incumbent
from directrank.solvers.smooth.passes import approximation_row, value_and_gradient
from directrank.solvers.smooth.starts import starting_points


class SGD(Solver):
    r"""Stochastic gradient descent, one query a step, as in the papers.

    Parameters
    ----------
    penalty : float, default=1e-3
        λ ≥ 0.
    learning_rate : float, default=0.01
        η, in parameter units.
    max_epochs : int, default=200
    tolerance : float, default=1e-3
        Stop when an epoch changes the objective by less.
    n_restarts : int, default=0
        Random starts beside the first.
    starts : sequence of ndarray of shape (n_parameters,), default=()
    certify : {"ends", "all"}, default="ends"
        Where the trace holds the error of an approximation of a measure, with its proved bound: at the last
        epoch of each start, or at every epoch.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Algorithm 1.
    """

    needs = frozenset({ValueAndGradient})
    uses = frozenset({ApproximationErrors, GradientKernel})

    def __init__(
        self, *, penalty=1e-3, learning_rate=0.01, max_epochs=200, tolerance=1e-3, n_restarts=0, starts=(),
        certify="ends",
    ):  # fmt: skip
        self.penalty, self.learning_rate, self.max_epochs = penalty, learning_rate, max_epochs
        self.tolerance, self.n_restarts, self.starts = tolerance, n_restarts, starts
        self.certify = certify

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        incumbent = Incumbent(scorer, monitor)
        trace: list[dict] = []
        status, change = "budget", np.inf
        queries = objective.single_queries()
        points = starting_points(scorer, features.shape[1], self.starts, self.n_restarts, rng)
        for start, point in enumerate(points):
            before = incumbent.value
            found = self._from_start(
                objective, scorer, features, point, start, queries, rng, incumbent, trace
            )
            if start == 0 or incumbent.value > before:
                status, change = found
        return Solution(
            scorer.at(incumbent.parameters), status, {"last_change": change}, trace, f"{len(trace)} epochs"
        )

    def _from_start(
        self, objective, scorer, features, theta, start, queries, rng, incumbent, trace
    ) -> tuple[str, float]:
        """Descend from a point; return the status and the change of the objective in the last epoch."""
        last, change = np.inf, np.inf
        for epoch in range(self.max_epochs):
            theta = self._epoch(objective, scorer, features, theta, queries, rng)
            value = value_and_gradient(objective, scorer, theta, features)[0]
            value += 0.5 * self.penalty * float(theta @ theta)
            change, last = float(abs(last - value)), value
            row = {"start": start, "epoch": epoch, "objective": value, "monitor": incumbent.offer(theta)}
            converged = change < self.tolerance
            if converged or epoch == self.max_epochs - 1 or self.certify == "all":
                row |= approximation_row(objective, scorer, theta, features)
            trace.append(row)
            if converged:
                return "converged", change
        return "budget", change

    def _epoch(self, objective, scorer, features, theta, queries, rng) -> np.ndarray:
        for number in rng.permutation(len(queries)):
            part = queries[number]
            block = features[part.rows]
            slope = part.oracles.value_and_gradient(scorer.forward(theta, block, objective.dtype))[1]
            gradient = objective.scale * len(queries) * scorer.backward(block, slope)
            theta = theta - self.learning_rate * (gradient + self.penalty * theta)
        return theta
