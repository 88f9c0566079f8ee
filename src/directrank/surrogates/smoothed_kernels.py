"""Kernels of smooth positions, forward and backward.

The logistic of a difference is a quotient, σ(α(s_j − s_i)) = e_j / (e_i + e_j) with e = exp(α(s − middle)):
n exponentials instead of n². It overflows when α · (max − min) grows, so each query chooses its form by that
product: quotients in float32, quotients in float64, or the exponential of each difference.
"""

import numpy as np

from directrank.jit import kernel
from directrank.surrogates.exponential import exponential

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
    powers : ndarray of shape (n_docs,), type of `scores`
        exp(α(s − middle)) of the queries whose quotients fit that type, for `backward`.
    """
    positions = np.ones_like(scores)
    powers = np.empty_like(scores)
    _forward(scores, indptr, leading, alpha, positions, powers)
    return positions, powers


@kernel
def backward(scores, powers, indptr, leading, alpha, slopes, weights, gradient):
    """Add the derivative of −Σ_q w_q E_q to `gradient`, from its `slopes` with respect to positions."""
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        start, stop, lead = indptr[q], indptr[q + 1], indptr[q] + leading[q]
        s, g, u = scores[start:stop], gradient[start:stop], slopes[start:lead]
        h = -weights[q] * alpha
        low, high = _extremes(s)
        spread = alpha * np.float64(high - low)
        if spread <= (FLOAT32_RANGE if s.itemsize == 4 else FLOAT64_RANGE):
            _backward_quotients(powers[start:stop], u, s.dtype.type(h), g)
        elif spread <= FLOAT64_RANGE:
            e = np.empty(len(s))
            _fill_powers(s, alpha, low, high, e)
            _backward_quotients(e, u, h, g)
        else:
            _backward_differences(s, alpha, u, h, g)


@kernel
def _forward(scores, indptr, leading, alpha, positions, powers):
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        start, stop, lead = indptr[q], indptr[q + 1], indptr[q] + leading[q]
        s, out = scores[start:stop], positions[start:lead]
        low, high = _extremes(s)
        spread = alpha * np.float64(high - low)
        if spread <= (FLOAT32_RANGE if s.itemsize == 4 else FLOAT64_RANGE):
            e = powers[start:stop]
            _fill_powers(s, alpha, low, high, e)
            _forward_quotients(e, out)
        elif spread <= FLOAT64_RANGE:
            wide = np.empty(len(s))
            _fill_powers(s, alpha, low, high, wide)
            _forward_quotients(wide, out)
        else:
            _forward_differences(s, alpha, out)


@kernel
def _extremes(s):
    low, high = s[0], s[0]
    for j in range(len(s)):
        low = min(low, s[j])
        high = max(high, s[j])
    return low, high


@kernel
def _fill_powers(s, alpha, low, high, e):
    middle = 0.5 * (np.float64(low) + np.float64(high))
    for j in range(len(s)):
        e[j] = exponential(alpha * (np.float64(s[j]) - middle))


# Two documents at a time share a division, 1/(uv) · v = 1/u: the division is what these loops cost.
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
def _forward_quotients(e, out):
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
def _backward_quotients(e, u, h, g):
    zero, n = e.dtype.type(0.0), len(u)
    for half in range((n + 1) // 2):
        i, k = 2 * half, min(2 * half + 1, n - 1)
        other = e.dtype.type(u[k]) * h * e[k] if k > i else zero
        first, second = _spread_quotients(e, e[i], e[k], e.dtype.type(u[i]) * h * e[i], other, g)
        # g is read only now: the call has added to it.
        g[i] -= first
        g[k] -= second


@kernel
def _forward_differences(s, alpha, out):
    for i in range(len(out)):
        x, total = s[i], 0.5
        for j in range(len(s)):
            z = alpha * np.float64(s[j] - x)
            t = exponential(-min(abs(z), 700.0))
            total += (1.0 if z >= 0 else t) / (1.0 + t)
        out[i] = total


@kernel
def _backward_differences(s, alpha, u, scale, g):
    for i in range(len(u)):
        x, h, total = s[i], scale * np.float64(u[i]), 0.0
        for j in range(len(s)):
            t = exponential(-min(alpha * abs(np.float64(s[j] - x)), 700.0))
            # A document does not move itself, and its large term would round away the others.
            t = h * t / ((1.0 + t) * (1.0 + t)) if j != i else 0.0
            g[j] += t
            total += t
        g[i] -= total
