"""Kernel of the pair sums along a direction in {0, 1}.

θ_ij = p (1 − p) = e_i e_j / (e_i + e_j)², with e = exp(F − middle). Only pairs that the direction separates
count: the documents of a query are sorted by their side first, so that the inner loop has no branch.
"""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import FLOAT32_RANGE, FLOAT64_RANGE, extremes, fill_powers


def gained_and_lost_naive(F: np.ndarray, rates: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """N and D of one query by definition, for tests."""
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(F[:, None] - F[None, :]))
    terms = rates[:, None] * p * (1.0 - p)
    return float(terms[f[:, None] > f[None, :]].sum()), float(terms[f[:, None] < f[None, :]].sum())


@kernel
def gained_and_lost(scores, indptr, leading, rates, direction, sums):
    """Add N and D to ``sums[0]`` and ``sums[1]``.

    Parameters
    ----------
    scores : ndarray of shape (n_docs,), float32 or float64
    indptr, leading : ndarray of shape (n_queries + 1,) and (n_queries,)
        Only the `leading` documents of a query have a rate.
    rates : ndarray of shape (n_docs,), float64
        How much an expected position of each document costs.
    direction : ndarray of shape (n_docs,), float64
        0 or 1.
    sums : ndarray of shape (3,), float64
    """
    for q in range(len(leading)):
        if leading[q] == 0:
            continue
        start, stop = indptr[q], indptr[q + 1]
        s, f, u = scores[start:stop], direction[start:stop], rates[start : start + leading[q]]
        low, high = extremes(s)
        spread, centre = np.float64(high - low), 0.5 * (np.float64(low) + np.float64(high))
        if spread <= (FLOAT32_RANGE if s.itemsize == 4 else FLOAT64_RANGE):
            e = np.empty_like(s)
            fill_powers(s, 1.0, centre, e)
            _by_quotients(e, f, u, np.empty_like(e), sums)
        elif spread <= FLOAT64_RANGE:
            wide = np.empty(len(s))
            fill_powers(s, 1.0, centre, wide)
            _by_quotients(wide, f, u, np.empty_like(wide), sums)
        else:
            _by_differences(s, f, u, sums)


@kernel
def _sort_by_side(e, f, sides):
    # Documents with f = 0 are written from the front, those with f = 1 from the back.
    front, back = 0, len(e)
    for j in range(len(e)):
        if f[j] == 0.0:
            sides[front] = e[j]
            front += 1
        else:
            back -= 1
            sides[back] = e[j]
    return front


@kernel
def _sum_of_thetas(e, x):
    one, total = e.dtype.type(1.0), e.dtype.type(0.0)
    for j in range(len(e)):
        r = one / (x + e[j])
        total += e[j] * r * r
    return total * x


@kernel
def _by_quotients(e, f, u, sides, sums):
    front = _sort_by_side(e, f, sides)
    for i in range(len(u)):
        # A document at f = 1 gains on those at 0; one at f = 0 loses to those at 1.
        others = sides[front:] if f[i] == 0.0 else sides[:front]
        sums[1 if f[i] == 0.0 else 0] += u[i] * _sum_of_thetas(others, e[i])


@kernel
def _by_differences(s, f, u, sums):
    for i in range(len(u)):
        total = 0.0
        for j in range(len(s)):
            t = np.exp(-abs(np.float64(s[j] - s[i])))
            total += t / ((1.0 + t) * (1.0 + t)) if f[j] != f[i] else 0.0
        sums[0 if f[i] != 0.0 else 1] += u[i] * total
