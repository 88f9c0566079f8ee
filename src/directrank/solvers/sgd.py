"""Stochastic gradient descent, query by query."""

from directrank.contracts import ApproximationErrors, GradientKernel, Solution, Solver, ValueAndGradient
from directrank.errors import check_not_negative
from directrank.solvers.descent import Incumbent, Problem, starting_points

#: Largest gradient of the whole objective, relative to the start, to which steps of single queries converge.
LEVEL = 0.1


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
        Random starts beside the parameters of the scorer, zeros if it has none.
    certify : {"ends", "all"}, default="ends"
        Where the trace holds the error of an approximation of a measure, with its proved bound: at the last
        epoch of each start, or at every epoch.

    Notes
    -----
    The certificate is the change of the objective in the last epoch, and the gradient of the whole objective
    in the units of `Problem`, relative to the start. The steps of single queries keep it from zero: a
    run has converged when it is `LEVEL` or less, and has stopped when an epoch changes little before.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Algorithm 1.
    """

    needs = frozenset({ValueAndGradient})
    uses = frozenset({ApproximationErrors, GradientKernel})

    def __init__(
        self, *, penalty=1e-3, learning_rate=0.01, max_epochs=200, tolerance=1e-3, n_restarts=0,
        certify="ends",
    ):  # fmt: skip
        check_not_negative("penalty", penalty)
        self.penalty, self.learning_rate, self.max_epochs = penalty, learning_rate, max_epochs
        self.tolerance, self.n_restarts = tolerance, n_restarts
        self.certify = certify

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        incumbent, problem = Incumbent(scorer, monitor), Problem(objective, scorer, features, self.penalty)
        trace: list[dict] = []
        end = {}
        queries = objective.single_queries()
        points = starting_points(scorer, features.shape[1], self.n_restarts, rng)
        for start, point in enumerate(points):
            before, rows = incumbent.value, []
            last = self._from_start(problem, point, queries, rng, incumbent, rows)
            trace += [{"start": start} | row for row in rows]
            if start == 0 or incumbent.value > before:
                end = last
        certificate = {name: end[name] for name in ("last_change", "relative_gradient", "objective")}
        message = f"{len(trace)} epochs"
        return Solution(scorer.at(incumbent.parameters), end["status"], certificate, trace, message)

    def _from_start(self, problem: Problem, theta, queries, rng, incumbent: Incumbent, rows: list) -> dict:
        """Descend from a point; return the status, and the objective with its gradient at the end."""
        last, first = problem.at(theta)
        end: dict = {"status": "budget"}
        for epoch in range(self.max_epochs):
            for number in rng.permutation(len(queries)):
                part = queries[number]
                block = problem.features[part.rows]
                scores = problem.scorer.forward(theta, block, problem.objective.dtype)
                slope = part.oracles.value_and_gradient(scores)[1]
                gradient = problem.objective.scale * len(queries) * problem.scorer.backward(block, slope)
                theta = theta - self.learning_rate * (gradient + self.penalty * theta)
            value, gradient = problem.at(theta)
            relative = problem.relative(gradient, first)
            end |= {"objective": value, "last_change": abs(last - value), "relative_gradient": relative}
            row = {"epoch": epoch, "objective": value, "monitor": incumbent.offer(theta)}
            stops, last = not end["last_change"] >= self.tolerance, value
            if stops or epoch == self.max_epochs - 1 or self.certify == "all":
                row |= problem.approximation_errors(theta)
            rows.append(row)
            if stops:
                end["status"] = "converged" if relative <= LEVEL else "stopped"
                break
        return end
