"""Kernels of logistic losses on pairs with a weight for each pair, from numbers of each document."""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential


def distance_losses(discounts: np.ndarray) -> np.ndarray:
    """Return D(d) − D(d + 1) at distances d = 0, ½, 1, …, 0 at distance 0; halves are interpolated."""
    whole = np.append(0.0, discounts[:-1] - discounts[1:])
    halves = np.zeros(2 * len(whole) - 1)
    halves[::2] = whole
    halves[1::2] = 0.5 * (whole[:-1] + whole[1:])
    if len(halves) > 1:
        halves[1] = whole[1]  # half a rank apart counts as neighbours
    return halves


def curvature_naive(s: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Second derivatives by definition for one query, from an n × n table of weights, for tests."""
    curved = weights / (2.0 + 2.0 * np.cosh(s[:, None] - s[None, :]))
    return curved.sum(axis=1) + curved.sum(axis=0)


def swaps_naive(s: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Value and gradient by definition for one query, from an n × n table of weights, for tests."""
    difference = s[:, None] - s[None, :]
    pull = weights / (1.0 + np.exp(difference))
    return float((weights * np.log1p(np.exp(-difference))).sum()), pull.sum(axis=0) - pull.sum(axis=1)


@kernel
def swap_sums(scores, runs, weights, gains, level, inside, place, by_distance, gradient):
    """Return the value, and add its derivative to `gradient`.

    Runs are those of `directrank.surrogates.pairs.runs`. A pair weighs the difference of gains times that of
    levels; times `inside` if it is tied, that is, has one `place`; or, if `by_distance` is not empty, times
    its entry at the difference of places.
    """
    total = 0.0
    for r in range(len(runs)):
        start, stop = runs[r, 2], runs[r, 3]
        s, slopes, g = scores[start:stop], gradient[start:stop], gains[start:stop]
        d, p = level[start:stop], place[start:stop]
        w = np.empty(stop - start)
        for i in range(runs[r, 0], runs[r, 1]):
            if len(by_distance):
                _weights_by_distance(gains[i], place[i], inside[i], g, p, by_distance, weights[r], w)
            else:
                _weights_by_level(gains[i], level[i], place[i], inside[i], g, d, p, weights[r], w)
            value, pull = weighted_logistic(scores[i], s, w, slopes)
            total += value
            gradient[i] -= scores.dtype.type(pull)
    return total


@kernel
def swap_curvatures(scores, runs, weights, gains, level, inside, place, by_distance, out):
    """Add the second derivative with respect to each score to `out`; arguments as in `swap_sums`."""
    for r in range(len(runs)):
        start, stop = runs[r, 2], runs[r, 3]
        s, curved, g = scores[start:stop], out[start:stop], gains[start:stop]
        d, p = level[start:stop], place[start:stop]
        w = np.empty(stop - start)
        for i in range(runs[r, 0], runs[r, 1]):
            if len(by_distance):
                _weights_by_distance(gains[i], place[i], inside[i], g, p, by_distance, weights[r], w)
            else:
                _weights_by_level(gains[i], level[i], place[i], inside[i], g, d, p, weights[r], w)
            out[i] += scores.dtype.type(logistic_curvature(scores[i], s, w, curved))


@kernel
def _weights_by_level(gain, level, place, inside, gains, levels, places, weight, w):
    for j in range(len(gains)):
        tied = inside if places[j] == place else 0.0
        w[j] = weight * (gain - gains[j]) * (abs(level - levels[j]) + tied)


@kernel
def _weights_by_distance(gain, place, inside, gains, places, by_distance, weight, w):
    for j in range(len(gains)):
        distance = abs(places[j] - place)
        loss = by_distance[distance] if distance > 0 else inside
        w[j] = weight * (gain - gains[j]) * loss


@kernel
def weighted_logistic(x, losers, w, slopes):
    """Return the value of the pairs of a winner of score x and minus its slope; add the losers' slopes."""
    real = losers.dtype.type
    total, pull = 0.0, 0.0
    for j in range(len(losers)):
        z = np.float64(losers[j] - x)
        size = abs(z)
        e = exponential(-(size if size < 700.0 else 700.0))
        share = w[j] * (1.0 if z > 0.0 else e) / (1.0 + e)
        total += w[j] * ((z if z > 0.0 else 0.0) + _log1p(e))
        slopes[j] += real(share)
        pull += share
    return total, pull


@kernel
def logistic_curvature(x, losers, w, out):
    """Return Σ w σ (1 − σ) over the pairs of a winner of score x, and add the terms to the losers."""
    real = losers.dtype.type
    total = 0.0
    for j in range(len(losers)):
        size = abs(np.float64(losers[j] - x))
        e = exponential(-(size if size < 700.0 else 700.0))
        curved = w[j] * e / ((1.0 + e) * (1.0 + e))
        out[j] += real(curved)
        total += curved
    return total


@kernel
def _log1p(e):
    # ln(1 + e) for e in [0, 1] is 2 artanh(e / (2 + e)), a series in at most 1/9, which vectorises.
    y = e / (2.0 + e)
    z = y * y
    series = 1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0 + z * (1.0 / 21.0 + z * (1.0 / 23.0 + z / 25.0))))
    series = 1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0 + z * series)))
    return 2.0 * y * (1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * series)))
