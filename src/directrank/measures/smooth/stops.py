"""Reciprocal ranks at fractional positions, of the document at which a user stops.

Document y stops a user with probability r_y if no document before it has:

    Σ_y  r_y / π_y · Π_{x ≠ y} (1 − r_x · 1{π_x < π_y})

With r = 1 for relevant documents this is the reciprocal rank, with graded r the expected one. A comparison of
positions becomes a logistic function of steepness β, as in Qin, Liu, Li 2010, Eq. (14).
"""

import math
from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import position_slopes, register_kernel
from directrank.kernels.vector_math import LARGEST_EXPONENT, exponential
from directrank.measures.smooth.precision import within

# Gradients of documents that a smaller share of users reaches are skipped.
NEGLIGIBLE = 1e-40


def soft_stops_naive(p, stopping, norm, cutoff, beta) -> tuple[float, np.ndarray]:
    """Smooth value of one query and its slopes at the positions of its stopping documents, for tests."""
    before = 1.0 / (1.0 + np.exp(np.clip(beta * (p[:, None] - p[None, :]), -700, 700)))  # row before column
    np.fill_diagonal(before, 0.0)
    passes = 1.0 - stopping[:, None] * before
    inside = 1.0 / (1.0 + np.exp(np.clip(beta * (p - cutoff - 0.5), -700, 700)))
    weight = stopping * inside / p
    term = weight * passes.prod(axis=0)
    without = np.array([np.delete(passes, x, axis=0).prod(axis=0) for x in range(len(p))])  # x stops no user
    pull = beta * stopping[:, None] * before * (1.0 - before) * without * weight
    own = -term / p - beta * (1.0 - inside) * term
    return term.sum() / norm, (own - pull.sum(axis=0) + pull.sum(axis=1)) / norm


class StopsForm(NamedTuple):
    """A smooth reciprocal rank of all queries, expected or not.

    Attributes
    ----------
    indptr : ndarray of shape (n_queries + 1,)
    stopping, passing : ndarray of shape (n_docs,), float64
        r and 1 − r. Computed inside, the latter would be merged with another 1 and lose small values.
    norm : ndarray of shape (n_queries,), float64
    cutoff : float
    truncation : float
        β.
    """

    indptr: np.ndarray
    stopping: np.ndarray
    passing: np.ndarray
    norm: np.ndarray
    cutoff: float
    truncation: float


@register_kernel(position_slopes, StopsForm)
@kernel
def stops_slopes(form, q, p, scratch, slopes):
    """Return the smooth value of a query and write its slopes at the positions p."""
    start, stop, beta = form.indptr[q], form.indptr[q] + len(p), form.truncation
    r, u = form.stopping[start:stop], form.passing[start:stop]
    total, norm = 0.0, form.norm[q]
    for y in range(len(p)):
        slopes[y] = 0
    for y in range(len(p)):
        position = np.float64(p[y])
        arrive = _arrive(p, u, y, beta)
        inside = 1.0 if form.cutoff == math.inf else within(position, form.cutoff, beta)
        term = r[y] * inside * arrive / position
        total += term
        if arrive > NEGLIGIBLE:
            pull = _pull(p, r, u, y, beta, beta * term / norm, slopes)  # before slopes[y] is read
            slopes[y] -= pull + term / norm * (1.0 / position + beta * (1.0 - inside))
    return total / norm


@kernel
def _passing(z, decay, u):
    # 1 − r σ(z), times 1 + decay, from decay = exp(−|z|) and u = 1 − r: accurate for small values, too.
    return decay + u if z >= 0.0 else 1.0 + decay * u


@kernel
def _arrive(p, u, y, beta):
    # The share of users whom no other document stops before y. The loop includes y itself, at z = 0, to avoid
    # a branch; its factor (1 + u) / 2 is divided out.
    position, share = np.float64(p[y]), 1.0
    for x in range(len(p)):
        z = beta * (position - np.float64(p[x]))
        decay = exponential(-min(abs(z), LARGEST_EXPONENT))
        share *= _passing(z, decay, u[x]) / (1.0 + decay)
    return share / (0.5 + 0.5 * u[y])


@kernel
def _pull(p, r, u, y, beta, h, g):
    # Add the slopes of the logarithm of that share, times h, to the other documents; return their sum.
    position, total = np.float64(p[y]), 0.0
    for x in range(len(p)):
        z = beta * (position - np.float64(p[x]))
        decay = exponential(-min(abs(z), LARGEST_EXPONENT))
        t = h * r[x] * decay / ((1.0 + decay) * _passing(z, decay, u[x])) if x != y else 0.0
        g[x] += t
        total += t
    return total
