r"""Kernels of losses on pairs: :math:`\sum_{(i, j)} w_{ij}\, \varphi(s_i - s_j)`.

Pairs are given as runs (`directrank.surrogates.pairs.runs`). One vectorised loop over the losers of a winner
computes the value and adds the slope to both sides; documents need no sorting by score. Long runs are
computed in `directrank.surrogates.pairs.by_sorting` instead.
"""

import math

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential
from directrank.surrogates.margins import HINGE, HUBER, LOGISTIC, SQUARED_HINGE, Margin

# Factors of at most 2 each, so that their product fits float32.
CHUNK = 64


def pairs_naive(s: np.ndarray, weights: np.ndarray, margin: Margin) -> tuple[float, np.ndarray]:
    """Value and gradient by definition for one query, from an n × n table of weights, for tests."""
    difference = s[:, None] - s[None, :]
    slope = weights * margin.slope(difference)
    return float((weights * margin.value(difference)).sum()), slope.sum(axis=1) - slope.sum(axis=0)


def curvature_naive(s: np.ndarray, v: np.ndarray, weights: np.ndarray, margin: Margin) -> np.ndarray:
    """Second derivative times `v` by definition for one query, for tests."""
    change = weights * margin.curvature(s[:, None] - s[None, :]) * (v[:, None] - v[None, :])
    return change.sum(axis=1) - change.sum(axis=0)


def _named_for(margin):
    # Compiled code is cached by name: kernels of one name could be confused between processes.
    def rename(function):
        function.__name__ = function.__qualname__ = f"{function.__name__}_{margin}"
        return function

    return rename


def _sums_of(margin):
    # One kernel a margin, so that only the code of that margin is compiled.
    @kernel
    @_named_for(margin)
    def pair_sums(scores, runs, weights, strength, width, gradient):
        total = 0.0
        for r in range(len(runs)):
            losers, slopes = scores[runs[r, 2] : runs[r, 3]], gradient[runs[r, 2] : runs[r, 3]]
            i, last = runs[r, 0], runs[r, 1]
            while margin != LOGISTIC and i + 4 <= last:
                x = (scores[i], scores[i + 1], scores[i + 2], scores[i + 3])
                a = (strength[i], strength[i + 1], strength[i + 2], strength[i + 3])
                if margin == HUBER:
                    value, pulls = _four_hubers(x, losers, slopes, weights[r], a, width)
                elif margin == SQUARED_HINGE:
                    value, pulls = _four_squared_hinges(x, losers, slopes, weights[r], a)
                else:
                    value, pulls = _four_hinges(x, losers, slopes, weights[r], a)
                total += np.float64(value)
                # The gradient is read only now: the call has added to it where winners are losers too.
                gradient[i] -= pulls[0]
                gradient[i + 1] -= pulls[1]
                gradient[i + 2] -= pulls[2]
                gradient[i + 3] -= pulls[3]
                i += 4
            while i < last:
                w = weights[r] * strength[i]
                if margin == HUBER:
                    value, pull = _huber(scores[i], losers, slopes, w, width)
                elif margin == SQUARED_HINGE:
                    value, pull = _squared_hinge(scores[i], losers, slopes, w)
                elif margin == HINGE:
                    value, pull = _hinge(scores[i], losers, slopes, w)
                else:
                    value, pull = _logistic(scores[i], losers, slopes, w)
                total += w * np.float64(value)
                gradient[i] -= pull
                i += 1
        return total

    return pair_sums


def _curvature_of(margin):
    @kernel
    @_named_for(margin)
    def pair_curvature(scores, direction, runs, weights, strength, width, out):
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

    return pair_curvature


#: Kernels by the code of a margin: each returns the value and adds its derivative to `gradient`. Pair (i, j)
#: of run r weighs ``weights[r] * strength[i]``.
PAIR_SUMS = {margin: _sums_of(margin) for margin in (HUBER, SQUARED_HINGE, HINGE, LOGISTIC)}

#: Kernels by the code of a margin: each adds the second derivative times `direction` to `out`.
PAIR_CURVATURE = {margin: _curvature_of(margin) for margin in (HUBER, SQUARED_HINGE, LOGISTIC)}


@kernel
def _four_hubers(x, losers, slopes, weight, strength, width):
    # Four winners at once: losers and their slopes are read once for all of them, and fewer sums are taken
    # across vectors. The value returned is weighted.
    real = losers.dtype.type
    none, one, two, steep = real(0), real(1), real(2), real(0.5 / width)
    top = real((1.0 + width) * 0.5 / width)
    t0, t1, t2, t3 = top - x[0] * steep, top - x[1] * steep, top - x[2] * steep, top - x[3] * steep
    w0, w1 = real(weight * strength[0]), real(weight * strength[1])
    w2, w3 = real(weight * strength[2]), real(weight * strength[3])
    total, p0, p1, p2, p3 = none, none, none, none, none
    for j in range(len(losers)):
        s = losers[j] * steep
        f0, f1, f2, f3 = t0 + s, t1 + s, t2 + s, t3 + s
        c0, c1, c2, c3 = max(f0, none), max(f1, none), max(f2, none), max(f3, none)
        c0, c1, c2, c3 = min(c0, one), min(c1, one), min(c2, one), min(c3, one)
        b0, b1, b2, b3 = w0 * c0, w1 * c1, w2 * c2, w3 * c3
        total += b0 * (two * f0 - c0) + b1 * (two * f1 - c1) + b2 * (two * f2 - c2) + b3 * (two * f3 - c3)
        slopes[j] += (b0 + b1) + (b2 + b3)
        p0 += b0
        p1 += b1
        p2 += b2
        p3 += b3
    return real(width) * total, (p0, p1, p2, p3)


@kernel
def _four_squared_hinges(x, losers, slopes, weight, strength):
    real = losers.dtype.type
    none, one, half = real(0), real(1), real(0.5)
    t0, t1, t2, t3 = one - x[0], one - x[1], one - x[2], one - x[3]
    w0, w1 = real(2.0 * weight * strength[0]), real(2.0 * weight * strength[1])
    w2, w3 = real(2.0 * weight * strength[2]), real(2.0 * weight * strength[3])
    total, p0, p1, p2, p3 = none, none, none, none, none
    for j in range(len(losers)):
        s = losers[j]
        u0, u1, u2, u3 = max(t0 + s, none), max(t1 + s, none), max(t2 + s, none), max(t3 + s, none)
        b0, b1, b2, b3 = w0 * u0, w1 * u1, w2 * u2, w3 * u3
        total += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
        slopes[j] += (b0 + b1) + (b2 + b3)
        p0 += b0
        p1 += b1
        p2 += b2
        p3 += b3
    return half * total, (p0, p1, p2, p3)


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
def _four_hinges(x, losers, slopes, weight, strength):
    real = losers.dtype.type
    none, one = real(0), real(1)
    t0, t1, t2, t3 = one - x[0], one - x[1], one - x[2], one - x[3]
    w0, w1 = real(weight * strength[0]), real(weight * strength[1])
    w2, w3 = real(weight * strength[2]), real(weight * strength[3])
    total, p0, p1, p2, p3 = none, none, none, none, none
    for j in range(len(losers)):
        s = losers[j]
        u0, u1, u2, u3 = t0 + s, t1 + s, t2 + s, t3 + s
        b0, b1 = (w0 if u0 > none else none), (w1 if u1 > none else none)
        b2, b3 = (w2 if u2 > none else none), (w3 if u3 > none else none)
        total += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
        slopes[j] += (b0 + b1) + (b2 + b3)
        p0 += b0
        p1 += b1
        p2 += b2
        p3 += b3
    return total, (p0, p1, p2, p3)


@kernel
def _hinge(x, losers, slopes, w):
    real = losers.dtype.type
    none, top, weight = real(0), real(1) - x, real(w)
    total, pull = none, none
    for j in range(len(losers)):
        u = top + losers[j]
        b = weight if u > none else none
        total += max(u, none)
        slopes[j] += b
        pull += b
    return total, pull


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
