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
    FLOAT32_BAND,
    FLOAT32_REACH,
    LARGEST_EXPONENT,
    REACH,
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

    Positions are compared in bands, each with a centre of its own; see `directrank.kernels.vector_math`.
    """
    beta, value, n = form.truncation, 0.0, len(p)
    e, place, done = np.empty_like(p), np.empty(n, np.int64), np.zeros(n, np.uint8)
    band, reach = (FLOAT32_BAND, FLOAT32_REACH) if p.itemsize == 4 else (BAND, REACH)
    shares, outside = scratch[:n], np.empty(n)
    for i in range(n):
        inside = 1.0 if form.cutoff == math.inf else within(p[i], form.cutoff, beta)
        shares[i], outside[i], slopes[i] = inside / (form.divisor[q] * p[i]), 1.0 - inside, 0
    for first in range(n):
        if done[first]:
            continue
        centre, count = np.float64(p[first]), 0
        fill_powers_around(p, -beta, centre, e, reach)
        for i in range(first, n):
            if not done[i] and beta * abs(p[i] - centre) <= band:
                place[count], done[i] = i, 1
                count += 1
        for four in range(0, count, 4):
            value += _ap_terms(p, e, place[four : min(four + 4, count)], shares, outside, beta, slopes)
    return value


@kernel
def _compare_four(e, x, h, g):
    # Sums over j of t and of h t (1 − t), t = e_j / (x + e_j), for four x; the latter's terms are taken from
    # g. Two share a division, because divisions dominate the time.
    one, none = e.dtype.type(1), e.dtype.type(0)
    c0, c1, c2, c3, s0, s1, s2, s3 = none, none, none, none, none, none, none, none
    for j in range(len(e)):
        z = e[j]
        u0, u1, u2, u3 = x[0] + z, x[1] + z, x[2] + z, x[3] + z
        r, t = one / (u0 * u1), one / (u2 * u3)
        q0, q1, q2, q3 = u1 * r, u0 * r, u3 * t, u2 * t
        c0 += z * q0
        c1 += z * q1
        c2 += z * q2
        c3 += z * q3
        w0, w1 = h[0] * (z * q0) * (x[0] * q0), h[1] * (z * q1) * (x[1] * q1)
        w2, w3 = h[2] * (z * q2) * (x[2] * q2), h[3] * (z * q3) * (x[3] * q3)
        g[j] -= (w0 + w1) + (w2 + w3)
        s0 += w0
        s1 += w1
        s2 += w2
        s3 += w3
    return (c0, c1, c2, c3), (s0, s1, s2, s3)


@kernel
def _ap_terms(p, e, place, shares, outside, beta, g):
    # Up to four documents; one that is missing is the last again with a share of 0.
    real, last, total = e.dtype.type, len(place) - 1, 0.0
    a, b, c, d = place[0], place[min(1, last)], place[min(2, last)], place[min(3, last)]
    h = (
        real(beta * shares[a]),
        real(beta * shares[b] if last > 0 else 0.0),
        real(beta * shares[c] if last > 1 else 0.0),
        real(beta * shares[d] if last > 2 else 0.0),
    )
    counts, pulls = _compare_four(e, (e[a], e[b], e[c], e[d]), h, g)
    for k in range(last + 1):
        i = place[k]
        counted = shares[i] * (0.5 + counts[k])  # the document itself is one half of the count
        g[i] += real(pulls[k] - counted * (1.0 / p[i] + beta * outside[i]))
        total += counted
    return total
