"""Logistic losses on pairs of long lists: those of one weight by sums over scores, others one by one."""

from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential
from directrank.surrogates.pairs.runs import loser_numbers, pair_weight, winner_numbers
from directrank.surrogates.softplus_sums import count_cells, softplus_sums

#: Pairs of a run from which a sum over scores takes less time than a visit of each.
LONG = 2**20


class ListedPairs(NamedTuple):
    """Some pairs, and what each weighs."""

    better: np.ndarray  # (n_pairs,), int64
    worse: np.ndarray  # (n_pairs,), int64
    weight: np.ndarray  # (n_pairs,), float64


NO_PAIRS = ListedPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def n_pairs(runs: np.ndarray) -> np.ndarray:
    """Return the number of pairs of each run, int64 (n_runs,)."""
    return (runs[:, 1] - runs[:, 0]) * (runs[:, 3] - runs[:, 2])


def are_near(scores: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Return for which runs the scores are near enough for a sum over cells, bool (n_runs,)."""
    near = np.ones(len(runs), np.bool_)
    for r, (first, last, start, stop) in enumerate(runs.tolist()):
        some = np.concatenate((scores[first:last], scores[start:stop]))
        near[r] = count_cells(float(some.min()), float(some.max())) <= len(some)
    return near


def add_sums(scores: np.ndarray, runs: np.ndarray, weights: np.ndarray, gradient: np.ndarray) -> float:
    """Return the value of runs whose pairs have one weight each, and add its derivative to `gradient`."""
    total = 0.0
    for (first, last, start, stop), weight in zip(runs.tolist(), weights.tolist(), strict=True):
        x, t = scores[first:last].astype(np.float64), scores[start:stop].astype(np.float64)
        values, slopes, _ = softplus_sums(t, np.ones(len(t)), x)
        total += weight * float(values.sum())
        gradient[first:last] += weight * slopes
        gradient[start:stop] -= weight * softplus_sums(-x, np.ones(len(x)), -t)[1]
    return total


def add_turns(
    scores: np.ndarray, direction: np.ndarray | None, runs: np.ndarray, weights: np.ndarray, out: np.ndarray
) -> None:
    """Add the second derivative of such runs times a direction to `out`; or without one its diagonal."""
    for (first, last, start, stop), weight in zip(runs.tolist(), weights.tolist(), strict=True):
        for here, there in (
            (slice(first, last), slice(start, stop)),
            (slice(start, stop), slice(first, last)),
        ):
            x, t = scores[here].astype(np.float64), scores[there].astype(np.float64)
            turns = np.maximum(softplus_sums(t, np.ones(len(t)), x)[2], 0.0)
            if direction is not None:
                turns *= direction[here]
                turns -= softplus_sums(t, direction[there].astype(np.float64), x)[2]
            out[here] += weight * turns


@kernel
def weigh(rule, better, worse, weight, out):
    """Write what pairs weigh by a rule, times a weight."""
    for k in range(len(better)):
        i, j = better[k], worse[k]
        out[k] = pair_weight(rule, winner_numbers(rule, i, 1, weight), loser_numbers(rule, j, j + 1), 0)


@kernel
def add_listed(scores, pairs, gradient, curvature):
    """Return the value of listed pairs; add its derivative, and the diagonal of its second derivative."""
    total = 0.0
    for k in range(len(pairs.weight)):
        i, j, w = pairs.better[k], pairs.worse[k], pairs.weight[k]
        z = np.float64(scores[j]) - np.float64(scores[i])
        size = abs(z)
        e = exponential(-(size if size < 700.0 else 700.0))
        share = w / (1.0 + e)
        slope, curve = share if z > 0.0 else share * e, share * e / (1.0 + e)
        total += w * ((z if z > 0.0 else 0.0) + np.log1p(e))
        gradient[i] -= slope
        gradient[j] += slope
        curvature[i] += curve
        curvature[j] += curve
    return total
