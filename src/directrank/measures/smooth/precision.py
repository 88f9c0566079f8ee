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
    LARGEST_EXPONENT,
    REACH,
    extremes,
    fill_powers_around,
)
from directrank.measures.smooth.ranks import rank_of, sort_by_rank

# Times 1/β: positions further apart are in order, to the last digits of float64 and of float32.
SURE, FLOAT32_SURE = 40.0, 20.0
# After all positions.
BEYOND = 1e30


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
    """Return the smooth AP of a query and write its slopes at the positions p."""
    n, ranks = len(p), max(np.int64(extremes(p)[1]), 0) + 1
    order, begin = np.empty(n, np.int64), np.zeros(ranks + 1, np.int64)
    sort_by_rank(p, order, begin)
    # Slopes are padded to whole vectors, and positions by some beyond all others.
    numbers = np.zeros((4, n + WIDTH))
    x, e, shares, g = numbers[0], numbers[1], numbers[2], numbers[3]
    for k in range(n):
        x[k] = p[order[k]]
        inside = 1.0 if form.cutoff == math.inf else within(x[k], form.cutoff, form.truncation)
        shares[k] = inside / (form.divisor[q] * x[k])
    x[n:] = BEYOND
    value = _sum_of_terms(form, x, e, shares, g, begin, FLOAT32_SURE if p.itemsize == 4 else SURE)
    for k in range(n):
        slopes[order[k]] = g[k]
    return value


@kernel
def _sum_of_terms(form, x, e, shares, g, begin, sure):
    # Documents of ranks within `reach` are compared, two with all those near them at once. Those further
    # before them count in full.
    beta, value, y, ranks, n = form.truncation, 0.0, 0, len(begin) - 1, begin[-1]
    reach, centre = np.int64(min(sure / beta, 1.0 * ranks)) + 1, -math.inf
    while y < n:
        low = begin[max(rank_of(x[y], ranks) - reach, 0)]
        if beta * abs(x[y] - centre) > BAND:
            centre = x[y]
            last = begin[min(np.int64(min(centre + BAND / beta, ranks)) + reach + 1, ranks)] + WIDTH
            fill_powers_around(x[low:last], -beta, centre, e[low:last], REACH)
        # The second may be the first again with a share of 0.
        k = y + 1 if y + 1 < n and beta * abs(x[y + 1] - centre) <= BAND else y
        share, other = shares[y], shares[k] if k > y else 0.0
        high = begin[min(rank_of(x[k], ranks) + reach + 1, ranks)]
        end = low + -(-(high - low) // WIDTH) * WIDTH
        count, slope, other_count, other_slope = _compare_two(
            e[low:end], e[y], e[k], beta * share * e[y], beta * other * e[k], g[low:end]
        )
        # A document itself is one half of its count.
        count, other_count = share * (low + 0.5 + count), other * (low + 0.5 + other_count)
        g[y] += slope - count * _rate(form, x[y])
        g[k] += other_slope - other_count * _rate(form, x[k])
        value += count + other_count
        y = k + 1
    return value


@kernel
def _rate(form, position):
    # Minus the logarithmic derivative of the share of a document.
    beta = form.truncation
    outside = 0.0 if form.cutoff == math.inf else 1.0 - within(position, form.cutoff, beta)
    return 1.0 / position + beta * outside


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
        s, t = z * (h * (a * a)), z * (k * (b * b))
        g[j] -= s + t
        first += s
        second += t
    return count, first, other_count, second
