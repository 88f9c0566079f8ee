"""Kernel of the pair sums along a direction in {0, 1}.

θ_ij = p (1 − p) = e_i e_j / (e_i + e_j)², with e = exp(F − middle). Only pairs that the direction separates
count: the documents of a query are sorted by their side first, so that the inner loop has no branch.
"""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.surrogates.positions.smoothed_kernels import fill_near_powers


def gained_and_lost_naive(F: np.ndarray, rates: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """N and D of one query by definition, for tests."""
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(F[:, None] - F[None, :]))
    terms = rates[:, None] * p * (1.0 - p)
    return float(terms[f[:, None] > f[None, :]].sum()), float(terms[f[:, None] < f[None, :]].sum())


def gained_and_lost(scores, indptr, leading, rates, direction) -> np.ndarray:
    """Return N and D, float64 (2,).

    Parameters
    ----------
    scores : ndarray of shape (n_docs,), float32 or float64
    indptr, leading : ndarray of shape (n_queries + 1,) and (n_queries,)
        Only the `leading` documents of a query have a rate.
    rates : ndarray of shape (n_docs,), float64
        How much an expected position of each document costs.
    direction : ndarray of shape (n_docs,), float64
        0 or 1.
    """
    sums, powers = np.zeros(2), np.empty(len(scores), scores.dtype)
    far = fill_near_powers(scores, indptr, leading, 1.0, powers)
    _by_quotients(powers, indptr, leading - far, rates, direction, sums)
    if far.any():
        wide, powers_of_far = scores.astype(np.float64), np.empty(len(scores))
        farther = fill_near_powers(wide, indptr, far, 1.0, powers_of_far)
        _by_quotients(powers_of_far, indptr, far - farther, rates, direction, sums)
        if farther.any():
            _by_differences(wide, indptr, farther, rates, direction, sums)
    return sums


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
def _by_quotients(powers, indptr, leading, rates, direction, sums):
    for q in range(len(leading)):
        if leading[q] > 0:
            start, stop = indptr[q], indptr[q + 1]
            e, f, u = powers[start:stop], direction[start:stop], rates[start:stop]
            sides = np.empty_like(e)
            front = _sort_by_side(e, f, sides)
            for i in range(leading[q]):
                # A document at f = 1 gains on those at 0; one at f = 0 loses to those at 1.
                others = sides[front:] if f[i] == 0.0 else sides[:front]
                sums[1 if f[i] == 0.0 else 0] += u[i] * _sum_of_thetas(others, e[i])


@kernel
def _by_differences(scores, indptr, leading, rates, direction, sums):
    for q in range(len(leading)):
        start, stop = indptr[q], indptr[q + 1]
        s, f, u = scores[start:stop], direction[start:stop], rates[start:stop]
        for i in range(leading[q]):
            total = 0.0
            for j in range(len(s)):
                t = np.exp(-abs(s[j] - s[i]))
                total += t / ((1.0 + t) * (1.0 + t)) if f[j] != f[i] else 0.0
            sums[0 if f[i] != 0.0 else 1] += u[i] * total
