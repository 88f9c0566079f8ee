"""Objectives whose weights follow the ranking: short runs of L-BFGS between fixings of the weights."""

import numpy as np

from directrank.contracts import Solution
from directrank.solvers.smooth.gradient import LBFGS
from directrank.solvers.smooth.newton import all_scores


class Reweighted:
    """Fix the weights at the current ranking, take a few steps of L-BFGS, and again.

    An objective of this kind has no value of its own, as each round changes it.

    Parameters
    ----------
    penalty : float, default=0.01
        λ ≥ 0 on half the squared norm, relative to the objective at zero scores.
    rounds : int, default=5
    max_iterations : int, default=50
        Of L-BFGS in each round.
    keep : {"last", "best"}, default="last"
        The last round, or the one that the monitor judges best: of few queries, a noisy judge.

    Notes
    -----
    The certificate is the largest component of the gradient at the weights of the last round, and the change
    of the parameters in that round, relative to their norm.
    """

    needs = frozenset({"value_and_gradient", "reweigh"})

    def __init__(self, *, penalty=0.01, rounds=5, max_iterations=50, keep="last"):
        self.penalty, self.rounds, self.max_iterations, self.keep = penalty, rounds, max_iterations, keep

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        inner = LBFGS(penalty=self.penalty, max_iterations=self.max_iterations)
        theta = scorer.initial(features.shape[1])
        best, best_value, best_round, status, change = scorer.at(theta), -np.inf, 0, "budget", np.inf
        certificate, trace = {}, []
        for number in range(1, self.rounds + 1):
            objective.reweigh(all_scores(objective, scorer, theta, features))
            solution = inner.solve(objective, scorer.at(theta), features, monitor, rng)
            before, theta = theta, solution.scorer.initial(features.shape[1])
            change = float(np.linalg.norm(theta - before) / max(np.linalg.norm(theta), np.finfo(float).tiny))
            value = solution.trace[-1]["monitor"]
            certificate = {"gradient_norm": solution.certificate["gradient_norm"], "change": change}
            trace.append({"round": number, **solution.certificate, "change": change, "monitor": value})
            if self.keep == "last" or value > best_value:
                best, best_value, best_round = solution.scorer, value, number
            if change < 1e-4:
                status = "converged"
                break
        message = f"{len(trace)} rounds, round {best_round} kept"
        return Solution(best, status, certificate, trace, message)
