r"""Sums of ln(1 + e^(t − x)) over many points t at many points x, in linear time.

The line is divided into cells. Around the middle of a cell the function is a power series of radius π. The
powers of the points of each cell are summed, and these sums become the power series of each cell where the
sum is wanted; `REACH` cells away the function is 0 or linear. A source adds an error of about 1e-9 to the
first derivative, and of 1e-8 to the second.
"""

import math
from functools import lru_cache

import numpy as np
import scipy

from directrank.kernels.compile import kernel

#: The width of a cell, the terms of a series, and the cells beyond which the function is 0 or linear.
CELL, TERMS, REACH = 0.5, 12, 44


def count_cells(low: float, high: float) -> float:
    """Return how many cells hold the points from `low` to `high`; infinity if there are too many to count."""
    return 1.0 + (high - low) // CELL if high - low < 1e9 else math.inf


def softplus_sums(sources: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return Σ w ln(1 + e^(t − x)) over the sources t, and its two derivatives in x, float64 (3, n).

    Parameters
    ----------
    sources : ndarray of shape (n_sources,), float64
    weights : ndarray of shape (n_sources,), float64
    at : ndarray of shape (n,), float64
        The points x.
    """
    low = min(sources.min(), at.min())
    n_cells = int(count_cells(low, max(sources.max(), at.max())))
    moments, out = np.zeros((TERMS, n_cells)), np.empty((3, len(at)))
    _sum_powers(sources, weights, low, moments)
    _evaluate(at, low, _translated(moments), out)
    return out


@lru_cache(8)
def _shifts(length: int) -> np.ndarray:
    """Return the Fourier transform of what turns powers of a cell into the series of the cells around it.

    Its indices are the power of the series, that of the cell, and the frequency.
    """
    u = -CELL * np.arange(REACH + 1)
    logistic = np.empty((TERMS, len(u)))
    logistic[0] = np.exp(u) / (1.0 + np.exp(u))
    for m in range(TERMS - 1):
        logistic[m + 1] = (logistic[m] - np.sum(logistic[: m + 1] * logistic[m::-1], axis=0)) / (m + 1)
    below = np.concatenate((np.log1p(np.exp(u))[None], logistic[:-1] / np.arange(1, TERMS)[:, None]))
    # ln(1 + e^u) = u + ln(1 + e^-u)
    above = below * (-1.0) ** np.arange(TERMS)[:, None]
    above[0] -= u
    above[1] += 1.0
    # From the farthest cell above to the farthest below, as the sum over cells is a convolution.
    series = np.concatenate((above[:, ::-1], below[:, 1:]), axis=1)
    shifts = np.zeros((TERMS, TERMS, series.shape[1]))
    for p in range(TERMS):
        for q in range(TERMS - p):
            shifts[p, q] = (-1.0) ** p * math.comb(p + q, q) * series[p + q]
    return np.asarray(scipy.fft.rfft(shifts, length))


@kernel
def _sum_powers(sources, weights, low, moments):
    for j in range(len(sources)):
        cell = int((sources[j] - low) / CELL)
        power, apart = weights[j], sources[j] - low - (cell + 0.5) * CELL
        for q in range(TERMS):
            moments[q, cell] += power
            power *= apart


def _translated(moments: np.ndarray) -> np.ndarray:
    """Return the series of each cell, (TERMS, n_cells), from the sums of powers of all cells."""
    n = moments.shape[1]
    length = scipy.fft.next_fast_len(n + 2 * REACH, real=True)
    frequencies = np.asarray(scipy.fft.rfft(moments, length))
    series = (_shifts(length) * frequencies).sum(axis=1)
    local = np.asarray(scipy.fft.irfft(series, length))[:, REACH : REACH + n]
    # Sources far above are linear.
    middle = CELL * (np.arange(n) + 0.5)  # from `low`, which is in both terms
    total, first = moments[0].copy(), moments[1] + moments[0] * middle
    for sums in (total, first):
        sums[:] = np.append(np.cumsum(sums[::-1])[::-1][REACH + 1 :], np.zeros(min(REACH + 1, n)))
    local[0] += first - total * middle
    local[1] -= total
    return local


@kernel
def _evaluate(at, low, local, out):
    for i in range(len(at)):
        cell = int((at[i] - low) / CELL)
        apart = at[i] - low - (cell + 0.5) * CELL
        value, slope, curve = 0.0, 0.0, 0.0
        for p in range(TERMS - 1, -1, -1):
            curve = curve * apart + slope
            slope = slope * apart + value
            value = value * apart + local[p, cell]
        out[0, i], out[1, i], out[2, i] = value, slope, 2.0 * curve
