"""Objectives whose weights follow the ranking: short runs of L-BFGS at fixed weights."""

import numpy as np

from directrank.contracts import Solution, Solver
from directrank.errors import check_not_negative
from directrank.oracles import GradientKernel, Reweighable, ValueAndGradient
from directrank.solvers.all_scores import all_scores
from directrank.solvers.smooth.descent import descend
from directrank.solvers.smooth.stationarity import STATIONARY, Stationarity

TOLERANCE = 1e-6
#: A round that changes the parameters by less, relative to their norm, has converged.
UNCHANGED = 1e-4


class Reweighted(Solver):
    """Fix the weights at the current ranking, take a few steps of L-BFGS, and repeat.

    An objective of this kind has no value of its own, because each round changes it.

    Parameters
    ----------
    penalty : float, default=0.01
        λ ≥ 0 on half the squared norm, relative to the objective at zero scores.
    rounds : int, default=5
    max_iterations : int, default=50
        Of L-BFGS in each round.
    keep : {"last", "best"}, default="last"
        The last round, or the best one by the monitor, which is noisy for few queries.

    Notes
    -----
    The certificate is the gradient at the weights of the last round, and the change of the parameters in that
    round, relative to their norm and in the units of `stationarity`. A run has converged when both are small.
    """

    needs = frozenset({ValueAndGradient, Reweighable})
    uses = frozenset({GradientKernel})

    def __init__(self, *, penalty=0.01, rounds=5, max_iterations=50, keep="last"):
        check_not_negative("penalty", penalty)
        self.penalty, self.rounds, self.max_iterations, self.keep = penalty, rounds, max_iterations, keep
        self.chooses = keep == "best"

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        theta = scorer.initial(features.shape[1])
        best, best_value, best_round, status = theta, -np.inf, 0, "budget"
        certificate, trace, first = {}, [], None
        stationarity = Stationarity(objective, scorer, features, self.penalty)
        for number in range(1, self.rounds + 1):
            objective.reweigh(all_scores(objective, scorer, theta, features))
            result = descend(
                objective, scorer, features, theta, penalty=self.penalty,
                max_iterations=self.max_iterations, tolerance=TOLERANCE,
            )  # fmt: skip
            before, theta = theta, result.x
            change = stationarity.change(before, theta)
            first = result.first if first is None else first
            relative = stationarity.relative(result.jac, first)
            value = monitor(scorer.at(theta).scores(monitor.features))
            norm, reached = float(np.abs(result.jac).max()), float(result.fun)
            certificate = {"gradient_norm": norm, "relative_gradient": relative, "change": change}
            row = {"round": number, "gradient_norm": norm, "objective": reached, "change": change}
            trace.append(row | {"monitor": value})
            if self.keep == "last" or value > best_value:
                best, best_value, best_round = theta, value, number
            if change < UNCHANGED:
                status = "converged" if relative <= STATIONARY else "stopped"
                break
        message = f"Trained {len(trace)} rounds, kept round {best_round}"
        return Solution(scorer.at(best), status, certificate, trace, message)
