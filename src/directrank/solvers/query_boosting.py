"""Boosting over queries: each round adds the single feature that ranks the weighted queries best."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

from directrank.contracts import (
    LinearScorer,
    Part,
    QueryValues,
    QueryWeights,
    Solution,
    Solver,
    Value,
    ValueAndGradient,
)
from directrank.solvers.planes import minimise_on_line

# The weighted measure is at most 1 less this, because a perfect feature would get an infinite weight.
PERFECT = 1e-12
# A step along a weak ranker that lowers a bound by a smaller share is none.
LEAST_DECREASE = 1e-4
# Up to this number of values, single features are ranked in float64 as their sums are, which saves compiling
# the kernels for float32. The positions are the same; finding them takes up to a fifth longer.
FEW_NUMBERS = 1 << 22


def weak_ranker_table(objective, features: np.ndarray, signed: bool) -> np.ndarray:
    """Return the measure of each weak ranker on each query, float64 (n_queries, n_weak).

    Column k is feature k; with `signed`, column n_features + k is minus feature k.
    """
    kind = np.float64 if features.size < FEW_NUMBERS else features.dtype
    return np.concatenate(objective.over_shards(_table_of_shard, features, signed, kind))


def _table_of_shard(objective, features, parts: Sequence[Part], signed: bool, kind) -> np.ndarray:
    n_features, tables = features.shape[1], []
    for part in parts:
        columns = np.array(features[part.rows].T, kind, order="C")
        table = np.empty((part.queries.stop - part.queries.start, n_features * (1 + signed)))
        for k, column in enumerate(columns):
            table[:, k] = part.oracles.query_values(column)
            if signed:
                table[:, n_features + k] = part.oracles.query_values(-column)
        tables.append(table)
    return np.concatenate(tables)


@dataclass
class State:
    """The state of a run, which is copied before a round that may have to be undone."""

    coefficients: np.ndarray
    scores: np.ndarray
    monitored: np.ndarray
    weights: np.ndarray
    value: float = 0.0
    last: int = -1
    repeats: int = 0
    excluded: frozenset = field(default_factory=frozenset)


class QueryBoosting(Solver):
    r"""AdaRank's boosting over queries, with single features as weak rankers.

    Each round adds the weak ranker h of largest weighted measure φ with the coefficient
    :math:`\alpha = \frac12 \ln \frac{1 + \varphi}{1 - \varphi}`, and recomputes the weights of queries from
    the bound at the ensemble. The result is the ensemble at the best round by the monitor.

    Parameters
    ----------
    rounds : int, default=100
    signed : bool, default=False
        Use each feature with either sign.
    queue : bool, default=False
        RankLib's rule for a feature that is chosen twice in a row, where the paper's algorithm makes no
        progress: undo its round and remove the feature; when nothing improves, return the removed features,
        the last one first, and exclude for a while one that is chosen five more times in a row and changes
        nothing.
    weights : {"bound", "product"}, default="bound"
        Compute the weights of queries from the bound at the ensemble (the paper), or multiply them by
        exp(−α E) each round (RankLib).
    tolerance : float, default=0.002
        Stop when the training measure falls by this much or more in a round; infinite: never.
    repeat : bool, default=True
        Whether a weak ranker may be taken again. If not, a run ends after as many rounds as there are weak
        rankers.

    Notes
    -----
    A run has converged by the rule of the algorithm: the last round does not raise the training measure, or
    no weak ranker has a positive weighted measure. It is complete where each weak ranker was taken once and
    none may be repeated. Where the bound has a gradient, the coefficient instead
    minimises it along the weak ranker, of either sign; one that cannot lower it is tried again when all
    others cannot, and a run has converged when none can.

    References
    ----------
    .. [1] J. Xu, H. Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007.
    .. [2] J. Xu et al., "Directly optimizing evaluation measures in learning to rank", SIGIR 2008, 4.1.
    """

    needs = frozenset({Value, QueryValues, QueryWeights})
    uses = frozenset({ValueAndGradient})
    trains = LinearScorer
    max_repeats = 5
    sums_over_shards = True

    def __init__(
        self, *, rounds=100, signed=False, queue=False, weights="bound", tolerance=0.002, repeat=True
    ):
        self.rounds, self.signed, self.queue = rounds, signed, queue
        self.weights, self.tolerance, self.repeat = weights, tolerance, repeat

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        run = _Run(self, objective, features, monitor)
        status = run.advance(with_queue=self.queue)
        while run.queue and len(run.trace) < self.rounds:
            run.queue.pop()
            status = run.advance(with_queue=False)
        certificate = {"bound": min((row["bound"] for row in run.trace), default=1.0)}
        message = f"Trained {len(run.trace)} rounds, kept the first {run.best_round}"
        return Solution(scorer.at(run.best), status, certificate, run.trace, message)


class _Run:
    """One run: the table of weak rankers, the state, and the best round so far."""

    def __init__(self, solver: QueryBoosting, objective, features, monitor):
        self.solver, self.objective, self.features, self.monitor = solver, objective, features, monitor
        self.table = weak_ranker_table(objective, features, solver.signed)
        self.queue: list[int] = []
        # Weak rankers that did not lower the bound when last tried, and whether another did since.
        self.flat: set[int] = set()
        self.progress = False
        # Weak rankers that may not be taken again.
        self.taken: set[int] = set()
        self.trace: list[dict] = []
        self.base = objective.weights
        self.state = State(
            np.zeros(features.shape[1]),
            np.zeros(len(features)),
            np.zeros(len(monitor.features)),
            self.base.copy(),
        )
        self.best, self.best_value, self.best_round = self.state.coefficients, -np.inf, 0

    def advance(self, with_queue: bool) -> str:
        """Add weak rankers until nothing improves or the budget is spent; return the status."""
        undo = deepcopy(self.state)
        while len(self.trace) < self.solver.rounds:
            weak = self._choose()
            if weak < 0 and self.progress:
                self.flat, self.progress = set(), False
                continue
            if weak < 0:
                return "complete" if len(self.taken) == self.table.shape[1] else "converged"
            step = self._step(weak)
            if step == 0:
                self.flat.add(weak)
                continue
            self.progress = bool(self.flat)
            if with_queue and weak == self.state.last:
                self.queue.append(weak)
                self.state = deepcopy(undo)
                self.state.last = weak
                continue
            undo = deepcopy(self.state)
            if not self._add(weak, step, with_queue):
                self.state = undo
                return "converged"
        return "budget"

    def _choose(self) -> int:
        merit = self.state.weights @ self.table
        for weak in (*self.queue, *self.state.excluded, *self.flat, *self.taken):
            merit[weak] = -np.inf
        best = int(np.argmax(merit))
        return best if merit[best] > 0 else -1

    def _step(self, weak: int) -> float:
        """Return the coefficient of a weak ranker."""
        if ValueAndGradient not in self.objective.offers:
            phi = float(self.state.weights @ self.table[:, weak])
            return float(np.arctanh(min(phi, 1.0 - PERFECT)))
        column = self.features[:, weak % self.features.shape[1]].astype(np.float64)
        before, gradient = self.objective.value_and_gradient(self.state.scores)
        ahead = -np.sign(gradient @ column) * column

        def along(t: float) -> tuple[float, float]:
            value, gradient = self.objective.value_and_gradient(self.state.scores + t * ahead)
            return value, float(gradient @ ahead)

        size, value = minimise_on_line(along, tolerance=0.1 * LEAST_DECREASE)
        if before - value <= LEAST_DECREASE * before:
            return 0.0
        return size if (gradient @ column < 0) == (weak < self.features.shape[1]) else -size

    def _add(self, weak: int, alpha: float, with_queue: bool) -> bool:
        """Add one round; return whether the run should continue."""
        state, objective = self.state, self.objective
        phi = float(state.weights @ self.table[:, weak])
        k, sign = weak % len(state.coefficients), 1.0 if weak < len(state.coefficients) else -1.0
        state.coefficients[k] += sign * alpha
        state.scores += sign * alpha * self.features[:, k]
        state.monitored += sign * alpha * self.monitor.features[:, k]
        values = objective.query_values(state.scores)
        value = min(float(self.base @ values), 1.0)  # weights of 1/m may sum to a hair above 1
        if self.solver.weights == "product":
            weights = state.weights * np.exp(-alpha * values)
        else:
            weights = objective.query_weights(state.scores)
        if weights.sum() > 0:  # a hinge weighs nothing where all margins are wide
            state.weights = weights / weights.sum()
        self._record(weak, alpha, phi, value)
        if not self.solver.repeat:
            self.taken.add(weak)
        before, state.value = state.value, value
        if self.solver.queue and not with_queue:
            if value != before or weak != state.last:
                state.repeats, state.excluded = 0, frozenset()
            else:
                state.repeats += 1
                if state.repeats >= self.solver.max_repeats:
                    state.repeats, state.excluded = 0, state.excluded | {weak}
        state.last = weak
        return value + self.solver.tolerance > before and phi < 1.0 - PERFECT

    def _record(self, weak: int, alpha: float, phi: float, value: float):
        judged = self.monitor(self.state.monitored)
        self.trace.append(
            {
                "round": len(self.trace) + 1,
                "feature": int(weak % len(self.state.coefficients)),
                "alpha": alpha,
                "weighted_measure": phi,
                "train_measure": value,
                "bound": float(self.objective.value(self.state.scores) / self.objective.scale),
                "monitor": judged,
            }
        )
        if judged > self.best_value:
            self.best, self.best_value = self.state.coefficients.copy(), judged
            self.best_round = len(self.trace)
