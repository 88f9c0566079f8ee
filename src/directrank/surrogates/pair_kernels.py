r"""Kernels of losses on pairs: :math:`\sum_{(i, j)} w_{ij}\, \varphi(s_i - s_j)`.

Pairs are given as runs: each of some consecutive documents, the winners, against each of some others, the
losers. Every winner meets every loser in one vectorised loop, which computes the value and hands the slope
to both sides; documents need no sorting by score. Long runs go to `pair_sorting` instead.
"""

import math

import numpy as np

from directrank.jit import kernel
from directrank.quotients import exponential
from directrank.surrogates.pair_margins import HUBER, SQUARED_HINGE, PairMargin

# Factors of at most 2 each, so that their product fits float32.
CHUNK = 64


def pairs_naive(s: np.ndarray, weights: np.ndarray, margin: PairMargin) -> tuple[float, np.ndarray]:
    """Value and gradient by definition for one query, from an n × n table of weights, for tests."""
    difference = s[:, None] - s[None, :]
    slope = weights * margin.slope(difference)
    return float((weights * margin.value(difference)).sum()), slope.sum(axis=1) - slope.sum(axis=0)


def curvature_naive(s: np.ndarray, v: np.ndarray, weights: np.ndarray, margin: PairMargin) -> np.ndarray:
    """Second derivative times `v` by definition for one query, for tests."""
    change = weights * margin.curvature(s[:, None] - s[None, :]) * (v[:, None] - v[None, :])
    return change.sum(axis=1) - change.sum(axis=0)


@kernel
def pair_sums(scores, runs, weights, strength, margin, width, gradient):
    """Return the value, and add its derivative to `gradient`.

    Winners of run r are the documents ``runs[r, 0]:runs[r, 1]``, losers ``runs[r, 2]:runs[r, 3]``; pair
    (i, j) weighs ``weights[r] * strength[i]``.
    """
    total = 0.0
    for r in range(len(runs)):
        losers, slopes = scores[runs[r, 2] : runs[r, 3]], gradient[runs[r, 2] : runs[r, 3]]
        for i in range(runs[r, 0], runs[r, 1]):
            w = weights[r] * strength[i]
            if w == 0.0:
                continue
            if margin == HUBER:
                value, pull = _huber(scores[i], losers, slopes, w, width)
            elif margin == SQUARED_HINGE:
                value, pull = _squared_hinge(scores[i], losers, slopes, w)
            else:
                value, pull = _logistic(scores[i], losers, slopes, w)
            total += w * np.float64(value)
            gradient[i] -= pull  # read it only now: the call has added to it where winners are losers too
    return total


@kernel
def pair_curvature(scores, direction, runs, weights, strength, margin, width, out):
    """Add the second derivative times `direction` to `out`; pairs as in `pair_sums`."""
    for r in range(len(runs)):
        losers, v = scores[runs[r, 2] : runs[r, 3]], direction[runs[r, 2] : runs[r, 3]]
        change = out[runs[r, 2] : runs[r, 3]]
        for i in range(runs[r, 0], runs[r, 1]):
            w = weights[r] * strength[i]
            if w == 0.0:
                continue
            if margin == HUBER:
                pull = _huber_curvature(scores[i], direction[i], losers, v, change, w, width)
            elif margin == SQUARED_HINGE:
                pull = _squared_hinge_curvature(scores[i], direction[i], losers, v, change, w)
            else:
                pull = _logistic_curvature(scores[i], direction[i], losers, v, change, w)
            out[i] += pull


@kernel
def _huber(x, losers, slopes, w, width):
    # With c the unclipped share of the slope, φ = h · clip(c) (2c − clip(c)).
    real = losers.dtype.type
    none, one, two, steep, weight = real(0), real(1), real(2), real(0.5 / width), real(w)
    top = (real(1.0 + width) - x) * steep
    total, pull = none, none
    for j in range(len(losers)):
        free = top + losers[j] * steep
        c = free if free > none else none
        c = c if c < one else one
        total += c * (two * free - c)
        slopes[j] += weight * c
        pull += c
    return real(width) * total, weight * pull


@kernel
def _squared_hinge(x, losers, slopes, w):
    real = losers.dtype.type
    none, top, weight = real(0), real(1) - x, real(2.0 * w)
    total, pull = none, none
    for j in range(len(losers)):
        u = top + losers[j]
        u = u if u > none else none
        total += u * u
        slopes[j] += weight * u
        pull += u
    return total, weight * pull


@kernel
def _logistic(x, losers, slopes, w):
    total, pull = 0.0, 0.0
    for first in range(0, len(losers), CHUNK):
        s, g = losers[first : first + CHUNK], slopes[first : first + CHUNK]
        linear, product, share = _logistic_chunk(x, s, g, w)
        total += linear + math.log(product)
        pull += share
    return total, losers.dtype.type(w * pull)


@kernel
def _logistic_chunk(x, losers, slopes, w):
    # ln(1 + e^z) = max(z, 0) + ln(1 + e^{-|z|}): one logarithm of a product for many pairs.
    real = losers.dtype.type
    linear, product, pull = 0.0, 1.0, 0.0
    for j in range(len(losers)):
        z = np.float64(losers[j] - x)
        size = abs(z)
        e = exponential(-(size if size < 700.0 else 700.0))
        share = (1.0 if z > 0.0 else e) / (1.0 + e)
        linear += z if z > 0.0 else 0.0
        product *= 1.0 + e
        slopes[j] += real(w * share)
        pull += share
    return linear, product, pull


@kernel
def _huber_curvature(x, vx, losers, v, change, w, width):
    real = losers.dtype.type
    none, h, weight = real(0), real(width), real(w * 0.5 / width)
    top, pull = real(1) - x, real(0)
    for j in range(len(losers)):
        c = (vx - v[j]) * weight if abs(top + losers[j]) < h else none
        change[j] -= c
        pull += c
    return pull


@kernel
def _squared_hinge_curvature(x, vx, losers, v, change, w):
    real = losers.dtype.type
    none, top, weight, pull = real(0), real(1) - x, real(2.0 * w), real(0)
    for j in range(len(losers)):
        c = (vx - v[j]) * weight if top + losers[j] > none else none
        change[j] -= c
        pull += c
    return pull


@kernel
def _logistic_curvature(x, vx, losers, v, change, w):
    real = losers.dtype.type
    pull = real(0)
    for j in range(len(losers)):
        size = abs(np.float64(losers[j] - x))
        e = exponential(-(size if size < 700.0 else 700.0))
        c = real(w * e / ((1.0 + e) * (1.0 + e))) * (vx - v[j])
        change[j] -= c
        pull += c
    return pull
