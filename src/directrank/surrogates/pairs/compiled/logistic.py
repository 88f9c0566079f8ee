r"""Logistic losses on pairs inside the compiled pass: quotients of powers, four winners at a time.

With powers :math:`e = e^{s - c}` the slope of the pair of a winner i and a loser j is
:math:`\sigma = e_j / (e_i + e_j)`, and its value

.. math:: \ln(1 + e^{-(s_i - s_j)}) = (s_j - s_i)_+ - \ln(1 - q), \qquad q = \min(e_i, e_j) / (e_i + e_j)

with a polynomial in q ≤ ½ for the logarithm: no small value is lost, in float32 either.
"""

from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.plugins import WIDTH, query_gradient, register_kernel
from directrank.kernels.vector_math import FLOAT32_RANGE, exponential, extremes
from directrank.surrogates.pairs.compiled.logistic_products import fours_of_winners

#: What a pair weighs; see `pair_weight`.
EQUAL, BY_LEVEL, BY_DISTANCE, BY_TABLE = 0, 1, 2, 3
# Below all scores: a loser of this score pulls at no winner.
FAR = -1e30
# −ln(1 − q)/q on [0, ½] with a relative error of 1.5e-7, the least that this degree allows.
SERIES = tuple(
    np.float32(each)
    for each in (
        0.999999852, 0.500036543, 0.33186262, 0.272250541, 0.0380180447, 0.785431079, -1.08154027, 1.18493153,
    )
)  # fmt: skip
C0, C1, C2, C3, C4, C5, C6, C7 = SERIES


class LogisticPairs(NamedTuple):
    """What `logistic_gradient` reads.

    Attributes
    ----------
    indptr : ndarray of shape (n_queries + 1,)
    longest : int
    first_run : ndarray of shape (n_queries + 1,), int64
        Query q has the runs ``first_run[q]:first_run[q + 1]``.
    runs : ndarray of shape (n_runs, 4), int64
        See `directrank.surrogates.pairs.runs`.
    weights : ndarray of shape (n_runs,), float64
    kind : int
        What a pair weighs besides: nothing (`EQUAL`); the difference of gains, times that of levels, plus
        `inside` if they share a place (`BY_LEVEL`), or times a function of distance, which is `inside` at 0
        (`BY_DISTANCE`); an entry in a table (`BY_TABLE`).
    gain, level, place, inside : ndarray of shape (n_docs + WIDTH,), float32
        Numbers of documents; may be empty where they are not read, as the arrays below.
    by_distance : ndarray, float32
    start : ndarray of shape (n_docs + 1,), int64
        The first entry in `table` of each document; see `directrank.measures.exchange.tables.PairTable`.
    table : ndarray of shape (n_pairs + WIDTH,), float32
    """

    indptr: np.ndarray
    longest: int
    first_run: np.ndarray
    runs: np.ndarray
    weights: np.ndarray
    kind: int
    gain: np.ndarray
    level: np.ndarray
    place: np.ndarray
    inside: np.ndarray
    by_distance: np.ndarray
    start: np.ndarray
    table: np.ndarray


# `kind` is a constant where these kernels are inlined, and what another kind reads is left out.
@inline_kernel
def pair_weight(kind, own, columns, cells, by_distance, j):
    """Return what a pair weighs, from the numbers of the winner, `own`, and those of loser j."""
    if kind == EQUAL:
        return own[0]
    if kind == BY_TABLE:
        return own[0] * cells[j]
    gains, levels, places = columns
    if kind == BY_LEVEL:
        tied = own[4] if places[j] == own[3] else np.float32(0)
        return (own[1] - own[0] * gains[j]) * (abs(own[2] - levels[j]) + tied)
    distance = abs(own[3] - places[j])
    loss = by_distance[np.uint64(np.int32(distance))]
    return (own[1] - own[0] * gains[j]) * (loss if distance > 0 else own[4])


@inline_kernel
def log_share(q):
    """Return −ln(1 − q) for q in [0, ½]."""
    series = C3 + q * (C4 + q * (C5 + q * (C6 + q * C7)))
    return q * (C0 + q * (C1 + q * (C2 + q * series)))


@kernel
def four_winners(kind, e, s, own, powers, scores, columns, cells, by_distance, slopes):
    """Return the value of the pairs of four winners and minus their slopes; add the losers' slopes.

    Two winners share a division, because divisions dominate the time.
    """
    real = powers.dtype.type
    none, one = real(0), real(1)
    total, pull0, pull1, pull2, pull3 = none, none, none, none, none
    for j in range(len(powers)):
        x, z = powers[j], scores[j]
        u0, u1, u2, u3 = e[0] + x, e[1] + x, e[2] + x, e[3] + x
        r, t = one / (u0 * u1), one / (u2 * u3)
        q0, q1, q2, q3 = u1 * r, u0 * r, u3 * t, u2 * t
        w0 = pair_weight(kind, own[0], columns, cells[0], by_distance, j)
        w1 = pair_weight(kind, own[1], columns, cells[1], by_distance, j)
        w2 = pair_weight(kind, own[2], columns, cells[2], by_distance, j)
        w3 = pair_weight(kind, own[3], columns, cells[3], by_distance, j)
        total += w0 * (max(z - s[0], none) + log_share(min(x, e[0]) * q0))
        total += w1 * (max(z - s[1], none) + log_share(min(x, e[1]) * q1))
        total += w2 * (max(z - s[2], none) + log_share(min(x, e[2]) * q2))
        total += w3 * (max(z - s[3], none) + log_share(min(x, e[3]) * q3))
        b0, b1, b2, b3 = w0 * (x * q0), w1 * (x * q1), w2 * (x * q2), w3 * (x * q3)
        slopes[j] += (b0 + b1) + (b2 + b3)
        pull0 += b0
        pull1 += b1
        pull2 += b2
        pull3 += b3
    return total, (pull0, pull1, pull2, pull3)


@kernel
def _prepare(scores, typed):
    # Fill powers, centred scores and slopes of 0, past the end too; or say that the powers would overflow.
    low, high = extremes(scores)
    if not np.float64(high - low) <= FLOAT32_RANGE:
        return False
    powers, centred, slopes = typed[0], typed[1], typed[2]
    centre = 0.5 * (np.float64(low) + np.float64(high))
    for j in range(len(scores)):
        z = scores[j] - centre
        powers[j], centred[j], slopes[j] = exponential(z), z, 0
    for j in range(len(scores), len(scores) + WIDTH):
        powers[j], centred[j], slopes[j] = 0, FAR, 0
    return True


@inline_kernel
def padded(first, last, end):
    """Return the length of a run of losers; if it ends with the query, in whole vectors."""
    return last - first if last < end else -(-(last - first) // WIDTH) * WIDTH


@kernel
def _own(plugin, k, weight):
    none = np.float32(0)
    if plugin.kind in (BY_LEVEL, BY_DISTANCE):
        return weight, weight * plugin.gain[k], plugin.level[k], plugin.place[k], plugin.inside[k]
    return weight, none, none, none, none


@kernel
def _cells(plugin, k, size):
    begin = plugin.start[k] if plugin.kind == BY_TABLE else 0
    return plugin.table[begin : begin + size]


@kernel
def _four_of(plugin, e, s, own, powers, scores, columns, cells, slopes):
    losses = plugin.by_distance
    if plugin.kind == EQUAL:
        return four_winners(EQUAL, e, s, own, powers, scores, columns, cells, losses, slopes)
    if plugin.kind == BY_TABLE:
        return four_winners(BY_TABLE, e, s, own, powers, scores, columns, cells, losses, slopes)
    if plugin.kind == BY_LEVEL:
        return four_winners(BY_LEVEL, e, s, own, powers, scores, columns, cells, losses, slopes)
    return four_winners(BY_DISTANCE, e, s, own, powers, scores, columns, cells, losses, slopes)


@kernel
def _run_value(plugin, run, weight, row, n, typed):
    real, first, last = typed.dtype.type, run[0] - row, run[1] - row - 1
    start, size = run[2] - row, padded(run[2] - row, run[3] - row, n)
    e, s, slopes, total = typed[0], typed[1], typed[2], 0.0
    begin, end = row + start, row + start + size
    columns = plugin.gain[begin:end], plugin.level[begin:end], plugin.place[begin:end]
    fours = (last - first + 1) // 4 if plugin.kind == EQUAL else 0
    total += fours_of_winners(weight, typed, first, fours, start, size)
    for four in range(fours, (last - first) // 4 + 1):
        # A winner past the last is the last with the weight 0.
        a = first + 4 * four
        b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
        own = (
            _own(plugin, row + a, real(weight)),
            _own(plugin, row + b, real(weight if b > a else 0.0)),
            _own(plugin, row + c, real(weight if c > b else 0.0)),
            _own(plugin, row + d, real(weight if d > c else 0.0)),
        )
        cells = (
            _cells(plugin, row + a, size), _cells(plugin, row + b, size), _cells(plugin, row + c, size),
            _cells(plugin, row + d, size),
        )  # fmt: skip
        value, pulls = _four_of(
            plugin, (e[a], e[b], e[c], e[d]), (s[a], s[b], s[c], s[d]), own, e[start : start + size],
            s[start : start + size], columns, cells, slopes[start : start + size],
        )  # fmt: skip
        total += np.float64(value)
        slopes[a] -= pulls[0]
        slopes[b] -= pulls[1]
        slopes[c] -= pulls[2]
        slopes[d] -= pulls[3]
    return total


@register_kernel(query_gradient, LogisticPairs)
@kernel
def logistic_gradient(plugin, q, scores, scratch, gradient):
    """Return the weighted value of query q and write its gradient; NaN where the powers would overflow."""
    typed, total, row = scratch[0], 0.0, plugin.indptr[q]
    first, last = plugin.first_run[q], plugin.first_run[q + 1]
    if first < last and not _prepare(scores, typed):
        return np.nan
    for r in range(first, last):
        total += _run_value(plugin, plugin.runs[r], plugin.weights[r], row, len(scores), typed)
    for j in range(len(scores)):
        gradient[j] = typed[2, j] if first < last else 0
    return total


def plugin_of(queries, runs, weights, kind: int = EQUAL, **arrays) -> LogisticPairs:
    """Return a plug-in of runs and what their pairs weigh; `arrays` that its kind does not read are empty."""
    none = dict.fromkeys(
        ("gain", "level", "place", "inside", "by_distance", "table"), np.zeros(0, np.float32)
    )
    first_run = np.searchsorted(runs[:, 0], queries.indptr)
    given = none | {"start": np.zeros(0, np.int64)} | arrays
    return LogisticPairs(queries.indptr, max(queries.longest, 1), first_run, runs, weights, kind, **given)
