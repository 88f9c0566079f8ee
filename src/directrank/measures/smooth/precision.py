"""Precision at fractional positions: comparisons of positions become logistic functions of steepness β.

The logistic of a difference of two positions is a quotient (`directrank.kernels.vector_math`), with −β for α:
small positions come first.
"""

import math
from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import position_slopes, register_kernel
from directrank.kernels.vector_math import (
    BAND,
    FLOAT64_RANGE,
    LARGEST_EXPONENT,
    extremes,
    fill_powers,
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
    """Return the smooth AP of a query and write its slopes at the positions p."""
    beta = form.truncation
    low, high = extremes(p)
    for i in range(len(p)):
        slopes[i] = 0
    e, value = scratch[: len(p)], 0.0
    if beta * np.float64(high - low) > FLOAT64_RANGE:
        return _far_slopes(form, q, p, e, slopes)
    fill_powers(p, -beta, 0.5 * (np.float64(low) + np.float64(high)), e)
    for i in range(len(p)):
        value += _ap_term(p, e, i, beta, form.cutoff, 1.0 / form.divisor[q], slopes)
    return value


@kernel
def _far_slopes(form, q, p, e, slopes):
    # The same with a centre for each band of positions.
    beta, done, value = form.truncation, np.zeros(len(p), np.uint8), 0.0
    for first in range(len(p)):
        if done[first]:
            continue
        centre = np.float64(p[first])
        fill_powers_around(p, -beta, centre, e)
        for i in range(first, len(p)):
            if not done[i] and beta * abs(p[i] - centre) <= BAND:
                value += _ap_term(p, e, i, beta, form.cutoff, 1.0 / form.divisor[q], slopes)
                done[i] = 1
    return value


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
def _ap_term(p, e, i, beta, cutoff, weight, g):
    position = np.float64(p[i])
    inside = 1.0 if cutoff == math.inf else within(position, cutoff, beta)
    share = weight * inside / position
    count, slope = _compare_by_quotients(e, e[i], beta * share, g)
    counted = share * (0.5 + count)  # the document itself is one half of the count
    g[i] += slope - counted * (1.0 / position + beta * (1.0 - inside))
    return counted
