"""Kernels of smooth positions, forward and backward.

The logistic of a difference is a quotient (`directrank.kernels.vector_math`). It overflows when α · (max −
min) grows, so this product decides for each query: quotients in the type of the scores; or, in kernels that
are compiled only when a query needs them, quotients in float64, around one centre or around several. Of long
lists no pair is visited: their sums are those of `directrank.surrogates.softplus_sums`.
"""

from collections.abc import Iterator

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import (
    BAND,
    FLOAT32_RANGE,
    FLOAT64_RANGE,
    exponential,
    extremes,
    fill_powers_around,
)
from directrank.surrogates.softplus_sums import count_cells, softplus_sums

#: Pairs of a document that is read and any beyond which a list is long.
LONG = 2**21
#: Powers of all documents; for each query, how many first documents are computed with them; and, for the
#: numbers of long lists, Σ σ (1 − σ) over all documents at the first ones; empty unless it was needed.
PowersOfSome = tuple[np.ndarray | None, np.ndarray, dict[int, np.ndarray]]


def soft_positions(
    scores: np.ndarray, indptr: np.ndarray, n_read: np.ndarray, alpha: float
) -> tuple[np.ndarray, list[PowersOfSome]]:
    """Return smooth positions of the `n_read` first documents of each query, and powers for `backward`.

    Positions are 1 where not asked for; the powers are those of `powers_by_range`.
    """
    positions = np.ones(len(scores), scores.dtype)
    ranges = list(powers_by_range(scores, indptr, n_read, alpha))
    for powers, read, curves in ranges:
        some, lists = _without_long(scores, indptr, read, alpha, curves)
        for q, rows, lead in lists:
            x = alpha * scores[rows].astype(np.float64)
            _, slopes, curves[q] = softplus_sums(x, np.ones(len(x)), x[:lead])
            positions[rows][:lead] = 0.5 - slopes
        if powers is None:
            _forward_bands(scores, indptr, some, alpha, positions)
        else:
            _forward(powers, indptr, some, positions)
    return positions, ranges


def backward(scores, ranges: list[PowersOfSome], indptr, alpha, slopes, weights, gradient) -> None:
    """Add the derivative of −Σ_q w_q E_q to `gradient`, from its `slopes` with respect to positions."""
    for powers, read, curves in ranges:
        some, lists = _without_long(scores, indptr, read, alpha, curves)
        for q, rows, lead in lists:
            x, flow = alpha * scores[rows].astype(np.float64), np.zeros(rows.stop - rows.start)
            flow[:lead] = slopes[rows][:lead]
            into = softplus_sums(x[:lead], flow[:lead], x)[2]
            into[:lead] -= flow[:lead] * curves[q]
            gradient[rows] -= alpha * weights[q] * into
        if powers is not None and powers.dtype == gradient.dtype:
            _backward(powers, indptr, some, alpha, slopes, weights, gradient)
            continue
        # A document's own large term is added and subtracted again: float32 would round the others away.
        wide = np.zeros(len(scores))
        if powers is None:
            _backward_bands(scores, indptr, some, alpha, slopes, weights, wide)
        else:
            _backward(powers, indptr, some, alpha, slopes, weights, wide)
        gradient += wide


def powers_by_range(scores, indptr, n_read, alpha) -> Iterator[PowersOfSome]:
    """Yield exp(α(s − middle)) by query, and `n_read` of the queries whose quotients fit its type, else 0.

    The first powers are of the type of the scores; those of queries where quotients overflow are in double
    precision. None comes with the queries where that overflows too.
    """
    curves: dict[int, np.ndarray] = {}
    if len(scores) * n_read.max(initial=0) > LONG:  # A look at each list takes longer than at all of them.
        long = np.flatnonzero((indptr[1:] - indptr[:-1]) * n_read > LONG)
        curves = dict.fromkeys(long.tolist(), np.zeros(0))
    for dtype in dict.fromkeys((scores.dtype, np.dtype(np.float64))):
        powers, far = np.empty(len(scores), dtype), np.zeros(len(n_read), np.int64)
        _fill_near(scores.astype(dtype, copy=False), indptr, n_read, alpha, powers, far)
        yield powers, n_read - far, curves
        if not far.any():
            return
        n_read = far
    yield None, n_read, curves


def _without_long(scores, indptr, n_read, alpha, long) -> tuple[np.ndarray, list[tuple[int, slice, int]]]:
    """Return `n_read` of queries whose pairs are visited, else 0; and the others, with rows and n_read."""
    visited, lists = n_read, []
    for q in long:
        rows, lead = slice(int(indptr[q]), int(indptr[q + 1])), int(n_read[q])
        low, high = float(scores[rows].min()), float(scores[rows].max())
        if lead and count_cells(alpha * low, alpha * high) <= rows.stop - rows.start:
            visited = np.where(np.arange(len(n_read)) == q, 0, visited)
            lists.append((q, rows, lead))
    return visited, lists


@kernel
def is_near(spread, itemsize):
    """Say whether quotients fit the type of the scores."""
    return spread <= (FLOAT32_RANGE if itemsize == 4 else FLOAT64_RANGE)


@kernel
def _fill_near(scores, indptr, n_read, alpha, powers, far):
    # Fill the powers of the queries whose quotients fit the type, and `far` with `n_read` of the others.
    for q in range(len(n_read)):
        if n_read[q] > 0:
            s = scores[indptr[q] : indptr[q + 1]]
            low, high = extremes(s)
            if is_near(alpha * np.float64(high - low), s.itemsize):
                middle = 0.5 * (np.float64(low) + np.float64(high))
                fill_powers(s, alpha, middle, powers[indptr[q] : indptr[q + 1]])
            else:
                far[q] = n_read[q]


@kernel
def _forward(powers, indptr, n_read, positions):
    for q in range(len(n_read)):
        start = indptr[q]
        forward_quotients(powers[start : indptr[q + 1]], positions[start : start + n_read[q]])


@kernel
def _backward(powers, indptr, n_read, alpha, slopes, weights, gradient):
    for q in range(len(n_read)):
        start, stop = indptr[q], indptr[q + 1]
        h = powers.dtype.type(-weights[q] * alpha)
        backward_quotients(powers[start:stop], slopes[start : start + n_read[q]], h, gradient[start:stop])


@kernel
def _next_band(s, alpha, first, done, e, band):
    # Write the documents not done that are near document `first`, and powers around it; return their number.
    centre, count = np.float64(s[first]), 0
    fill_powers_around(s, alpha, centre, e)
    for i in range(first, len(done)):
        if not done[i] and alpha * abs(s[i] - centre) <= BAND:
            band[count], done[i] = i, 1
            count += 1
    return count


@kernel
def _forward_bands(scores, indptr, n_read, alpha, positions):
    for q in range(len(n_read)):
        start = indptr[q]
        forward_bands(scores[start : indptr[q + 1]], alpha, positions[start : start + n_read[q]])


@kernel
def _backward_bands(scores, indptr, n_read, alpha, slopes, weights, gradient):
    for q in range(len(n_read)):
        start, stop = indptr[q], indptr[q + 1]
        u, h = slopes[start : start + n_read[q]], -weights[q] * alpha
        backward_bands(scores[start:stop], alpha, u, h, gradient[start:stop])


@kernel
def forward_bands(s, alpha, out):
    """Fill `out` with the smooth positions of the first documents, whatever the range of scores."""
    e, done, band = np.empty(len(s)), np.zeros(len(out), np.uint8), np.empty(len(out), np.int64)
    for first in range(len(out)):
        if not done[first]:
            last = _next_band(s, alpha, first, done, e, band) - 1
            for two in range(last // 2 + 1):
                i, k = band[2 * two], band[min(2 * two + 1, last)]
                out[i], out[k] = _sums_of_quotients(e, e[i], e[k])


@kernel
def backward_bands(s, alpha, u, h, g):
    """Add h times the derivative of Σ u π̂ to g, float64, whatever the range of scores."""
    e, done, band = np.empty(len(s)), np.zeros(len(u), np.uint8), np.empty(len(u), np.int64)
    for first in range(len(u)):
        if not done[first]:
            last = _next_band(s, alpha, first, done, e, band) - 1
            for two in range(last // 2 + 1):
                i, k = band[2 * two], band[min(2 * two + 1, last)]
                _spread_two(e, i, k, u, h, g)


# Two documents share a division, 1/(uv) · v = 1/u, because the division dominates the time of these loops.
@kernel
def _sums_of_quotients(e, x, y):
    first, second = e.dtype.type(0.5), e.dtype.type(0.5)
    for j in range(len(e)):
        u, v = x + e[j], y + e[j]
        r = e[j] / (u * v)
        first += r * v
        second += r * u
    return first, second


@kernel
def forward_quotients(e, out):
    """Fill `out` with the smooth positions of the first documents, from the powers of all."""
    last = len(out) - 1
    for half in range((len(out) + 1) // 2):
        i, k = 2 * half, 2 * half + 1 if 2 * half < last else last
        out[i], out[k] = _sums_of_quotients(e, e[i], e[k])


@kernel
def _spread_quotients(e, x, y, h, k, g):
    one = e.dtype.type(1.0)
    first, second = e.dtype.type(0.0), e.dtype.type(0.0)
    for j in range(len(e)):
        u, v = x + e[j], y + e[j]
        r = one / (u * v)
        s = e[j] * (v * r) * (v * r) * h
        t = e[j] * (u * r) * (u * r) * k
        g[j] += s + t
        first += s
        second += t
    return first, second


@kernel
def backward_quotients(e, u, h, g):
    """Add h times the derivative of Σ u π̂ to g, from the powers of all."""
    for two in range((len(u) + 1) // 2):
        _spread_two(e, 2 * two, 2 * two + 1 if 2 * two + 1 < len(u) else len(u) - 1, u, h, g)


@kernel
def _spread_two(e, i, k, u, h, g):
    if u[i] == 0 and u[k] == 0:  # Documents that no user reaches, for ERR and RR.
        return
    other = e.dtype.type(u[k]) * h * e[k] if k != i else e.dtype.type(0.0)
    first, second = _spread_quotients(e, e[i], e[k], e.dtype.type(u[i]) * h * e[i], other, g)
    # g is read only now: the call has added to it.
    g[i] -= first
    g[k] -= second


def position_curvature(scores, ranges: list[PowersOfSome], indptr, alpha, slopes, weights) -> np.ndarray:
    r"""Return Σ |c_i − c_j| α² σ (1 − σ) for each document, (n_docs,), type of `scores`.

    The function of the positions is taken as linear in them. With the slope :math:`c_i` for each position the
    pair (i, j) adds :math:`(c_i - c_j) \, \sigma(\alpha (s_j - s_i))` and a constant. The second
    derivative of σ changes its sign where the documents are tied; its absolute value is at most
    :math:`\sigma (1 - \sigma)`. The curvature is also at least α times the absolute value of the first
    derivative: no step along the quotient of the two is longer than 1/α. In long lists :math:`|c_i| + |c_j|`
    stands for :math:`|c_i - c_j|`; they differ for two documents that are read.

    `ranges` are those of `powers_by_range`; documents after the first `n_read` have the slope 0. The slopes
    of each query times its weight are c.
    """
    out = np.zeros_like(scores)
    for powers, read, curves in ranges:
        some, lists = _without_long(scores, indptr, read, alpha, curves)
        for q, rows, lead in lists:
            x, size = alpha * scores[rows].astype(np.float64), np.zeros(rows.stop - rows.start)
            size[:lead] = np.abs(slopes[rows][:lead])
            spread = softplus_sums(x[:lead], size[:lead], x)[2]
            # A document forms no pair with itself: σ (1 − σ) is ¼ there.
            others = curves[q]
            if not len(others):
                others = softplus_sums(x, np.ones(len(x)), x[:lead])[2]
            spread[:lead] += size[:lead] * (others - 0.5)
            out[rows] += alpha**2 * weights[q] * np.maximum(spread, 0.0)
        if powers is None:
            _curvature_by_differences(scores, indptr, some, alpha, slopes, weights, out)
        else:
            _curvature_by_quotients(powers, indptr, some, alpha, slopes, weights, out)
    return out


@kernel
def _scaled_slopes(slopes, n_read, scale, c):
    for j in range(n_read):
        c[j] = scale * slopes[j]


@kernel
def _curvature_by_quotients(powers, indptr, n_read, alpha, slopes, weights, out):
    for q in range(len(n_read)):
        if n_read[q] > 0:
            start, stop = indptr[q], indptr[q + 1]
            e, c, h = powers[start:stop], np.zeros(stop - start, powers.dtype), out[start:stop]
            _scaled_slopes(slopes[start:stop], n_read[q], weights[q] * alpha * alpha, c)
            for i in range(n_read[q]):
                total = _spread_curvature(e[i], c[i], e[i + 1 :], c[i + 1 :], h[i + 1 :])
                h[i] += total


@kernel
def _spread_curvature(x, cx, e, c, h):
    one, total = e.dtype.type(1.0), e.dtype.type(0.0)
    for j in range(len(e)):
        r = one / (x + e[j])
        t = abs(cx - c[j]) * (e[j] * r) * (x * r)
        h[j] += t
        total += t
    return total


@kernel
def _curvature_by_differences(scores, indptr, n_read, alpha, slopes, weights, out):
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


@kernel
def fill_powers(s, alpha, centre, e):
    """Fill e with exp(α(s − centre)); no value may overflow."""
    for j in range(len(s)):
        e[j] = exponential(alpha * (s[j] - centre))
