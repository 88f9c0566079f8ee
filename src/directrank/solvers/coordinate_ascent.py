"""Coordinate ascent: one weight of a linear scorer at a time, by the exact step along its feature."""

from itertools import pairwise
from typing import Any

import numpy as np

from directrank.contracts import (
    LinearScorer,
    Monitor,
    ObjectiveOracles,
    Solution,
    Solver,
    TraceRow,
    WindowStep,
)
from directrank.features import as_features, scored
from directrank.solvers.descent import Incumbent

#: Documents that single features rank in one call.
RANKED_AT_ONCE = 4096


class CoordinateAscent(Solver):
    """Move one weight at a time by the exact step of the objective, in a random order, from several seeds.

    Every run starts at the coefficients of the scorer, or else at the best single feature. Features are
    divided by their standard deviation within queries and the weights have length 1, so that one range of
    steps suits all of them. The result is the mean of the runs' weights, each at its best step by the
    monitor: it ranks better than the best run.

    Parameters
    ----------
    cycles : int, default=20
        Largest number of passes over all features.
    runs : int, default=6
        Random orders.
    tolerance : float, default=5e-3
        A run ends when the last step along each feature gained no more. Smaller gains are far below what the
        training queries can tell apart.
    non_negative : bool, default=False
        Whether no weight may be below 0.

    Notes
    -----
    With more features than documents, runs step along as many features as there are documents: those that
    rank best alone, up or down.

    The certificate is the objective at the result, and the largest gain of the last steps along all features.
    """

    needs = frozenset({WindowStep})
    trains = LinearScorer

    def __init__(
        self, *, cycles: int = 20, runs: int = 6, tolerance: float = 5e-3, non_negative: bool = False
    ):
        if cycles < 1 or runs < 1:
            raise ValueError(f"cycles and runs must be 1 or more, not {cycles} and {runs}")
        self.cycles, self.runs, self.tolerance = cycles, runs, tolerance
        self.non_negative = non_negative

    def n_evaluations(self, n_features: int) -> int:
        """See `directrank.contracts.Solver`: a run takes about three steps along each feature."""
        return n_features * (2 + min(3, self.cycles) * self.runs)

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        spread = _spread_within_queries(objective, features)
        start, promising = _best_single(objective, features, spread, self.non_negative)
        if scorer.coefficients is not None and np.any(scaled := scorer.coefficients * spread):
            start = scaled / np.linalg.norm(scaled)
        runs, trace = [], []
        for number, generator in enumerate(rng.spawn(self.runs), 1):
            runs.append(_Run(objective, scorer, features, spread, monitor, start, self.non_negative))
            rows = runs[-1].ascend(generator.permutation(promising), self.cycles, self.tolerance)
            trace += [{"run": number, **row} for row in rows]
        mean = np.mean([run.normalised() for run in runs], axis=0)
        usable = np.where(spread > 0, spread, 1.0)
        solution = scorer.at(mean / usable)
        gain = max(run.last_gain for run in runs)
        value = objective.value(solution.scores(features))
        return Solution(
            solution,
            "budget" if gain > self.tolerance else "converged",
            {"objective": float(value), "last_gain": float(gain)},
            trace,
            f"mean of {self.runs} runs; the last sweep along all features gained at most {gain:.1e}",
        )


class _Run:
    """One run: scaled weights of length 1, their scores, and the best step so far."""

    def __init__(
        self, objective: ObjectiveOracles, scorer, features, spread, monitor: Monitor, start, non_negative
    ):
        self.objective, self.features, self.spread = objective, features, spread
        self.non_negative = non_negative
        self.best: Any = Incumbent(scorer, monitor)
        self.weights = np.array(start)
        self.last_gain = 0.0
        # A step changes scores by one column, and costs no product with all features. Those of the documents
        # to judge are apart, unless these are the training documents; they may be in other processes.
        self.judged = None if monitor.features is features else as_features(monitor.features)
        first = scorer.at(self._parameters())
        self.scores = [first.scores(features)]
        if self.judged is not None:
            self.scores.append(scored(first.scores, monitor.features))
        self._offer()

    def ascend(self, order: np.ndarray, cycles: int, tolerance: float) -> list[TraceRow]:
        """Step along the features in an order, until none gains more; return a row for each cycle."""
        gains, rows = np.full(len(order), np.inf), []
        for number in range(cycles * len(order)):
            at = number % len(order)
            gains[at] = self._step(order[at])
            self.last_gain = float(gains.max())
            ended = self.last_gain <= tolerance
            if ended or at == len(order) - 1:
                row = {"cycle": number // len(order) + 1, "gain": self.last_gain, "monitor": self.best.value}
                rows.append(row)
            if ended:
                break
        return rows

    def _step(self, feature: int) -> float:
        """Take the best step along a feature; return what it gains."""
        directions = [_column(self.features, self.spread, feature)]
        least = -float(self.weights[feature]) if self.non_negative else -np.inf
        step = self.objective.window_step_along(self.scores[0], directions[0], least)
        if step.size:
            self.weights[feature] += step.size
            length = np.linalg.norm(self.weights) or 1.0
            self.weights /= length
            if self.judged is not None:
                (column,) = self.judged.columns(feature, feature + 1).T
                directions.append(column.astype(np.float64) / self.spread[feature])
            self.scores = [
                (scores + step.size * direction) / length
                for scores, direction in zip(self.scores, directions, strict=True)
            ]
            self._offer()
        return step.decrease

    def normalised(self) -> np.ndarray:
        """Return the scaled weights of the best step, of length 1."""
        scaled = self.best.parameters * self.spread
        length = np.linalg.norm(scaled)
        return scaled / length if length > 0 else scaled

    def _parameters(self) -> np.ndarray:
        return self.weights / np.where(self.spread > 0, self.spread, 1.0)

    def _offer(self) -> None:
        self.best.offer_scores(self._parameters(), self.scores[-1])


def _column(features: np.ndarray, spread: np.ndarray, feature: int | np.ndarray) -> np.ndarray:
    return features[:, feature].astype(np.float64) / spread[feature]


def _spread_within_queries(objective: ObjectiveOracles, features: np.ndarray) -> np.ndarray:
    """Return the weighted standard deviation of each feature around means of queries; 0 for constant ones."""
    total, count = np.zeros(features.shape[1]), 0.0
    parts = [part for shard in objective.map_shards(list) for part in shard]
    ends = np.concatenate([part.rows.start + part.ends[:-1] for part in parts] + [[len(features)]])
    for weight, (first, last) in zip(objective.weights.tolist(), pairwise(ends.tolist()), strict=True):
        if weight > 0.0:
            block = features[first:last].astype(np.float64)
            total += weight * ((block - block.mean(axis=0)) ** 2).sum(axis=0)
            count += weight * len(block)
    spread = np.sqrt(total / count)
    largest = np.maximum(features.max(axis=0, initial=0.0), -features.min(axis=0, initial=0.0))
    return np.where(spread > 1e-7 * largest, spread, 0.0)


def _best_single(
    objective: ObjectiveOracles, features: np.ndarray, spread: np.ndarray, non_negative: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the single feature, up or down, with the least objective, as scaled weights.

    Returned are also the features to step along: no more than there are documents, those of the least values.
    """
    varying, weights = np.flatnonzero(spread > 0), np.zeros(features.shape[1])
    signs = (1.0,) if non_negative else (1.0, -1.0)
    values = np.empty((len(varying), len(signs)))
    at_once = max(1, RANKED_AT_ONCE // len(features))
    for first in range(0, len(varying), at_once):
        some = varying[first : first + at_once]
        columns = _column(features, spread, some).T
        values[first : first + at_once] = np.transpose([objective.values(sign * columns) for sign in signs])
    if len(varying):
        best, sign = divmod(int(values.argmin()), len(signs))
        weights[varying[best]] = signs[sign]
    promising = np.argsort(values.min(axis=1), kind="stable")[: len(features)]
    return weights, varying[np.sort(promising)]
