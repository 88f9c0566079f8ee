"""Precision at fractional positions: comparisons of positions become logistic functions of steepness β.

The logistic of a difference of two positions is a quotient (`directrank.kernels.vector_math`), with −β for α:
small positions come first.
"""

import math
from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, position_slopes, register_kernel
from directrank.kernels.vector_math import (
    BAND,
    FLOAT64_RANGE,
    LARGEST_EXPONENT,
    REACH,
    extremes,
    fill_powers_around,
)


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


class PrecisionForm(NamedTuple):
    """A smooth AP of all queries.

    Attributes
    ----------
    divisor : ndarray of shape (n_queries,), float64
    cutoff : float
    truncation : float
        β.
    """

    divisor: np.ndarray
    cutoff: float
    truncation: float


class HitsForm(PrecisionForm):
    """A smooth P@k of all queries."""


@register_kernel(position_slopes, HitsForm)
@kernel
def hits_slopes(form, q, p, scratch, slopes):
    """Return the smooth P@k of a query and write its slopes at the positions p."""
    total, scale = 0.0, 1.0 / form.divisor[q]
    for i in range(len(p)):
        inside = within(p[i], form.cutoff, form.truncation)
        total += inside
        slopes[i] = -form.truncation * inside * (1.0 - inside) * scale
    return total * scale


@register_kernel(position_slopes, PrecisionForm)
@kernel
def precision_slopes(form, q, p, scratch, slopes):
    """Return the smooth AP of a query and write its slopes at the positions p.

    Positions are compared around one centre, or in bands with a centre each if they are too far apart.
    """
    beta, n, value = form.truncation, len(p), 0.0
    # Powers and slopes are padded to whole vectors: the quotient of a power 0 is 0.
    padded = -(-n // WIDTH) * WIDTH
    e, g, shares = np.zeros(padded), np.zeros(padded), scratch[:n]
    band, done, low_high = np.empty(n, np.int64), np.zeros(n, np.uint8), extremes(p)
    middle = 0.5 * (np.float64(low_high[0]) + np.float64(low_high[1]))
    is_near = beta * np.float64(low_high[1] - low_high[0]) <= FLOAT64_RANGE
    for i in range(n):
        inside = 1.0 if form.cutoff == math.inf else within(p[i], form.cutoff, beta)
        shares[i] = inside / (form.divisor[q] * p[i])
    for first in range(n):
        if done[first]:
            continue
        centre, count = middle if is_near else np.float64(p[first]), 0
        fill_powers_around(p, -beta, centre, e, REACH)
        for i in range(first, n):
            if is_near or (not done[i] and beta * abs(p[i] - centre) <= BAND):
                band[count], done[i] = i, 1
                count += 1
        for half in range(0, count, 2):
            i, k = band[half], band[min(half + 1, count - 1)]
            other = shares[k] if half + 1 < count else 0.0
            value += _ap_terms(p, e, i, k, shares[i], other, form, g)
    for i in range(n):
        slopes[i] = g[i]
    return value


@kernel
def _compare_two(e, x, y, h, k, g):
    # Sums over j of t and of h t (1 − t), t = e_j / (x + e_j), for x and for y with k; the latter's terms are
    # taken from g. The two share a division, because divisions dominate the time.
    first, second, count, other_count = 0.0, 0.0, 0.0, 0.0
    for j in range(len(e)):
        z, u, v = e[j], x + e[j], y + e[j]
        r = 1.0 / (u * v)
        a, b = v * r, u * r
        count += z * a
        other_count += z * b
        g[j] -= z * (h * (a * a) + k * (b * b))
        first += z * (a * a)
        second += z * (b * b)
    return count, h * first, other_count, k * second


@kernel
def _ap_terms(p, e, i, k, share, other, form, g):
    # The terms of two documents; the second may be the first again with a share of 0.
    beta = form.truncation
    count, slope, other_count, other_slope = _compare_two(
        e, e[i], e[k], beta * share * e[i], beta * other * e[k], g
    )
    # A document itself is one half of its count.
    counted, other_counted = share * (0.5 + count), other * (0.5 + other_count)
    inside = 1.0 if form.cutoff == math.inf else within(p[i], form.cutoff, beta)
    other_inside = 1.0 if form.cutoff == math.inf else within(p[k], form.cutoff, beta)
    g[i] += slope - counted * (1.0 / p[i] + beta * (1.0 - inside))
    g[k] += other_slope - other_counted * (1.0 / p[k] + beta * (1.0 - other_inside))
    return counted + other_counted
