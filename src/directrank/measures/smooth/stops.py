"""Reciprocal ranks at fractional positions, of the document at which a user stops.

Document y stops a user with probability r_y if no document before it has:

    Σ_y  r_y / π_y · Π_{x ≠ y} (1 − r_x · 1{π_x < π_y})

With r = 1 for relevant documents this is the reciprocal rank, with graded r the expected one. A comparison of
positions becomes a logistic function of steepness β, as in Qin, Liu, Li 2010, Eq. (14). It is a quotient of
powers (`directrank.kernels.vector_math`), and sure for positions far apart: one evaluation takes O(R) steps
for documents that are compared with few others each, and O(R²) for R tied ones.
"""

import math
from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import position_slopes, register_kernel
from directrank.kernels.vector_math import BAND, REACH, fill_powers_around
from directrank.measures.smooth.precision import within
from directrank.measures.smooth.ranks import sort_by_rank

# Documents that a smaller share of users reaches are skipped: their terms vanish beside the first one, in
# float64 and float32.
NEGLIGIBLE, FLOAT32_NEGLIGIBLE = 1e-22, 1e-11
# Times 1/β: positions further apart are in order, since 1 + e^−45 is 1.
SURE = 45.0


class StopsForm(NamedTuple):
    """A smooth reciprocal rank of all queries, expected or not."""

    indptr: np.ndarray  # (n_queries + 1,)
    # stopping, passing: (n_docs,), float64: r and 1 − r. Computed inside, the latter would be merged with
    # another 1 and lose small values.
    stopping: np.ndarray
    passing: np.ndarray
    norm: np.ndarray  # (n_queries,), float64
    cutoff: float
    truncation: float  # β


@register_kernel(position_slopes, StopsForm)
@kernel
def stops_slopes(form, q, p, scratch, slopes):
    """Return the smooth value of a query and write its slopes at the positions p."""
    n, start = len(p), form.indptr[q]
    order, begin = np.empty(n, np.int64), np.zeros(form.indptr[q + 1] - start + 2, np.int64)
    sort_by_rank(p, order, begin)
    numbers = np.empty((6, n))
    x, r, u, e, g, passed = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    share = 1.0
    for k in range(n):
        i = order[k]
        x[k], r[k], u[k], g[k], passed[k] = (
            p[i],
            form.stopping[start + i],
            form.passing[start + i],
            0.0,
            share,
        )
        share *= u[k]
    negligible = FLOAT32_NEGLIGIBLE if p.itemsize == 4 else NEGLIGIBLE
    total = _sum_of_terms(form, q, x, r, u, e, g, passed, begin, negligible)
    for k in range(n):
        slopes[order[k]] = g[k]
    return total / form.norm[q]


@kernel
def _sum_of_terms(form, q, x, r, u, e, g, passed, begin, negligible):
    # Documents of ranks within `reach` are compared. Those further before y pass on a share of 1 − r of the
    # users, and those further behind all of them.
    beta, total, ranks, norm = form.truncation, 0.0, len(begin) - 1, form.norm[q]
    reach = np.int64(min(SURE / beta, 1.0 * ranks)) + 1
    centre, least = -math.inf, 1.0
    for rank in range(ranks):
        # At most twice as large a share of users reaches a document of a later rank.
        if least < negligible:
            return total
        low, high = begin[max(rank - reach, 0)], begin[min(rank + reach + 1, ranks)]
        for y in range(begin[rank], begin[rank + 1]):
            if beta * abs(x[y] - centre) > BAND:
                centre = x[y]
                first, last = low, begin[min(np.int64(min(x[y] + BAND / beta, ranks)) + reach + 1, ranks)]
                fill_powers_around(x[first:last], beta, centre, e[first:last], REACH)
            near, rs, us, gs = e[low:high], r[low:high], u[low:high], g[low:high]
            arrive = passed[low] * _arrive(near, us, e[y]) / (0.5 + 0.5 * u[y])
            inside = 1.0 if form.cutoff == math.inf else within(x[y], form.cutoff, beta)
            term = r[y] * inside * arrive / x[y]
            total += term
            least = min(least, arrive)
            if arrive > negligible:
                pull = _pull(near, rs, us, e[y], beta * term / norm, gs)
                # The pull of y itself is added to g[y] there, and is taken off again here.
                g[y] -= pull + term / norm * (1.0 / x[y] + beta * (1.0 - inside))
    return total


@kernel
def _arrive(e, u, own):
    # The share of users whom the documents near y do not stop before it, with y at one half. A factor is
    # 1 − r σ with σ = e_y / (e_x + e_y).
    share = 1.0
    for x in range(len(e)):
        share *= (e[x] + u[x] * own) / (e[x] + own)
    return share


@kernel
def _pull(e, r, u, own, h, g):
    # Add the slopes of the logarithm of that share, times h, to the documents; return their sum.
    total = 0.0
    for x in range(len(e)):
        t = h * r[x] * (e[x] * own) / ((e[x] + own) * (e[x] + u[x] * own))
        g[x] += t
        total += t
    return total
