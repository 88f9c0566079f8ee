"""How many documents are before each other one, and the slopes of that, at fractional positions.

A comparison is t = e_j / (e_i + e_j) with the powers e = exp(−β p): the part of document j that is before i.
That of i before j is 1 − t, and both have the slope β t (1 − t): each two documents are compared once.
"""

import math

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH
from directrank.kernels.vector_math import BAND, REACH, fill_powers_around
from directrank.measures.smooth.ranks import rank_of


@kernel
def compare_near(beta, numbers, begin, sure):
    """Compare each document with those after it whose rank is not further than ``sure / beta``.

    Parameters
    ----------
    beta : float
    numbers : ndarray of shape (6, n + WIDTH), float64
        Positions by rank, those past the end beyond all others; shares, the weights of counts; and four rows
        of zeros, of which three are written: how many documents near one are before it; 1/β times the
        derivative of Σ share · count; and how many count in full from a document on. The last is scratch.
    begin : ndarray of shape (n_ranks + 1,)
        See `directrank.measures.smooth.ranks.sort_by_rank`.
    sure : float
        Times 1/β: documents further apart are in order.
    """
    x, shares, counts, g, full, e = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    y, centre, ranks, n = 0, -math.inf, len(begin) - 1, begin[-1]
    reach = np.int64(min(sure / beta, 1.0 * ranks)) + 1
    while y < n:
        if beta * abs(x[y] - centre) > BAND:
            centre = x[y]
            last = begin[min(np.int64(min(centre + BAND / beta, ranks)) + reach + 1, ranks)] + WIDTH
            fill_powers_around(x[y:last], -beta, centre, e[y:last], REACH)
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
