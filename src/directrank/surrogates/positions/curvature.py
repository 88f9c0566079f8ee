r"""The curvature of a function of smooth positions, taken as linear in them around the scores.

With the slope :math:`c_i` for each position the pair (i, j) adds
:math:`(c_i - c_j) \, \sigma(\alpha (s_j - s_i))` and a constant. The second derivative of σ is
:math:`\sigma (1 - \sigma)(1 - 2 \sigma)`, which changes its sign where the documents are tied. Its absolute
value is at most σ (1 − σ), so that the curvature is

.. math:: \sum_{j \ne i} |c_i - c_j| \, \alpha^2 \sigma (1 - \sigma)

It is also at least α times the absolute value of the first derivative: no step along the quotient of the two
is longer than 1/α.
"""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential
from directrank.surrogates.positions.smoothed_kernels import PowersOfSome


def curvature_naive(s: np.ndarray, alpha: float, slopes: np.ndarray) -> np.ndarray:
    """The curvature of one query by definition, for tests."""
    e = np.exp(-alpha * np.abs(s[:, None] - s[None, :]))
    return (np.abs(slopes[:, None] - slopes[None, :]) * alpha**2 * e / (1.0 + e) ** 2).sum(axis=1)


def position_curvature(scores, ranges: list[PowersOfSome], indptr, alpha, slopes, weights) -> np.ndarray:
    """Return Σ |c_i − c_j| α² σ (1 − σ) for each document, (n_docs,), type of `scores`.

    Parameters
    ----------
    scores : ndarray of shape (n_docs,), float32 or float64
    ranges : list of (powers, n_read)
        See `directrank.surrogates.positions.smoothed_kernels.powers_by_range`. Documents after the first
        `n_read` have the slope 0.
    indptr : ndarray of shape (n_queries + 1,)
    alpha : float
        Steepness, in 1/score.
    slopes : ndarray of shape (n_docs,)
        Derivative of the function with respect to each position.
    weights : ndarray of shape (n_queries,)
        Times the slopes of each query it gives c.
    """
    out = np.zeros_like(scores)
    for powers, some in ranges:
        if powers is None:
            _by_differences(scores, indptr, some, alpha, slopes, weights, out)
        else:
            _by_quotients(powers, indptr, some, alpha, slopes, weights, out)
    return out


@kernel
def _scaled_slopes(slopes, n_read, scale, c):
    for j in range(n_read):
        c[j] = scale * slopes[j]


@kernel
def _by_quotients(powers, indptr, n_read, alpha, slopes, weights, out):
    for q in range(len(n_read)):
        if n_read[q] > 0:
            start, stop = indptr[q], indptr[q + 1]
            e, c, h = powers[start:stop], np.zeros(stop - start, powers.dtype), out[start:stop]
            _scaled_slopes(slopes[start:stop], n_read[q], weights[q] * alpha * alpha, c)
            for i in range(n_read[q]):
                total = _spread_quotients(e[i], c[i], e[i + 1 :], c[i + 1 :], h[i + 1 :])
                h[i] += total


@kernel
def _spread_quotients(x, cx, e, c, h):
    one, total = e.dtype.type(1.0), e.dtype.type(0.0)
    for j in range(len(e)):
        r = one / (x + e[j])
        t = abs(cx - c[j]) * (e[j] * r) * (x * r)
        h[j] += t
        total += t
    return total


@kernel
def _by_differences(scores, indptr, n_read, alpha, slopes, weights, out):
    for q in range(len(n_read)):
        if n_read[q] > 0:
            start, stop = indptr[q], indptr[q + 1]
            s, c, h = scores[start:stop], np.zeros(stop - start), out[start:stop]
            _scaled_slopes(slopes[start:stop], n_read[q], weights[q] * alpha * alpha, c)
            for i in range(n_read[q]):
                total = _spread_differences(s[i], c[i], alpha, s[i + 1 :], c[i + 1 :], h[i + 1 :])
                h[i] += total


@kernel
def _spread_differences(x, cx, alpha, s, c, h):
    total = 0.0
    for j in range(len(s)):
        e = exponential(-min(alpha * abs(np.float64(s[j]) - np.float64(x)), 700.0))
        t = abs(cx - c[j]) * e / ((1.0 + e) * (1.0 + e))
        h[j] += t
        total += t
    return total
