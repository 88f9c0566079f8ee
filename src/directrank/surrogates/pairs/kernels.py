r"""Kernels of losses on pairs: :math:`\sum_{(i, j)} w_{ij}\, \varphi(s_i - s_j)`.

Pairs are given as runs (`directrank.surrogates.pairs.runs`). One vectorised loop over the losers of a winner
computes the value and adds the slope to both sides; documents need no sorting by score. Long runs are
computed in `directrank.surrogates.pairs.by_sorting` instead.
"""

import math
from collections.abc import Callable

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


def hessian_naive(s: np.ndarray, v: np.ndarray, weights: np.ndarray, margin: Margin) -> np.ndarray:
    """Second derivative times `v` by definition for one query, for tests."""
    change = weights * margin.curvature(s[:, None] - s[None, :]) * (v[:, None] - v[None, :])
    return change.sum(axis=1) - change.sum(axis=0)


def named_for(margin: int) -> Callable:
    """Return a decorator that adds a margin to the name of a function, before it is compiled.

    Compiled code is cached by name: kernels of one name could be confused between processes.
    """

    def rename(function):
        function.__name__ = function.__qualname__ = f"{function.__name__}_{margin}"
        return function

    return rename


# One kernel a margin, so that only the code of that margin is compiled.
def _sums_of(margin):
    @kernel
    @named_for(margin)
    def pair_sums(scores, runs, weights, strength, width, gradient):
        total = 0.0
        for r in range(len(runs)):
            losers, slopes = scores[runs[r, 2] : runs[r, 3]], gradient[runs[r, 2] : runs[r, 3]]
            i, last = runs[r, 0], runs[r, 1]
            while margin != LOGISTIC and i + 4 <= last:
                x = (scores[i], scores[i + 1], scores[i + 2], scores[i + 3])
                a = (strength[i], strength[i + 1], strength[i + 2], strength[i + 3])
                value, pulls = four_winners(margin, x, losers, slopes, weights[r], a, width)
                total += np.float64(value)
                # The gradient is read only now: the call has added to it where winners are losers too.
                gradient[i] -= pulls[0]
                gradient[i + 1] -= pulls[1]
                gradient[i + 2] -= pulls[2]
                gradient[i + 3] -= pulls[3]
                i += 4
            for k in range(i, last):
                w = weights[r] * strength[k]
                if margin == LOGISTIC:
                    value, pull = _logistic(scores[k], losers, slopes, w)
                else:
                    value, pull = _winner(margin, scores[k], losers, slopes, w, width)
                total += w * np.float64(value)
                gradient[k] -= pull
        return total

    return pair_sums


def _hessian_of(margin):
    @kernel
    @named_for(margin)
    def pair_hessian(scores, direction, runs, weights, strength, width, out):
        for r in range(len(runs)):
            losers, v = scores[runs[r, 2] : runs[r, 3]], direction[runs[r, 2] : runs[r, 3]]
            change = out[runs[r, 2] : runs[r, 3]]
            for i in range(runs[r, 0], runs[r, 1]):
                w = weights[r] * strength[i]
                if w == 0.0:
                    continue
                if margin == LOGISTIC:
                    pull = _logistic_change(scores[i], direction[i], losers, v, change, w)
                else:
                    pull = _hinge_change(margin, scores[i], direction[i], losers, v, change, w, width)
                out[i] += pull

    return pair_hessian


#: Kernels by the code of a margin: each returns the value and adds its derivative to `gradient`. Pair (i, j)
#: of run r weighs ``weights[r] * strength[i]``.
PAIR_SUMS = {margin: _sums_of(margin) for margin in (HUBER, SQUARED_HINGE, HINGE, LOGISTIC)}

#: Kernels by the code of a margin: each adds the second derivative times `direction` to `out`.
PAIR_HESSIANS = {margin: _hessian_of(margin) for margin in (HUBER, SQUARED_HINGE, LOGISTIC)}


# The hinges in one form: with f = (corner − s_i + s_j) · steep, a share c(f) and a height h(f, c), the slope
# −φ' is factor · c and φ is scale · factor · c · h. `margin` is a constant where these kernels are inlined.
@kernel
def _form(margin, width, real):
    if margin == HUBER:
        return real(1.0 + width), real(0.5 / width), 1.0, real(width)
    factor = 2.0 if margin == SQUARED_HINGE else 1.0
    return real(1), real(1), factor, real(1.0 / factor)


@kernel
def _share(margin, f, none, one):
    if margin == HUBER:
        return min(max(f, none), one)
    return max(f, none) if margin == SQUARED_HINGE else (one if f > none else none)


@kernel
def _height(margin, f, c):
    if margin == HUBER:
        return f + f - c
    return c if margin == SQUARED_HINGE else f


@kernel
def four_winners(margin, x, losers, slopes, weight, strength, width):
    """Return the weighted value of the pairs of four winners and minus their slopes; add the losers' slopes.

    Losers and their slopes are read once for all four, and fewer sums are taken across vectors.
    """
    real = losers.dtype.type
    none, one = real(0), real(1)
    corner, steep, factor, scale = _form(margin, width, real)
    t0, t1, t2, t3 = corner - x[0], corner - x[1], corner - x[2], corner - x[3]
    w0, w1 = real(factor * weight * strength[0]), real(factor * weight * strength[1])
    w2, w3 = real(factor * weight * strength[2]), real(factor * weight * strength[3])
    total, p0, p1, p2, p3 = none, none, none, none, none
    for j in range(len(losers)):
        s = losers[j]
        f0, f1, f2, f3 = (t0 + s) * steep, (t1 + s) * steep, (t2 + s) * steep, (t3 + s) * steep
        c0, c1 = _share(margin, f0, none, one), _share(margin, f1, none, one)
        c2, c3 = _share(margin, f2, none, one), _share(margin, f3, none, one)
        b0, b1, b2, b3 = w0 * c0, w1 * c1, w2 * c2, w3 * c3
        h0, h1 = _height(margin, f0, c0), _height(margin, f1, c1)
        h2, h3 = _height(margin, f2, c2), _height(margin, f3, c3)
        total += b0 * h0 + b1 * h1 + b2 * h2 + b3 * h3
        slopes[j] += (b0 + b1) + (b2 + b3)
        p0 += b0
        p1 += b1
        p2 += b2
        p3 += b3
    return scale * total, (p0, p1, p2, p3)


@kernel
def _winner(margin, x, losers, slopes, w, width):
    real = losers.dtype.type
    none, one = real(0), real(1)
    corner, steep, factor, scale = _form(margin, width, real)
    top, weight = (corner - x) * steep, real(factor * w)
    total, pull = none, none
    for j in range(len(losers)):
        f = top + losers[j] * steep
        c = _share(margin, f, none, one)
        total += c * _height(margin, f, c)
        slopes[j] += weight * c
        pull += c
    return scale * real(factor) * total, weight * pull


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
def _hinge_change(margin, x, vx, losers, v, change, w, width):
    real = losers.dtype.type
    none, h, top, pull = real(0), real(width), real(1) - x, real(0)
    weight = real(w * 0.5 / width if margin == HUBER else 2.0 * w)
    for j in range(len(losers)):
        f = top + losers[j]
        curved = abs(f) < h if margin == HUBER else f > none
        c = (vx - v[j]) * weight if curved else none
        change[j] -= c
        pull += c
    return pull


@kernel
def _logistic_change(x, vx, losers, v, change, w):
    real = losers.dtype.type
    pull = real(0)
    for j in range(len(losers)):
        size = abs(np.float64(losers[j] - x))
        e = exponential(-(size if size < 700.0 else 700.0))
        c = real(w * e / ((1.0 + e) * (1.0 + e))) * (vx - v[j])
        change[j] -= c
        pull += c
    return pull
