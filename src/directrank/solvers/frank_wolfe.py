"""Block-coordinate Frank-Wolfe: a structural SVM solved query by query, with closed-form steps."""

from collections.abc import Sequence

import numpy as np

from directrank.contracts import Part, Solution
from directrank.jit import kernel
from directrank.solvers.visiting import visiting_order


def regularised_risk(objective, scorer, features: np.ndarray, w: np.ndarray, C: float) -> float:
    """Return ½ |w|² + C Σ_q weight_q bound_q(w), in one pass over the shards."""

    def statistic(parts: Sequence[Part]) -> float:
        total = 0.0
        for part in parts:
            scores = scorer.forward(w, features[part.rows], objective.dtype)
            total += part.oracles.value_and_gradient(scores)[0]
        return total

    return 0.5 * float(w @ w) + C * sum(objective.map_shards(statistic))


class BCFW:
    r"""Block-coordinate Frank-Wolfe on :math:`\frac12 |w|^2 + C \sum_q \omega_q \max_\pi H_q(\pi; w)`.

    The weights ω of the queries sum to 1, so that C is that of Eq. (8). Each step takes one query's most
    violated ranking and moves that query's share of w towards it, as far as the dual rises most. The order
    of queries is drawn anew each pass.

    Parameters
    ----------
    C : float, default=10.0
        > 0; larger fits more.
    averaged : bool, default=True
        Return the weighted average of all iterates, later ones weighing more.
    tolerance : float, default=1e-3
        Largest duality gap, relative to the objective.
    max_passes : int, default=200
        Passes over the data, evaluations of the gap included.

    Notes
    -----
    The certificate is the duality gap of what is returned: the objective there, and the best value of the
    dual. Memory is one vector of features a query. A pass steps through the queries one after the other: on
    many machines, use `CuttingPlane`, whose state is a sum over shards.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, "Block-coordinate Frank-Wolfe optimization
       for structural SVMs", ICML 2013.
    """

    needs = frozenset({"most_violated", "value_and_gradient"})

    def __init__(self, *, C=10.0, averaged=True, tolerance=1e-3, max_passes=200):
        if not C > 0:
            raise ValueError(f"C must be positive, not {C}")
        self.C, self.averaged, self.tolerance, self.max_passes = float(C), averaged, tolerance, max_passes

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        parts = self._in_order(objective, scorer, features)
        run = _Run(len(parts), features.shape[1])
        trace: list[dict] = []
        passes, next_check, status = 1, 1, "budget"
        primal = gap = np.inf
        while passes < self.max_passes and status == "budget":
            expected = self._pass(objective, scorer, features, parts, rng.permutation(len(parts)), run)
            passes += 1
            last = passes + 1 >= self.max_passes
            if not last and (passes < next_check or expected > 2 * self.tolerance * run.primal):
                trace.append({"pass": passes, "dual": run.dual(), "expected_gap": expected})
                continue
            w = run.result(self.averaged)
            primal = regularised_risk(objective, scorer, features, w, self.C)
            passes += 1
            gap = primal - run.best_dual()
            judged = monitor(scorer.at(w).scores(monitor.features))
            trace.append(
                {"pass": passes, "objective": primal, "dual": run.best_dual(), "gap": gap, "monitor": judged}
            )
            next_check = passes + 1 + passes // 5
            if gap <= self.tolerance * primal:
                status = "converged"
        return Solution(
            scorer.at(run.result(self.averaged)),
            status,
            {"duality_gap": gap, "objective": primal, "relative_gap": gap / primal, "passes": float(passes)},
            trace,
            f"{passes} passes, duality gap {gap / primal:.2%} of the objective",
        )

    def _in_order(self, objective, scorer, features) -> list:
        """Return the queries in an order of their own, for which a pass looks at each at zero scores."""
        parts = objective.single_queries()
        losses, vectors = np.empty(len(parts)), np.empty((len(parts), features.shape[1]))
        for number, part in enumerate(parts):
            block = features[part.rows]
            loss, direction = part.oracles.most_violated(np.zeros(len(block), objective.dtype))
            losses[number], vectors[number] = loss[0], scorer.backward(block, direction)
        return [parts[number] for number in visiting_order(losses, vectors)]

    def _pass(self, objective, scorer, features, parts, order, run) -> float:
        gap = risk = 0.0
        for number in order:
            part = parts[number]
            block = features[part.rows]
            losses, direction = part.oracles.most_violated(scorer.forward(run.w, block, objective.dtype))
            vector = scorer.backward(block, direction)
            cap = self.C * objective.weights[part.queries][0]
            step_gap, height = _step(
                run.w, run.shares[number], vector, run.losses, number, cap, losses[0],
                run.mean, run.mean_loss, run.steps,
            )  # fmt: skip
            run.steps += 1
            gap += step_gap
            risk += height
        run.primal = 0.5 * float(run.w @ run.w) + risk
        return gap


class _Run:
    """The dual state: each query's share of w and of the loss, their sums, and the weighted averages."""

    def __init__(self, n_queries: int, n_features: int):
        self.w, self.mean = np.zeros(n_features), np.zeros(n_features)
        self.shares, self.losses = np.zeros((n_queries, n_features)), np.zeros(n_queries)
        self.mean_loss = np.zeros(2)  # of the average iterate, and of the current one
        self.steps, self.primal = 0, 0.0

    def dual(self) -> float:
        return float(self.mean_loss[1] - 0.5 * self.w @ self.w)

    def best_dual(self) -> float:
        return max(self.dual(), float(self.mean_loss[0] - 0.5 * self.mean @ self.mean))

    def result(self, averaged: bool) -> np.ndarray:
        return self.mean if averaged else self.w


@kernel
def _step(w, share, vector, losses, number, cap, loss, mean, mean_loss, steps):
    """Move one query's share towards its most violated ranking; return its gap and its height."""
    height = cap * loss
    slope = cap * loss - losses[number]
    curvature = 0.0
    for k in range(len(w)):
        target = -cap * vector[k]
        height -= target * w[k]
        slope -= (target - share[k]) * w[k]
        curvature += (target - share[k]) * (target - share[k])
    step = min(1.0, max(0.0, slope / curvature)) if curvature > 0.0 else 0.0
    rate = 2.0 / (steps + 2.0)
    for k in range(len(w)):
        change = step * (-cap * vector[k] - share[k])
        share[k] += change
        w[k] += change
        mean[k] += rate * (w[k] - mean[k])
    change = step * (cap * loss - losses[number])
    losses[number] += change
    mean_loss[1] += change
    mean_loss[0] += rate * (mean_loss[1] - mean_loss[0])
    return max(slope, 0.0), height
