"""Kernels of smooth positions, forward and backward.

The logistic of a difference is a quotient, σ(α(s_j − s_i)) = e_j / (e_i + e_j) with e = exp(α(s − middle)):
n exponentials instead of n². It overflows when α · (max − min) grows, so each query chooses its form by that
product: quotients in float32, quotients in float64, or the exponential of each difference.
"""

import math

import numpy as np

from directrank.jit import kernel

# With scores centred, |exponent| is half the range: float32 overflows at 88, and squares of sums must fit.
FLOAT32_RANGE = 80.0
FLOAT64_RANGE = 600.0


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
    """Smooth positions of the leading documents of each query.

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
    powers : ndarray of shape (n_docs,), float64
        exp(α(s − middle)) of the queries that use quotients, for `backward`.
    """
    positions = np.ones_like(scores)
    powers = np.empty(len(scores))
    _forward(scores, indptr, leading, alpha, positions, powers)
    return positions, powers


@kernel
def backward(scores, powers, indptr, leading, alpha, slopes, weights, gradient):
    """Add the derivative of −Σ_q w_q E_q to `gradient`, from its `slopes` with respect to positions."""
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        block = slice(indptr[q], indptr[q + 1])
        s, g = scores[block], gradient[block]
        u = slopes[indptr[q] : indptr[q] + leading[q]] * s.dtype.type(-weights[q] * alpha)
        spread = alpha * (s.max() - s.min())
        if spread <= FLOAT32_RANGE and s.itemsize == 4:
            _backward_quotients(powers[block].astype(np.float32), u, g)
        elif spread <= FLOAT64_RANGE:
            _backward_quotients(powers[block], u, g)
        else:
            _backward_differences(s, alpha, u, g)


@kernel
def _forward(scores, indptr, leading, alpha, positions, powers):
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        block = slice(indptr[q], indptr[q + 1])
        s, e = scores[block], powers[block]
        out = positions[indptr[q] : indptr[q] + leading[q]]
        low, high = np.float64(s.min()), np.float64(s.max())
        spread = alpha * (high - low)
        if spread > FLOAT64_RANGE:
            _forward_differences(s, alpha, out)
            continue
        for j in range(len(s)):
            e[j] = math.exp(alpha * (s[j] - 0.5 * (low + high)))
        if spread <= FLOAT32_RANGE and s.itemsize == 4:
            _forward_quotients(e.astype(np.float32), out)
        else:
            _forward_quotients(e, out)


@kernel
def _sum_of_quotients(e, x):
    total = e.dtype.type(0.5)
    for j in range(len(e)):
        total += e[j] / (x + e[j])
    return total


@kernel
def _forward_quotients(e, out):
    for i in range(len(out)):
        out[i] = _sum_of_quotients(e, e[i])


@kernel
def _spread_quotients(e, x, h, g):
    one = e.dtype.type(1.0)
    total = e.dtype.type(0.0)
    for j in range(len(e)):
        r = one / (x + e[j])
        t = e[j] * r * r * h
        g[j] += t
        total += t
    return total


@kernel
def _backward_quotients(e, u, g):
    for i in range(len(u)):
        total = _spread_quotients(e, e[i], e.dtype.type(u[i]) * e[i], g)
        g[i] -= total  # read g[i] only now: the call has added to it


@kernel
def _decay(z):
    # exp(-z) for z ≥ 0 without a branch, so that it vectorises: a short series, then ten squarings.
    x = -min(z, 700.0) / 1024.0
    y = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (
        1.0 + x / 7.0 * (1.0 + x / 8.0 * (1.0 + x / 9.0 * (1.0 + x / 10.0 * (1.0 + x / 11.0))))))))))  # fmt: skip
    for _ in range(10):
        y *= y
    return y


@kernel
def _forward_differences(s, alpha, out):
    for i in range(len(out)):
        x, total = s[i], 0.5
        for j in range(len(s)):
            z = alpha * np.float64(s[j] - x)
            t = _decay(abs(z))
            total += (1.0 if z >= 0 else t) / (1.0 + t)
        out[i] = total


@kernel
def _backward_differences(s, alpha, u, g):
    for i in range(len(u)):
        x, h, total = s[i], np.float64(u[i]), 0.0
        for j in range(len(s)):
            t = _decay(alpha * abs(np.float64(s[j] - x)))
            t = h * t / ((1.0 + t) * (1.0 + t))
            g[j] += t
            total += t
        g[i] -= total
