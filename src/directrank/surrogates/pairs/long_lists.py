"""Logistic losses on pairs of long lists: of one weight by sums over scores, else of near ranks alone."""

from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import (
    FLOAT64_RANGE,
    LARGEST_EXPONENT,
    exponential,
    extremes,
    log1p_of_quotient,
)
from directrank.surrogates.pairs.runs import loser_numbers, pair_weight, winner_numbers
from directrank.surrogates.softplus_sums import count_cells, softplus_sums

#: Pairs of a run from which a sum over scores takes less time than a visit of each.
LONG = 2**20


class RankedPairs(NamedTuple):
    """Pairs of documents that are near each other in a ranking of their list, by their distance there."""

    order: np.ndarray  # (n,), int64: The rows of the list in the order of the ranking
    # (n_runs, 3), int64: A distance, and the first and the exclusive last place in the order of documents
    # that form pairs with those so much further on
    runs: np.ndarray
    weights: np.ndarray  # (n_pairs,), float64, run by run; negative where the better document is further on


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
def rank_nearby(place, tied, reach, order, further):
    """Fill the ranking of a list, and how many next documents are within reach of each one's block."""
    n, filled, end = len(place), np.zeros(len(place), np.int64), 0
    for j in range(n):
        p = int(place[j])
        order[p + filled[p]] = j
        filled[p] += 1
    for k in range(n):
        last = place[order[k]] + tied[order[k]] - 1 + reach
        while end < n and place[order[end]] <= last:
            end += 1
        further[k] = end - 1 - k


@kernel
def weigh_nearby(rule, weight, relevance, further, pairs):
    """Fill the runs and weights of pairs by a rule, times a weight; `relevance` is that of all rows."""
    at, run = 0, 0
    for apart in range(1, further.max() + 1):
        k = 0
        while k < len(further):
            first = k
            while k < len(further) and further[k] >= apart:
                i, j = pairs.order[k], pairs.order[k + apart]
                better, worse = min(i, j), max(i, j)
                w = pair_weight(
                    rule, winner_numbers(rule, better, 1, weight), loser_numbers(rule, worse, worse + 1), 0
                )
                w = w if relevance[i] != relevance[j] else 0.0
                pairs.weights[at] = w if i < j else -w
                at, k = at + 1, k + 1
            if k > first:
                pairs.runs[run, 0], pairs.runs[run, 1], pairs.runs[run, 2] = apart, first, k
                run += 1
            k += 1


@kernel
def add_ranked(scores, pairs, gradient, curvature):
    """Return the value of ranked pairs; add its derivative, and the diagonal of its second derivative."""
    n, real = len(pairs.order), scores.dtype.type
    s, powers, slope, curve, sums = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.zeros((2, n))
    for k in range(n):
        s[k] = np.float64(scores[pairs.order[k]])
    low, high = extremes(s)
    by_powers = high - low <= FLOAT64_RANGE
    for k in range(n if by_powers else 0):
        powers[k] = exponential(s[k] - 0.5 * (low + high))
    total, at = 0.0, 0
    for r in range(len(pairs.runs)):
        apart, first, last = pairs.runs[r]
        here, there = slice(first, last), slice(first + apart, last + apart)
        weights = pairs.weights[at : at + last - first]
        if by_powers:
            total += _by_powers(weights, s[here], s[there], powers[here], powers[there], slope, curve)
        else:
            total += _by_differences(weights, s[here], s[there], slope, curve)
        for j in range(len(weights)):
            sums[0, first + j] -= slope[j]
            sums[1, first + j] += curve[j]
        for j in range(len(weights)):
            sums[0, first + apart + j] += slope[j]
            sums[1, first + apart + j] += curve[j]
        at += len(weights)
    for k in range(n):
        gradient[pairs.order[k]] += real(sums[0, k])
        curvature[pairs.order[k]] += real(sums[1, k])
    return total


@kernel
def _by_powers(weights, s, others, powers, of_others, slope, curve):
    # The value of pairs; slopes are in the scores of the others. Two loops, as one has too many constants.
    total = 0.0
    for j in range(len(weights)):
        a, b, apart = powers[j], of_others[j], others[j] - s[j]
        z = apart if weights[j] > 0.0 else -apart
        total += abs(weights[j]) * ((z if z > 0.0 else 0.0) + log1p_of_quotient(min(a, b), max(a, b)))
    for j in range(len(weights)):
        w, a, b = weights[j], powers[j], of_others[j]
        share = 1.0 / (a + b)
        slope[j] = w * ((b if w > 0.0 else a) * share)
        curve[j] = abs(w) * ((a * share) * (b * share))
    return total


@kernel
def _by_differences(weights, s, others, slope, curve):
    # The same for scores whose powers would overflow.
    total = 0.0
    for j in range(len(weights)):
        w, apart = abs(weights[j]), others[j] - s[j]
        z = apart if weights[j] > 0.0 else -apart
        size = abs(z)
        e = exponential(-(size if size < LARGEST_EXPONENT else LARGEST_EXPONENT))
        share = 1.0 / (1.0 + e)
        total += w * ((z if z > 0.0 else 0.0) + log1p_of_quotient(e, 1.0))
        slope[j] = weights[j] * (share if z > 0.0 else share * e)
        curve[j] = w * (share * (share * e))
    return total
