"""Truncated Newton: second-order steps from products of the Hessian with directions."""

import numpy as np

from directrank.contracts import (
    GradientKernel,
    HessianVector,
    ObjectiveOracles,
    Part,
    Solution,
    Solver,
    TraceRow,
    ValueAndGradient,
)
from directrank.solvers.descent import STATIONARY, Problem, judged
from directrank.solvers.passes import sum_over_parts, sum_over_rows

#: Least decrease by a step, as a share of what the slope predicts.
ARMIJO = 1e-4
SHORTEST_STEP = 2.0**-30
#: Products with the Hessian in an iteration, at most, and the component of the gradient that ends a run.
MOST_PRODUCTS, TOLERANCE = 200, 1e-6


def hessian_vector(
    objective: ObjectiveOracles, scorer, direction: np.ndarray, scores: np.ndarray, features: np.ndarray
) -> np.ndarray:
    """Return the second derivative at `scores` times a direction of parameters, in one pass over features.

    The scorer must be linear in its parameters. Shards are added in index order.
    """
    products = sum_over_rows(objective, _product_of_part, features, scorer, direction, rows=(scores,))
    return objective.scale * products[0]


def _product_of_part(part: Part, rows: np.ndarray, scorer, direction, scores) -> tuple[np.ndarray]:
    along = scorer.forward(direction, rows, scores.dtype.type)
    return (scorer.backward(rows, part.oracles.hessian_vector(scores, along)),)


class TruncatedNewton(Solver):
    r"""Newton's method for convex objectives of a linear scorer, with an L2 penalty.

    Minimises :math:`S(\theta) + \frac{\lambda}{2} |\theta|^2`, S being 1 at zero scores. Each step solves the
    Newton equation by conjugate gradients, more exactly as the gradient gets smaller, and is halved until it
    decreases the objective. Scores are linear in the step, so that search reads no features. Once as many
    products as a quarter of the features were made, features are whitened (`Problem.whitening`). From 512
    features on, with fewer documents, and at most 1,000, steps begin in as many coordinates as there are
    documents, in which the problem is the same but for rounding; they end on the features.

    Parameters
    ----------
    penalty : float, default=0.1
        λ > 0.
    max_iterations : int, default=100

    Notes
    -----
    The certificate is the largest component of the gradient, that in the units of `Problem`, which
    decides whether the run has converged, and a bound on how far the objective lies above its minimum: half
    the squared norm of the gradient over λ. It is that of the features themselves; in rows of the trace from
    steps in coordinates the gradient is that of rounded features, ``rounded_gradient_norm``.

    References
    ----------
    .. [1] O. Chapelle, S. S. Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval 13,
       2010.
    """

    needs = frozenset({ValueAndGradient, HessianVector})
    uses = frozenset({GradientKernel})
    chooses = False
    sums_over_shards = True

    def __init__(self, *, penalty=0.1, max_iterations=100):
        if not penalty > 0:
            raise ValueError(f"TruncatedNewton needs a penalty above 0, not {penalty}; or use LBFGS")
        self.penalty, self.max_iterations = penalty, max_iterations

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        problem = Problem(objective, scorer, features, self.penalty)
        trace: list[TraceRow] = []

        def descend(inner: Problem, point: np.ndarray, basis: np.ndarray) -> np.ndarray:
            # One iteration at least is left for the features themselves, which their coordinates round.
            return self._descend(inner, point, self.max_iterations - 1, trace, basis)[0]

        theta, first = problem.begun(scorer.initial(features.shape[1]), descend)
        n_left = self.max_iterations - sum("step" in row for row in trace)
        theta, status = self._descend(problem, theta, n_left, trace, first=first)
        solved = scorer.at(theta)
        trace[-1]["monitor"] = judged(monitor, solved)
        norm, relative = trace[-1]["gradient_norm"], trace[-1]["relative_gradient"]
        certificate = {
            "gradient_norm": norm,
            "relative_gradient": relative,
            "objective": trace[-1]["objective"],
            "gap": 0.5 * len(theta) * norm**2 / self.penalty,
        }
        n_steps = sum("step" in row for row in trace)  # Where they ended has a row of its own.
        message = f"{n_steps} iterations, largest component of the gradient {norm:.1e}"
        ended = "converged" if relative <= STATIONARY else status
        return Solution(solved, ended, certificate, trace, message)

    def _descend(
        self, problem: Problem, theta, n_iterations: int, trace: list[TraceRow], basis=None, first=None
    ) -> tuple[np.ndarray, str]:
        """Return the point where steps end, and why they did; the trace gets a row for each, and for the end.

        The problem may be in coordinates in a basis of the features. `first` is the gradient at the start of
        all, by default that of the first step.
        """
        status, n_products = "budget", 0
        for left in range(n_iterations, -1, -1):
            value, gradient = problem.at(theta)
            slopes = gradient if basis is None else gradient @ basis
            norm = float(np.abs(slopes).max(initial=0.0))
            trace.append({"objective": value})
            if basis is None:
                first = gradient if first is None else first
                relative = problem.relative(gradient, first)
                trace[-1] |= {"gradient_norm": norm, "relative_gradient": relative}
            else:
                trace[-1]["rounded_gradient_norm"] = norm
            if norm <= TOLERANCE:
                status = "stopped"
            if norm <= TOLERANCE or left == 0:
                break
            scores = problem.scores(theta)
            whitening = problem.whitening if n_products > len(theta) // 4 else None
            direction, products = self._newton_direction(problem, scores, gradient, whitening)
            n_products += products
            step = self._step(problem, theta, direction, scores, value, gradient)
            trace[-1] |= {"products": products, "step": step}
            if step == 0.0:
                status = "stopped"
                break
            theta = theta + step * direction
        return theta, status

    def _newton_direction(self, problem: Problem, scores, gradient, whitening) -> tuple[np.ndarray, int]:
        def preconditioned(residual: np.ndarray) -> np.ndarray:
            return residual if whitening is None else (whitening @ residual) @ whitening

        norm = float(np.linalg.norm(gradient))
        enough = norm * min(0.1, np.sqrt(norm))
        direction, residual = np.zeros_like(gradient), -gradient
        conjugate = preconditioned(residual)
        squared = float(residual @ conjugate)
        for products in range(1, MOST_PRODUCTS + 1):
            curved = self.penalty * conjugate
            curved += hessian_vector(problem.objective, problem.scorer, conjugate, scores, problem.features)
            length = squared / float(conjugate @ curved)
            direction = direction + length * conjugate
            residual = residual - length * curved
            if np.linalg.norm(residual) <= enough:
                return direction, products
            ahead = preconditioned(residual)
            before, squared = squared, float(residual @ ahead)
            conjugate = ahead + (squared / before) * conjugate
        return direction, MOST_PRODUCTS

    def _step(self, problem: Problem, theta, direction, scores, value, gradient) -> float:
        objective, along = problem.objective, problem.scores(direction)
        promised, step = float(gradient @ direction), 1.0
        while step > SHORTEST_STEP:
            moved = theta + step * direction
            stepped = scores + objective.dtype(step) * along

            def value_of(part: Part, stepped=stepped) -> tuple[float]:
                return part.oracles.value_and_gradient(stepped[part.rows])[:1]

            reached = objective.scale * sum_over_parts(objective, value_of)[0]
            reached += 0.5 * self.penalty * float(moved @ moved)
            if reached <= value + ARMIJO * step * promised:
                return step
            step *= 0.5
        return 0.0
