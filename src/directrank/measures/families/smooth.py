r"""Measures at fractional positions: comparisons of positions become logistic functions of steepness β.

The logistic of a difference of two positions is a quotient (`directrank.kernels.vector_math`), with −β for α:
small positions come first.

Let ε be the largest error of a position that the measure reads, and let true positions be whole numbers. Then
a comparison of two positions is proved to be off by at most :math:`1/(1 + e^{β(1 - 2ε)})`, and a comparison
with :math:`k + 1/2` by :math:`1/(1 + e^{β(1/2 - ε)})`. The bounds hold for every ε, but are loose above 1/2.

References
----------
.. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
   retrieval measures", Information Retrieval 13, 2010, section 4.
"""

import math
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from directrank.contracts import KernelPlugin
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, position_slopes, register_kernel
from directrank.kernels.vector_math import BAND, LARGEST_EXPONENT, extremes, fill_powers_around
from directrank.measures.families.definition import Definition


class Smooth(Definition):
    """A measure that is also defined, and differentiable, at fractional positions."""

    @abstractmethod
    def smooth_form(self, queries: Queries, truncation: float) -> KernelPlugin:
        """Return the arrays that `directrank.kernels.plugins.position_slopes` reads."""

    def position_gradient(self, queries: Queries, positions: np.ndarray, truncation: float):
        """See `PositionDifferentiable`."""
        values, gradient = np.zeros(queries.n_queries), np.zeros(len(positions), positions.dtype)
        form, scratch = self.smooth_form(queries, truncation), np.empty(queries.longest)
        _fill(form, queries.indptr, self.n_read(queries), positions, scratch, values, gradient)
        return values, gradient


@kernel
def _fill(form, indptr, n_read, positions, scratch, values, gradient):
    for q in range(len(n_read)):
        first, last = indptr[q], indptr[q] + n_read[q]
        if first < last:
            values[q] = position_slopes(form, q, positions[first:last], scratch, gradient[first:last])


def comparison_error(error: np.ndarray, truncation: float) -> np.ndarray:
    """Bound the error of a comparison of two positions, each off by at most `error`; in (0, 1)."""
    from scipy.special import expit  # slow to import, and no evaluation needs it

    return expit(-truncation * (1.0 - 2.0 * error))


def cutoff_error(error: np.ndarray, truncation: float, cutoff: int | None) -> np.ndarray:
    """Bound the error of a comparison with a cutoff, in (0, 1); 0 without a cutoff."""
    from scipy.special import expit

    return np.zeros_like(error) if cutoff is None else expit(-truncation * (0.5 - error))


def reciprocal_sums(n_read: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Bound Σ 1/π̂ over the documents that are read by Σ_i 1/max(1, i − ε), float64 (n_queries,)."""
    from scipy.special import digamma

    ones = np.minimum(n_read, np.floor(1.0 + error))  # the ranks i with i − ε ≤ 1, which add 1 each
    return ones + digamma(np.maximum(n_read + 1 - error, 1.0)) - digamma(np.maximum(ones + 1 - error, 1.0))


@kernel
def rank_of(position, ranks):
    """Return the whole part of a position, in range(ranks) even for NaN, which must not become an index."""
    return min(max(np.int64(position), 0), ranks - 1)


@kernel
def sort_by_rank(p, order, begin):
    """Fill `order` with documents by rank; rank t has ``order[begin[t]:begin[t + 1]]``.

    `begin`, with one entry more than there are ranks, must hold zeros.
    """
    ranks = len(begin) - 1
    for i in range(len(p)):
        begin[rank_of(p[i], ranks) + 1] += 1
    for t in range(1, len(begin)):
        begin[t] += begin[t - 1]
    for i in range(len(p)):
        rank = rank_of(p[i], ranks)
        order[begin[rank]] = i
        begin[rank] += 1
    for t in range(ranks, 0, -1):
        begin[t] = begin[t - 1]
    begin[0] = 0


# Times 1/β: positions further apart are in order, to the last digits of float64 and of float32.
SURE, FLOAT32_SURE = 40.0, 20.0
# After all positions.
BEYOND = 1e30


@kernel
def within(position, cutoff, beta):
    """1{position ≤ cutoff} smoothed: 1 / (1 + exp(β(position − cutoff − 1/2))), without overflow."""
    z = beta * (cutoff + 0.5 - np.float64(position))
    decay = math.exp(-min(abs(z), LARGEST_EXPONENT))
    return (1.0 if z >= 0.0 else decay) / (1.0 + decay)


class PrecisionForm(NamedTuple):
    """A smooth AP of all queries."""

    divisor: np.ndarray  # (n_queries,), float64
    cutoff: float
    truncation: float  # β


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
    # Numbers of documents are padded to whole vectors, and positions by some beyond all others.
    numbers = np.zeros((6, n + WIDTH))
    x, shares, counts, g, full = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    for k in range(n):
        x[k] = p[order[k]]
        inside = 1.0 if form.cutoff == math.inf else within(x[k], form.cutoff, form.truncation)
        shares[k] = inside / (form.divisor[q] * x[k])
    x[n:] = BEYOND
    compare_near(form.truncation, numbers, begin, FLOAT32_SURE if p.itemsize == 4 else SURE)
    value, before = 0.0, 0.0
    for k in range(n):
        before += full[k]
        term = shares[k] * (before + 1.0 + counts[k])
        value += term
        slopes[order[k]] = form.truncation * g[k] - term * _rate(form, x[k])
    return value


@kernel
def _rate(form, position):
    # Minus the logarithmic derivative of the share of a document.
    beta = form.truncation
    outside = 0.0 if form.cutoff == math.inf else 1.0 - within(position, form.cutoff, beta)
    return 1.0 / position + beta * outside


@kernel
def compare_near(beta, numbers, begin, sure):
    """Compare each document with those after it whose rank is not further than ``sure / beta``.

    The rows of `numbers`, of n + WIDTH entries, are positions by rank, those past the end beyond all others;
    shares, the weights of counts; and four rows of zeros, of which three are written: how many documents near
    one are before it; 1/β times the derivative of Σ share · count; and how many count in full from a document
    on. The last is scratch. `begin` is that of `sort_by_rank`.
    """
    x, shares, counts, g, full, e = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    y, centre, ranks, n = 0, -math.inf, len(begin) - 1, begin[-1]
    reach = np.int64(min(sure / beta, 1.0 * ranks)) + 1
    while y < n:
        if beta * abs(x[y] - centre) > BAND:
            centre = x[y]
            last = begin[min(np.int64(min(centre + BAND / beta, ranks)) + reach + 1, ranks)] + WIDTH
            fill_powers_around(x[y:last], -beta, centre, e[y:last])
        # Two documents are compared with all later ones together; the last has a neighbour of power 0.
        k, power, share = y, 0.0, 0.0
        if y + 1 < n and beta * abs(x[y + 1] - centre) <= BAND:
            k, power, share = y + 1, e[y + 1], shares[y + 1]
            _compare_neighbours(e, shares, counts, g, y)
        size = max(begin[min(rank_of(x[k], ranks) + reach + 1, ranks)] - k - 1, 0)
        end = k + 1 + -(-size // WIDTH) * WIDTH
        full[min(end, n)] += k + 1 - y
        later = slice(k + 1, end)
        count, slope, other_count, other_slope = _compare_two(
            e[y], power, shares[y], share, e[later], shares[later], counts[later], g[later]
        )
        counts[y] += count
        g[y] += slope
        if k > y:
            counts[k] += other_count
            g[k] += other_slope
        y = k + 1


@kernel
def _compare_neighbours(e, shares, counts, g, y):
    before = e[y + 1] / (e[y] + e[y + 1])
    after = e[y] / (e[y] + e[y + 1])
    counts[y] += before
    counts[y + 1] += after
    change = before * after * (shares[y] - shares[y + 1])
    g[y] += change
    g[y + 1] -= change


@kernel
def _compare_two(x, y, h, k, e, shares, counts, g):
    # Add to the numbers of later documents, and return counts and slopes of two, of powers x and y and shares
    # h and k. The two share a division, because divisions dominate the time.
    count, slope, other_count, other_slope = 0.0, 0.0, 0.0, 0.0
    for j in range(len(e)):
        z, share = e[j], shares[j]
        u, v = x + z, y + z
        r = 1.0 / (u * v)
        a, b = v * r, u * r
        s, t, p, q = z * a, z * b, x * a, y * b
        c, d = (s * p) * (h - share), (t * q) * (k - share)
        counts[j] += p + q
        g[j] -= c + d
        count += s
        slope += c
        other_count += t
        other_slope += d
    return count, slope, other_count, other_slope
