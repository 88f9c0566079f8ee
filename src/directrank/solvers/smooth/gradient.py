"""Solvers that follow the gradient: L-BFGS on the whole objective, SGD query by query."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from directrank.contracts import BoundObjective, Monitor, Part, Solution
from directrank.solvers.smooth.streaming import can_stream, stream


def value_and_gradient(
    objective: BoundObjective, scorer, parameters: np.ndarray, features: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the objective at `parameters` and its derivative, in one pass over the features.

    Each shard streams its blocks: scores, gradient with respect to scores and the product with the features
    follow each other while a block is in the processor's cache. Shards are added in index order.
    """
    typed = parameters.astype(objective.dtype)

    def statistic(parts: Sequence[Part]) -> tuple[float, np.ndarray]:
        total, gradient = 0.0, np.zeros(len(parameters))
        for part in parts:
            block = features[part.rows]
            value, slope = part.oracles.value_and_gradient(scorer.forward(typed, block, objective.dtype))
            total += value
            gradient += scorer.backward(block, slope)
        return total, gradient

    if can_stream(objective, scorer):
        results = stream(objective, parameters, features)
    else:
        results = objective.map_shards(statistic)
    total = sum(value for value, _ in results)
    gradient = np.sum([each for _, each in results], axis=0)
    return objective.scale * total, objective.scale * gradient


def approximation_row(objective: BoundObjective, scorer, parameters, features) -> dict[str, float]:
    """Return what an iterate's approximation is off by, for the trace: nothing if the objective cannot tell.

    Weighted means over queries of the error and of its proved bound, and the largest bound of a query.
    """
    if "approximation_errors" not in objective.offers:
        return {}

    def statistic(parts: Sequence[Part]) -> np.ndarray:
        total = np.zeros(3)
        for part in parts:
            scores = scorer.forward(parameters, features[part.rows], np.float64)
            errors, bounds = part.oracles.approximation_errors(scores)
            weights = objective.weights[part.queries]
            total[:2] += weights @ errors, weights @ bounds
            total[2] = max(total[2], bounds.max(initial=0.0, where=weights > 0))
        return total

    results = np.array(objective.map_shards(statistic))
    error, bound = results[:, :2].sum(axis=0)
    return {
        "approximation_error": float(error),
        "certified_error": float(bound),
        "largest_certified_error": float(results[:, 2].max()),
    }


class Incumbent:
    """The best parameters so far by the monitor; the first of equals stays."""

    def __init__(self, scorer, monitor: Monitor):
        self.scorer, self.monitor = scorer, monitor
        self.value, self.parameters = -np.inf, None

    def offer(self, parameters: np.ndarray) -> float:
        """Judge parameters, keep them if they are better, and return their value."""
        value = self.monitor(self.scorer.at(parameters).scores(self.monitor.features))
        if value > self.value:
            self.value, self.parameters = value, np.array(parameters)
        return value


def starting_points(
    scorer, n_features: int, starts: Sequence[np.ndarray], n_restarts: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return the given starts (or the scorer's own), then random directions of unit length."""
    points = [np.asarray(each, np.float64) for each in starts] or [scorer.initial(n_features)]
    for _ in range(n_restarts):
        direction = rng.standard_normal(len(points[0]))
        points.append(direction / np.linalg.norm(direction))
    return points


class LBFGS:
    r"""Limited-memory BFGS with an L2 penalty, from one or several starts.

    Minimises :math:`S(\theta) + \frac{\lambda}{2} |\theta|^2`, S being 1 at zero scores.

    Parameters
    ----------
    penalty : float, default=1e-3
        λ ≥ 0. Without it the parameters of an approximation grow and its steepness loses its meaning.
    n_restarts : int, default=0
        Random starts beside the first.
    starts : sequence of ndarray of shape (n_parameters,), default=()
        First starts, such as the coefficients of a fitted ranker; zeros if none.
    max_iterations : int, default=200
        For each start.
    tolerance : float, default=1e-6
        Largest component of the gradient at convergence.
    keep : {"last", "best"}, default="last"
        Of each start, its end or its best iterate by the monitor. Among starts the monitor decides.
    certify : {"ends", "all"}, default="ends"
        Where the trace says how far an approximation of a measure is off, with its proved bound: at the end
        of each start, or at every iterate, for as much time again.

    Notes
    -----
    Every start passes through the easier objectives of an annealed surrogate, each from where the one before
    ended; its rows of the trace then name the `stage`. The certificate is the norm of the gradient where the
    kept start ended.
    """

    needs = frozenset({"value_and_gradient"})

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
        ends = {}
        points = starting_points(scorer, features.shape[1], self.starts, self.n_restarts, rng)
        for start, point in enumerate(points):
            before = incumbent.value
            end = self._descend(objective, scorer, features, point, start, incumbent, trace)
            if incumbent.value > before or not ends:
                ends = end
        return Solution(
            scorer.at(incumbent.parameters),
            ends["status"],
            {"gradient_norm": ends["gradient_norm"], "objective": ends["objective"]},
            trace,
            f"start {ends['start']} of {len(points)}: {ends['message']}",
        )

    def _descend(self, objective, scorer, features, point, start, incumbent, trace) -> dict:
        labels: dict = {"start": start}
        for stage, easier in enumerate(objective.stages):
            labels = {"start": start, "stage": stage}
            point = self._minimise(easier, scorer, features, point, labels, incumbent, trace).x
        if objective.stages:
            labels = {"start": start, "stage": len(objective.stages)}
        result = self._minimise(objective, scorer, features, point, labels, incumbent, trace)
        norm = float(np.abs(result.jac).max())
        end = {"objective": float(result.fun), "gradient_norm": norm}
        certified = approximation_row(objective, scorer, result.x, features)
        trace.append(labels | end | {"monitor": incumbent.offer(result.x)} | certified)
        return {
            "start": start,
            **end,
            "status": _status(result, norm, self.tolerance),
            "message": f"{result.nit} iterations, largest component of the gradient {norm:.1e}",
        }

    def _minimise(self, objective, scorer, features, point, labels, incumbent, trace):
        latest = {}

        def function(parameters):
            value, gradient = value_and_gradient(objective, scorer, parameters, features)
            value += 0.5 * self.penalty * parameters @ parameters
            gradient += self.penalty * parameters
            latest[parameters.tobytes()] = (value, float(np.abs(gradient).max()))
            return value, gradient

        def callback(parameters):
            value, norm = latest[parameters.tobytes()]
            latest.clear()
            row = labels | {"objective": value, "gradient_norm": norm}
            if self.keep == "best":
                row["monitor"] = incumbent.offer(parameters)
            if self.certify == "all":
                row |= approximation_row(objective, scorer, parameters, features)
            trace.append(row)

        return minimize(
            function, point, jac=True, method="L-BFGS-B", callback=callback,
            options={"maxiter": self.max_iterations, "gtol": self.tolerance, "ftol": 1e-12, "maxcor": 20},
        )  # fmt: skip


def _status(result, norm: float, tolerance: float) -> str:
    # float32 scores limit how far a line search can go; a gradient that is small by then has converged.
    if result.success or norm <= 100 * tolerance:
        return "converged"
    return "budget" if result.status == 1 else "stopped"


class SGD:
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
        Where the trace says how far an approximation of a measure is off, with its proved bound: at the last
        epoch of each start, or at every epoch.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Algorithm 1.
    """

    needs = frozenset({"value_and_gradient"})

    def __init__(
        self, *, penalty=1e-3, learning_rate=0.01, max_epochs=200, tolerance=1e-3, n_restarts=0, starts=(),
        certify="ends",
    ):  # fmt: skip
        self.penalty, self.learning_rate, self.max_epochs = penalty, learning_rate, max_epochs
        self.tolerance, self.n_restarts, self.starts = tolerance, n_restarts, starts
        self.certify = certify

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        if objective.stages:
            raise ValueError("SGD does not anneal: use LBFGS, or a surrogate without easier ones before it")
        incumbent = Incumbent(scorer, monitor)
        trace: list[dict] = []
        ends: tuple[str, float] | None = None
        queries = objective.single_queries()
        points = starting_points(scorer, features.shape[1], self.starts, self.n_restarts, rng)
        for start, point in enumerate(points):
            theta, last, before = np.array(point), np.inf, incumbent.value
            status, change = "budget", np.inf
            for epoch in range(self.max_epochs):
                theta = self._epoch(objective, scorer, features, theta, queries, rng)
                value = value_and_gradient(objective, scorer, theta, features)[0]
                value += 0.5 * self.penalty * float(theta @ theta)
                change, last = abs(last - value), value
                row = {"start": start, "epoch": epoch, "objective": value, "monitor": incumbent.offer(theta)}
                ended = change < self.tolerance or epoch == self.max_epochs - 1
                if ended or self.certify == "all":
                    row |= approximation_row(objective, scorer, theta, features)
                trace.append(row)
                if change < self.tolerance:
                    status = "converged"
                    break
            if ends is None or incumbent.value > before:
                ends = status, float(change)
        status, change = ends or ("budget", np.inf)
        return Solution(
            scorer.at(incumbent.parameters), status, {"last_change": change}, trace, f"{len(trace)} epochs"
        )

    def _epoch(self, objective, scorer, features, theta, queries, rng) -> np.ndarray:
        for number in rng.permutation(len(queries)):
            part = queries[number]
            block = features[part.rows]
            slope = part.oracles.value_and_gradient(scorer.forward(theta, block, objective.dtype))[1]
            gradient = objective.scale * len(queries) * scorer.backward(block, slope)
            theta = theta - self.learning_rate * (gradient + self.penalty * theta)
        return theta
