"""Precision at fractional positions: comparisons of positions become logistic functions of steepness β.

The logistic of a difference of two positions is a quotient, σ(β(π_j − π_i)) = e_i / (e_i + e_j) with
e = exp(−β(π − middle)): R exponentials instead of R². It overflows when β · (max − min) grows; queries where
it would take the exponential of each difference.
"""

import math

import numpy as np

from directrank.jit import kernel

# With positions centred, |exponent| is half the range: float64 overflows at 709, and sums must fit.
FLOAT64_RANGE = 600.0
LARGEST_EXPONENT = 700.0


def soft_ap_naive(p, divisor, cutoff, beta) -> tuple[float, np.ndarray]:
    """Smooth AP of one query and its slopes at the positions of its relevant documents, for tests."""
    before = 1.0 / (1.0 + np.exp(np.clip(beta * (p[:, None] - p[None, :]), -700, 700)))  # row before column
    inside = 1.0 / (1.0 + np.exp(np.clip(beta * (p - cutoff - 0.5), -700, 700)))
    count = 0.5 + before.sum(axis=0)
    slope = beta * before * (1.0 - before)
    own = inside * (slope.sum(axis=0) / p - count / p**2) - beta * inside * (1.0 - inside) * count / p
    return (inside * count / p).sum() / divisor, (own - slope @ (inside / p)) / divisor


def soft_precision_naive(p, cutoff, beta) -> tuple[float, np.ndarray]:
    """Smooth P@k of one query and its slopes at the positions of its relevant documents, for tests."""
    inside = 1.0 / (1.0 + np.exp(np.clip(beta * (p - cutoff - 0.5), -700, 700)))
    return inside.sum() / cutoff, -beta * inside * (1.0 - inside) / cutoff


@kernel
def within(position, cutoff, beta):
    """1{position ≤ cutoff} smoothed: 1 / (1 + exp(β(position − cutoff − 1/2))), without overflow."""
    z = beta * (cutoff + 0.5 - np.float64(position))
    decay = math.exp(-min(abs(z), LARGEST_EXPONENT))
    return (1.0 if z >= 0.0 else decay) / (1.0 + decay)


@kernel
def soft_precision(positions, indptr, leading, divisor, cutoff, beta, values, gradient):
    """Fill `values` with the smooth P@k of each query, and `gradient` with the slopes of its positions."""
    for q in range(len(leading)):
        first, last = indptr[q], indptr[q] + leading[q]
        p, slopes = positions[first:last], gradient[first:last]
        total, scale = 0.0, 1.0 / divisor[q]
        for i in range(len(p)):
            inside = within(p[i], cutoff, beta)
            total += inside
            slopes[i] = -beta * inside * (1.0 - inside) * scale
        values[q] = total * scale


@kernel
def soft_ap(positions, indptr, leading, divisor, cutoff, beta, values, gradient):
    """Fill `values` with the smooth AP of each query, and `gradient` (zero before) with the slopes."""
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        start, stop = indptr[q], indptr[q] + leading[q]
        p, g = positions[start:stop], gradient[start:stop]
        low, high = _extremes(p)
        weight = 1.0 / divisor[q]
        if beta * np.float64(high - low) <= FLOAT64_RANGE:
            e = np.empty(len(p))
            _fill_powers(p, beta, low, high, e)
            values[q] = _ap_by_quotients(p, e, beta, cutoff, weight, g)
        else:
            values[q] = _ap_by_differences(p, beta, cutoff, weight, g)


@kernel
def _extremes(p):
    low, high = p[0], p[0]
    for j in range(len(p)):
        low = min(low, p[j])
        high = max(high, p[j])
    return low, high


@kernel
def _fill_powers(p, beta, low, high, e):
    middle = 0.5 * (np.float64(low) + np.float64(high))
    for j in range(len(p)):
        e[j] = math.exp(beta * (middle - np.float64(p[j])))


@kernel
def _compare_by_quotients(e, x, h, g):
    # Sums over j of t and of h t (1 − t), t = e_j / (x + e_j); the latter's terms are taken from g.
    count, slope = 0.0, 0.0
    for j in range(len(e)):
        r = 1.0 / (x + e[j])
        t = e[j] * r
        w = h * t * (x * r)
        g[j] -= w
        count += t
        slope += w
    return count, slope


@kernel
def _ap_by_quotients(p, e, beta, cutoff, weight, g):
    value = 0.0
    for i in range(len(p)):
        position = np.float64(p[i])
        inside = 1.0 if cutoff == math.inf else within(position, cutoff, beta)
        share = weight * inside / position
        count, slope = _compare_by_quotients(e, e[i], beta * share, g)
        counted = share * (0.5 + count)  # the document itself is one half of the count
        value += counted
        g[i] += slope - counted * (1.0 / position + beta * (1.0 - inside))
    return value


@kernel
def vanishing(x):
    """exp(−x) for x from 0 to 700 without a branch, so that it vectorises."""
    # A short series of x / 1024, then ten squarings.
    z = -x / 1024.0
    y = 1.0 + z / 5.0 * (
        1.0 + z / 6.0 * (1.0 + z / 7.0 * (1.0 + z / 8.0 * (1.0 + z / 9.0 * (1.0 + z / 10.0))))
    )
    y = 1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0 * y)))
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    return y * y


@kernel
def _compare_by_differences(p, position, beta, h, g):
    count, slope = 0.0, 0.0
    for j in range(len(p)):
        z = beta * (position - np.float64(p[j]))
        decay = vanishing(min(abs(z), LARGEST_EXPONENT))
        t = (1.0 if z >= 0.0 else decay) / (1.0 + decay)
        w = h * decay / ((1.0 + decay) * (1.0 + decay))
        g[j] -= w
        count += t
        slope += w
    return count, slope


@kernel
def _ap_by_differences(p, beta, cutoff, weight, g):
    value = 0.0
    for i in range(len(p)):
        position = np.float64(p[i])
        inside = 1.0 if cutoff == math.inf else within(position, cutoff, beta)
        share = weight * inside / position
        count, slope = _compare_by_differences(p, position, beta, beta * share, g)
        counted = share * (0.5 + count)
        value += counted
        g[i] += slope - counted * (1.0 / position + beta * (1.0 - inside))
    return value
