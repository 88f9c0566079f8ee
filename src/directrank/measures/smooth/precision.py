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


def soft_ap(form, indptr, leading, positions, room, values, gradient) -> None:
    """Fill `values` with the smooth AP of each query, and `gradient` with the slopes of its positions.

    `room` is float64, of at least as many entries as the longest query has documents.
    """
    if _soft_ap(form, indptr, leading, positions, room, values, gradient):
        _soft_ap_far(form, indptr, leading, positions, values, gradient)


@kernel
def _soft_ap(form, indptr, leading, positions, room, values, gradient):
    # Returns how many queries are left to `_soft_ap_far`.
    far = 0
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        start, stop = indptr[q], indptr[q] + leading[q]
        values[q] = precision_slopes(form, q, positions[start:stop], room, gradient[start:stop])
        far += np.isnan(values[q])
    return far


@register_kernel(position_slopes, PrecisionForm)
@kernel
def precision_slopes(form, q, p, room, slopes):
    """Return the smooth AP of a query and write its slopes at the positions p; NaN where one centre fails."""
    beta = form.truncation
    low, high = extremes(p)
    for i in range(len(p)):
        slopes[i] = 0
    if beta * np.float64(high - low) > FLOAT64_RANGE:
        return np.nan
    e, value = room[: len(p)], 0.0
    fill_powers(p, -beta, 0.5 * (np.float64(low) + np.float64(high)), e)
    for i in range(len(p)):
        value += _ap_term(p, e, i, beta, form.cutoff, 1.0 / form.divisor[q], slopes)
    return value


@kernel
def _soft_ap_far(form, indptr, leading, positions, values, gradient):
    beta, cutoff, divisor = form.truncation, form.cutoff, form.divisor
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        start, stop = indptr[q], indptr[q] + leading[q]
        p, g = positions[start:stop], gradient[start:stop]
        low, high = extremes(p)
        if not beta * np.float64(high - low) > FLOAT64_RANGE:
            continue
        e, done, value = np.empty(len(p)), np.zeros(len(p), np.uint8), 0.0
        for first in range(len(p)):
            if done[first]:
                continue
            centre = np.float64(p[first])
            fill_powers_around(p, -beta, centre, e)
            for i in range(first, len(p)):
                if not done[i] and beta * abs(p[i] - centre) <= BAND:
                    value += _ap_term(p, e, i, beta, cutoff, 1.0 / divisor[q], g)
                    done[i] = 1
        values[q] = value


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
