"""Reciprocal ranks at fractional positions: of the document at which a user stops.

Document y stops a user with probability r_y if no document before it has:

    Σ_y  r_y / π_y · Π_{x ≠ y} (1 − r_x · 1{π_x < π_y})

With r = 1 for relevant documents this is the reciprocal rank, with graded r the expected one. A comparison of
positions becomes a logistic function of steepness β, as in Qin, Liu, Li 2010, Eq. (14).
"""

import math

import numpy as np

from directrank.jit import kernel
from directrank.measures.smooth_precision import LARGEST_EXPONENT, within

# Users who never arrive move nobody: below this share of them gradients are not worth a pass.
NOBODY = 1e-40


def soft_stops_naive(p, stopping, norm, cutoff, beta) -> tuple[float, np.ndarray]:
    """Smooth value of one query and its slopes at the positions of its stopping documents, for tests."""
    before = 1.0 / (1.0 + np.exp(np.clip(beta * (p[:, None] - p[None, :]), -700, 700)))  # row before column
    passes = 1.0 - stopping[:, None] * before
    np.fill_diagonal(passes, 1.0)
    inside = 1.0 / (1.0 + np.exp(np.clip(beta * (p - cutoff - 0.5), -700, 700)))
    term = stopping * inside * passes.prod(axis=0) / p
    pull = beta * stopping[:, None] * before * (1.0 - before) / passes * term[None, :]
    np.fill_diagonal(pull, 0.0)
    own = -term / p - beta * (1.0 - inside) * term
    return term.sum() / norm, (own - pull.sum(axis=0) + pull.sum(axis=1)) / norm


@kernel
def soft_stops(positions, indptr, leading, stopping, norm, cutoff, beta, values, gradient):
    """Fill `values` with the smooth value of each query, and `gradient` (zero before) with the slopes."""
    for q in range(len(leading)):
        start, stop = indptr[q], indptr[q] + leading[q]
        p, r, g = positions[start:stop], stopping[start:stop], gradient[start:stop]
        total = 0.0
        for y in range(len(p)):
            position = np.float64(p[y])
            arrive = _arrive(p, r, y, beta)
            inside = 1.0 if cutoff == math.inf else within(position, cutoff, beta)
            term = r[y] * inside * arrive / position
            total += term
            if arrive > NOBODY:
                pull = _pull(p, r, y, beta, beta * term / norm[q], g)
                g[y] -= pull + term / norm[q] * (1.0 / position + beta * (1.0 - inside))
        values[q] = total / norm[q]


@kernel
def _arrive(p, r, y, beta):
    # The share of users whom no other document stops before y.
    share = 1.0
    for x in range(len(p)):
        if x != y:
            z = beta * (np.float64(p[y]) - np.float64(p[x]))
            decay = math.exp(-min(abs(z), LARGEST_EXPONENT))
            passing = (decay + 1.0 - r[x]) if z >= 0.0 else (1.0 + decay * (1.0 - r[x]))
            share *= passing / (1.0 + decay)
            if share <= NOBODY:
                break
    return share


@kernel
def _pull(p, r, y, beta, h, g):
    # The slopes of the logarithm of that share, times h: taken from y, given to each other document.
    total = 0.0
    for x in range(len(p)):
        if x != y:
            z = beta * (np.float64(p[y]) - np.float64(p[x]))
            decay = math.exp(-min(abs(z), LARGEST_EXPONENT))
            passing = (decay + 1.0 - r[x]) if z >= 0.0 else (1.0 + decay * (1.0 - r[x]))
            t = h * r[x] * decay / ((1.0 + decay) * passing)
            g[x] += t
            total += t
    return total
