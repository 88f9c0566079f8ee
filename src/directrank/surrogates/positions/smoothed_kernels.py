"""Kernels of smooth positions, forward and backward.

The logistic of a difference is a quotient (`directrank.kernels.vector_math`). It overflows when α · (max −
min) grows, so this product decides for each query: quotients in the type of the scores; or, in kernels that
are compiled only when a query needs them, quotients in float64, around one centre or around several.
"""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import (
    BAND,
    FLOAT32_RANGE,
    FLOAT64_RANGE,
    extremes,
    fill_powers,
    fill_powers_around,
)


def soft_positions_naive(s: np.ndarray, alpha: float) -> np.ndarray:
    """Smooth positions of one query by definition, for tests."""
    with np.errstate(over="ignore"):
        return 0.5 + (1.0 / (1.0 + np.exp(-alpha * (s[None, :] - s[:, None])))).sum(axis=1)


def backward_naive(s: np.ndarray, alpha: float, slopes: np.ndarray) -> np.ndarray:
    """Derivative of Σ slopes · π̂ with respect to the scores of one query by definition, for tests."""
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(-alpha * (s[None, :] - s[:, None])))
    q = alpha * p * (1.0 - p)
    return slopes @ q - slopes * q.sum(axis=1)


def soft_positions(
    scores: np.ndarray, indptr: np.ndarray, leading: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return smooth positions of the first documents of each query.

    Parameters
    ----------
    scores : ndarray of shape (n_docs,), float32 or float64
    indptr : ndarray of shape (n_queries + 1,)
    leading : ndarray of shape (n_queries,)
        Documents of each query whose position is asked for.
    alpha : float
        Steepness, in 1/score.

    Returns
    -------
    positions : ndarray of shape (n_docs,), type of `scores`; 1 where not asked for
    powers : ndarray of shape (n_docs,), type of `scores`
        exp(α(s − middle)) of the queries whose quotients fit that type, for `backward`.
    """
    positions, powers = np.empty(len(scores), scores.dtype), np.empty(len(scores), scores.dtype)
    if _forward(scores, indptr, leading, alpha, positions, powers):
        _forward_far(scores, indptr, leading, alpha, positions)
    return positions, powers


def backward(scores, powers, indptr, leading, alpha, slopes, weights, gradient) -> None:
    """Add the derivative of −Σ_q w_q E_q to `gradient`, from its `slopes` with respect to positions."""
    if _backward(scores, powers, indptr, leading, alpha, slopes, weights, gradient):
        _backward_far(scores, indptr, leading, alpha, slopes, weights, gradient)


@kernel
def is_near(spread, itemsize):
    """Say whether quotients fit the type of the scores."""
    return spread <= (FLOAT32_RANGE if itemsize == 4 else FLOAT64_RANGE)


@kernel
def _forward(scores, indptr, leading, alpha, positions, powers):
    # Return how many queries are left to `_forward_far`.
    far = 0
    for j in range(len(positions)):
        positions[j] = 1.0
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        start, stop = indptr[q], indptr[q + 1]
        s, e, out = scores[start:stop], powers[start:stop], positions[start : start + leading[q]]
        low, high = extremes(s)
        if is_near(alpha * np.float64(high - low), s.itemsize):
            fill_powers(s, alpha, 0.5 * (np.float64(low) + np.float64(high)), e)
            forward_quotients(e, out)
        else:
            far += 1
    return far


@kernel
def _backward(scores, powers, indptr, leading, alpha, slopes, weights, gradient):
    # Return how many queries are left to `_backward_far`.
    far = 0
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        start, stop = indptr[q], indptr[q + 1]
        s, g, u = scores[start:stop], gradient[start:stop], slopes[start : start + leading[q]]
        low, high = extremes(s)
        if is_near(alpha * np.float64(high - low), s.itemsize):
            backward_quotients(powers[start:stop], u, s.dtype.type(-weights[q] * alpha), g)
        else:
            far += 1
    return far


@kernel
def _forward_far(scores, indptr, leading, alpha, positions):
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        s, out = scores[indptr[q] : indptr[q + 1]], positions[indptr[q] : indptr[q] + leading[q]]
        low, high = extremes(s)
        spread, middle = alpha * np.float64(high - low), 0.5 * (np.float64(low) + np.float64(high))
        if is_near(spread, s.itemsize):
            continue
        e = np.empty(len(s))
        if spread <= FLOAT64_RANGE:
            fill_powers(s, alpha, middle, e)
            forward_quotients(e, out)
            continue
        done = np.zeros(len(out), np.uint8)
        for first in range(len(out)):
            if done[first]:
                continue
            centre = np.float64(s[first])
            fill_powers_around(s, alpha, centre, e)
            for i in range(first, len(out)):
                if not done[i] and alpha * abs(s[i] - centre) <= BAND:
                    out[i], done[i] = _sum_of_quotients(e, e[i]), 1


@kernel
def _backward_far(scores, indptr, leading, alpha, slopes, weights, gradient):
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        start, stop = indptr[q], indptr[q + 1]
        s, u = scores[start:stop], slopes[start : start + leading[q]]
        low, high = extremes(s)
        spread, middle = alpha * np.float64(high - low), 0.5 * (np.float64(low) + np.float64(high))
        if is_near(spread, s.itemsize):
            continue
        # A document's own large term is added and subtracted again: float32 would round the others away.
        e, g, h = np.empty(len(s)), np.zeros(len(s)), -weights[q] * alpha
        if spread <= FLOAT64_RANGE:
            fill_powers(s, alpha, middle, e)
            backward_quotients(e, u, h, g)
        else:
            _backward_bands(s, alpha, u, h, e, g)
        for j in range(len(s)):
            gradient[start + j] += g[j]


@kernel
def _backward_bands(s, alpha, u, h, e, g):
    done = np.zeros(len(u), np.uint8)
    for first in range(len(u)):
        if done[first]:
            continue
        centre = np.float64(s[first])
        fill_powers_around(s, alpha, centre, e)
        for i in range(first, len(u)):
            if not done[i] and alpha * abs(s[i] - centre) <= BAND:
                total = _spread_quotient(e, e[i], h * u[i], g)
                g[i] -= total
                done[i] = 1


@kernel
def _sum_of_quotients(e, x):
    total = 0.5
    for j in range(len(e)):
        total += e[j] / (x + e[j])
    return total


@kernel
def _spread_quotient(e, x, h, g):
    total = 0.0
    for j in range(len(e)):
        r = 1.0 / (x + e[j])
        t = h * (e[j] * r) * (x * r)
        g[j] += t
        total += t
    return total


# Two documents share a division, 1/(uv) · v = 1/u, because the division dominates the time of these loops.
@kernel
def _sums_of_quotients(e, x, y):
    first, second = e.dtype.type(0.5), e.dtype.type(0.5)
    for j in range(len(e)):
        u, v = x + e[j], y + e[j]
        r = e[j] / (u * v)
        first += r * v
        second += r * u
    return first, second


@kernel
def forward_quotients(e, out):
    """Fill `out` with the smooth positions of the first documents, from the powers of all."""
    last = len(out) - 1
    for half in range((len(out) + 1) // 2):
        i, k = 2 * half, min(2 * half + 1, last)
        out[i], out[k] = _sums_of_quotients(e, e[i], e[k])


@kernel
def _spread_quotients(e, x, y, h, k, g):
    one = e.dtype.type(1.0)
    first, second = e.dtype.type(0.0), e.dtype.type(0.0)
    for j in range(len(e)):
        u, v = x + e[j], y + e[j]
        r = one / (u * v)
        s = e[j] * (v * r) * (v * r) * h
        t = e[j] * (u * r) * (u * r) * k
        g[j] += s + t
        first += s
        second += t
    return first, second


@kernel
def backward_quotients(e, u, h, g):
    """Add h times the derivative of Σ u π̂ to g, from the powers of all."""
    zero, n = e.dtype.type(0.0), len(u)
    for half in range((n + 1) // 2):
        i, k = 2 * half, min(2 * half + 1, n - 1)
        other = e.dtype.type(u[k]) * h * e[k] if k > i else zero
        first, second = _spread_quotients(e, e[i], e[k], e.dtype.type(u[i]) * h * e[i], other, g)
        # g is read only now: the call has added to it.
        g[i] -= first
        g[k] -= second
