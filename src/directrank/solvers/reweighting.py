"""Objectives whose weights follow the ranking: short runs of L-BFGS at fixed weights, in damped steps."""

import numpy as np

from directrank.contracts import GradientKernel, Reweighable, Solution, Solver, ValueAndGradient
from directrank.errors import check_not_negative
from directrank.solvers.descent import Problem, judged

#: The gradient at which a run of L-BFGS ends, as a share of its first one, and the least: its weights are out
#: of date long before its gradient is smaller.
SHARE, TOLERANCE = 0.3, 1e-4
#: Largest change of the parameters in a round, and largest gradient at the weights of the ranking reached, of
#: a run that has converged. Both are relative. Much smaller gradients do not exist: the weights jump wherever
#: two documents swap, so that the gradient has no zero but jumps across it.
SETTLED = 0.01


class Reweighted(Solver):
    r"""Fix the weights at the current ranking, take a few steps of L-BFGS, go part of the way, and repeat.

    An objective of this kind has no value of its own, because each round changes it.

    Parameters
    ----------
    penalty : float, default=0.01
        λ ≥ 0 on half the squared norm, relative to the objective at zero scores.
    rounds : int, default=100
    max_iterations : int, default=50
        Of L-BFGS in each round.

    Notes
    -----
    A round moves the parameters θ to :math:`\theta + (\hat\theta - \theta) / (1 + r)`: θ̂ minimises the
    objective at the weights of θ, and r counts the rounds whose direction :math:`\hat\theta - \theta` was
    opposed to that of the round before (Kesten's rule [1]_). With whole steps the weights of two rankings may
    alternate for ever; where they do not, r stays 0 and the steps are whole.

    The certificate is the gradient at the weights of the ranking reached, and the change of the parameters
    in the last round, relative to their norm and in the units of `Problem`. A run has converged when
    both are small. Where the solution ties documents the gradient jumps across zero, and rounds go to and fro
    by less and less: then the mean of their gradients is the one that must be small.

    References
    ----------
    .. [1] H. Kesten, "Accelerated stochastic approximation", Annals of Mathematical Statistics 29, 1958.
    """

    needs = frozenset({ValueAndGradient, Reweighable})
    uses = frozenset({GradientKernel})
    chooses = False
    sums_over_shards = True

    def __init__(self, *, penalty=0.01, rounds=100, max_iterations=50):
        check_not_negative("penalty", penalty)
        self.penalty, self.rounds, self.max_iterations = penalty, rounds, max_iterations

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        problem = Problem(objective, scorer, features, self.penalty)
        run = _Run(self, problem, scorer.initial(features.shape[1]))
        status, certificate, trace = "budget", {}, []
        for number in range(1, self.rounds + 1):
            certificate = run.advance()
            value = judged(monitor, scorer.at(run.theta))
            trace.append({"round": number, **certificate, "objective": run.value, "monitor": value})
            if max(certificate["change"], certificate["relative_gradient"]) <= SETTLED:
                status = "converged"
                break
        message = f"Trained {len(trace)} rounds, kept round {len(trace)}"
        return Solution(scorer.at(run.theta), status, certificate, trace, message)


class _Run:
    """The parameters that a run has reached, the objective at their own weights, and its reversals."""

    def __init__(self, solver: Reweighted, problem: Problem, theta: np.ndarray):
        self.solver, self.problem = solver, problem
        self.theta, self.direction, self.reversals = theta, None, 0
        self.value, self.gradient = self._reweigh()
        self.first = self.gradient
        self.near: list[np.ndarray] = []  # Gradients of the last rounds, if each moved little

    def advance(self) -> dict[str, float]:
        """Make a round; return its certificate."""
        problem, before = self.problem, self.theta
        enough = max(TOLERANCE, SHARE * float(np.abs(self.gradient).max(initial=0.0)))
        at_start = self.value, self.gradient
        result = problem.minimise(before, self.solver.max_iterations, enough, at_start=at_start)
        direction = result.x - before
        if self.direction is not None and problem.opposed(self.direction, direction):
            self.reversals += 1
        self.direction, self.theta = direction, before + direction / (1 + self.reversals)
        self.value, self.gradient = self._reweigh()
        change = problem.change(before, self.theta)
        self.near = [*self.near, self.gradient] if change <= SETTLED else [self.gradient]
        gradient = self.gradient
        if problem.relative(gradient, self.first) > SETTLED:
            gradient = np.mean(self.near, axis=0)
        return {
            "gradient_norm": float(np.abs(gradient).max()),
            "relative_gradient": problem.relative(gradient, self.first),
            "change": change,
        }

    def _reweigh(self) -> tuple[float, np.ndarray]:
        """Fix the weights at the ranking reached; return the objective and its gradient there."""
        self.problem.objective.reweigh(self.problem.scores(self.theta))
        return self.problem.at(self.theta)
