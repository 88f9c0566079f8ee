r"""Logistic losses by quotients of powers, in compiled passes: one exponential for each document.

With powers :math:`e = e^{s - c}` the slope of the pair of a winner i and a loser j is
:math:`\sigma = e_j / (e_i + e_j)`, and its value

.. math:: \ln(1 + e^{-(s_i - s_j)}) = (s_j - s_i)_+ + 2 \operatorname{artanh} t, \qquad
    t = \frac{\min(e_i, e_j)}{e_i + e_j + \max(e_i, e_j)}

with a short series of t ≤ ⅓: no small value is lost, in single precision either. Beside differences
(`directrank.surrogates.pairs.differences`) this takes a sixth of the time on lists of 100 documents, and a
tenth on lists of 1,000. Pairs that weigh by the distance of ranks are summed in the order of ranks, where
weights are read and not looked up: this is 1.3 times as fast on lists of 100 and 1.8 times on lists of 1,000,
and with a cutoff at 10 twice and 19 times.
"""

from typing import NamedTuple

import numpy as np

from directrank.contracts import KernelPlugin
from directrank.data.queries import Queries
from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.plugins import WIDTH, by_type, query_gradient, register_kernel
from directrank.kernels.vector_math import FLOAT32_RANGE, exponential, extremes
from directrank.surrogates.pairs.differences import one_document
from directrank.surrogates.pairs.runs import (
    FAR,
    ByDistance,
    ByLevel,
    ByLevelApart,
    ByRank,
    ByTable,
    Equal,
    between_blocks,
    fill_weights,
    loser_numbers,
    loss_between_blocks,
    padded,
    pair_weight,
    winner_numbers,
)

# 2 artanh(t)/t on [0, 1/3] as a polynomial in t², with a relative error of 1.8e-7.
A0, A1, A2, A3 = (np.float32(x) for x in (1.99999967, 0.666760193, 0.395891658, 0.342275689))


class LogisticPairs(NamedTuple):
    """What `logistic_gradient` reads."""

    indptr: np.ndarray  # (n_queries + 1,)
    longest: int
    first_run: np.ndarray  # (n_queries + 1,), int64: Query q has the runs ``first_run[q]:first_run[q + 1]``
    runs: np.ndarray  # (n_runs, 4), int64: See `directrank.surrogates.pairs.runs`
    weights: np.ndarray  # (n_runs,), float64
    rule: KernelPlugin  # What a pair weighs besides; see `directrank.surrogates.pairs.runs`
    by_oracles: np.ndarray  # (n_queries,), bool: See `directrank.contracts.QueryPlugin`


def logistic_pairs(
    queries: Queries, runs: np.ndarray, weights: np.ndarray, rule: KernelPlugin, by_oracles: np.ndarray
) -> LogisticPairs:
    """Return what `logistic_gradient` reads of runs of pairs; `by_oracles` says which queries it leaves."""
    first_run = np.searchsorted(runs[:, 0], queries.indptr)
    return LogisticPairs(queries.indptr, max(queries.longest, 1), first_run, runs, weights, rule, by_oracles)


@inline_kernel
def logarithm(x, y):
    """Return ln(1 + min / max) of two powers."""
    t = min(x, y) / ((x + y) + max(x, y))
    z = t * t
    return t * (A0 + z * (A1 + z * (A2 + z * A3)))


@kernel
def one_winner(rule, power, score, winner, powers, scores, numbers, slopes):
    """Return the value of a winner's pairs and minus its slope; add the losers' slopes."""
    none = powers.dtype.type(0)
    total, pull = none, none
    for j in range(len(powers)):
        x, weight = powers[j], pair_weight(rule, winner, numbers, j)
        total += weight * (max(scores[j] - score, none) + logarithm(power, x))
        slope = weight * (x / (x + power))
        slopes[j] += slope
        pull += slope
    return total, pull


@by_type
def value_of_run(rule, run, weight, row, n, typed):
    """Return the value of the pairs of a run and change slopes.

    Rows of `typed` are powers, scores and slopes.
    """


@kernel
def _value_of_run(rule, run, weight, row, n, typed):
    real, total = typed.dtype.type, 0.0
    start, size = run[2] - row, padded(run[2] - row, run[3] - row, n)
    losers, numbers = slice(start, start + size), loser_numbers(rule, row + start, row + start + size)
    for i in range(run[0] - row, run[1] - row):
        winner = winner_numbers(rule, row + i, size, real(weight))
        value, pull = one_winner(
            rule,
            typed[0, i],
            typed[1, i],
            winner,
            typed[0, losers],
            typed[1, losers],
            numbers,
            typed[2, losers],
        )
        total += np.float64(value)
        typed[2, i] -= pull
    return total


for _rule in (Equal, ByLevel, ByLevelApart, ByTable):
    register_kernel(value_of_run, _rule)(_value_of_run)


@register_kernel(value_of_run, ByDistance)
def _(rule, run, weight, row, n, typed):
    if rule.tied[row] > 0:
        return _value_of_run(between_blocks(rule), run, weight, row, n, typed)
    return _value_of_run(rule, run, weight, row, n, typed)


@kernel
def fill_powers(scores, powers):
    """Fill powers of scores less the middle between the extremes; return whether these do not overflow."""
    low, high = extremes(scores)
    centre = 0.5 * (np.float64(low) + np.float64(high))
    if not np.float64(high - low) <= FLOAT32_RANGE:
        return False
    for j in range(len(scores)):
        powers[j] = exponential(scores[j] - centre)
    return True


@by_type
def value_of_query(rule, plugin, q, scores, scratch, gradient):
    """Return the value of the pairs of query q and write its gradient."""


@kernel
def _value_of_runs(rule, plugin, q, scores, scratch, gradient):
    typed, n, total = scratch[0], len(scores), 0.0
    if not fill_powers(scores, typed[0]):
        return np.nan
    for j in range(n):
        typed[1, j], typed[2, j] = scores[j], 0
    for j in range(n, n + WIDTH):
        typed[0, j], typed[1, j], typed[2, j] = 0, FAR, 0
    for r in range(plugin.first_run[q], plugin.first_run[q + 1]):
        total += value_of_run(rule, plugin.runs[r], plugin.weights[r], plugin.indptr[q], n, typed)
    for j in range(n):
        gradient[j] = typed[2, j]
    return total


for _rule in (Equal, ByLevel, ByLevelApart, ByDistance, ByTable):
    register_kernel(value_of_query, _rule)(_value_of_runs)


@register_kernel(value_of_query, ByRank)
def _(rule, plugin, q, scores, scratch, gradient):
    place, row, room = rule.of_pairs.place, plugin.indptr[q], scratch[0][:0]
    blocks = rule.of_pairs.tied[row] > 0
    # Without ties no place occurs twice; in one block all documents have the first.
    if (blocks and not rule.near[q]) or (not blocks and place[row] == place[row + 1]):
        return _value_of_runs(rule.of_pairs, plugin, q, scores, scratch, gradient)
    if blocks:
        room = np.empty((6, len(scores) + WIDTH), scores.dtype)
        _fill_ranks(place[row:], rule.of_pairs.tied[row:], rule.of_pairs.inside[row:], room)
    return _value_by_ranks(rule, row, plugin.weights[plugin.first_run[q]], scores, scratch[0], room, gradient)


@kernel
def _fill_ranks(place, tied, inside, room):
    """Fill the ranks of documents; then by rank the place and size of a block, the next tie, the loss inside.

    The next tie is the first rank from here on in a block of several documents. The last row is scratch.
    """
    n, ranks, filled, following = room.shape[1] - WIDTH, room[0], room[5], room.shape[1]
    for j in range(n):
        filled[j] = 0
    for j in range(n):
        first = np.int32(place[j])
        r = first + np.int32(filled[first])
        filled[first] += 1
        ranks[j], room[1, r], room[2, r], room[4, r] = r, first, tied[j], inside[j]
    for r in range(n - 1, -1, -1):
        following = r if room[2, r] > 1 else following
        room[3, r] = following


@kernel
def _mean_losses(sums, i, first, last, room):
    """Fill the last row with mean losses at the distances of rank i from some; 0 around, in whole vectors."""
    places, sizes, inside, losses = room[1], room[2], room[4, i], room[5]
    for j in range(first // WIDTH * WIDTH, first):
        losses[j] = 0
    for j in range(first, last):
        apart = places[j] - places[i]
        losses[j] = inside if apart == 0 else loss_between_blocks(sums, apart, sizes[i], sizes[j])
    for j in range(last, last + WIDTH):
        losses[j] = 0


@kernel
def _value_by_ranks(rule, row, weight, scores, typed, room, gradient):
    # Rows of `typed` are powers, scores, slopes and gains, by rank. `room` is that of a query with ties.
    real, n, middle = typed.dtype.type, len(scores), (len(rule.losses) - WIDTH) // 2
    powers, ranked, slopes, gains = typed[0], typed[1], typed[2], typed[3]
    gain, ranks = rule.of_pairs.gain[row : row + n], rule.of_pairs.place[row : row + n]
    if len(room):
        ranks = room[0, :n]
    for j in range(n):
        rank = np.uint64(np.int32(ranks[j]))
        ranked[rank], gains[rank], slopes[j] = scores[j], gain[j], 0
    if not fill_powers(ranked[:n], powers):
        return np.nan
    for j in range(n, n + WIDTH):
        powers[j], ranked[j], slopes[j], gains[j] = 0, FAR, 0, 0
    total, least = 0.0, gain[n - 1]
    for i in range(n):
        if gains[i] > least:
            # In whole vectors; the losses beyond the reach are 0.
            first, last = max(i - rule.reach, 0), min(i + rule.reach + 1, n)
            ties = len(room) > 0 and room[3, first] < last
            if ties:
                first = np.int32(room[1, max(np.int32(room[1, i]) - rule.reach, 0)])
                last = min(np.int32(room[1, i] + room[2, i]) + rule.reach, n) - 1
                last = np.int32(room[1, last] + room[2, last])
            start = first // WIDTH * WIDTH
            size = padded(start, last, last)
            some, losses = slice(start, start + size), rule.losses[middle + start - i :][:size]
            if ties:
                _mean_losses(rule.of_pairs.sums, i, first, last, room)
                losses = room[5, some]
            numbers, e, s = (losses, gains[some]), powers[some], ranked[some]
            value, pull = one_winner(rule, powers[i], ranked[i], gains[i], e, s, numbers, slopes[some])
            total += np.float64(value)
            slopes[i] -= pull
    for j in range(n):
        gradient[j] = real(weight) * slopes[np.uint64(np.int32(ranks[j]))]
    return weight * total


@register_kernel(query_gradient, LogisticPairs)
@kernel
def logistic_gradient(plugin, q, scores, scratch, gradient):
    """Return the weighted value of query q and write its gradient; NaN where that is left to the oracles.

    They take long lists, and scores whose powers would overflow.
    """
    if plugin.by_oracles[q]:
        return np.nan
    if plugin.first_run[q] < plugin.first_run[q + 1]:
        return value_of_query(plugin.rule, plugin, q, scores, scratch, gradient)
    for j in range(len(scores)):
        gradient[j] = 0
    return 0.0


@kernel
def sums_of_few(rule, few, relevance, scores, indptr, weights, gradient, curvature):
    """Return the value of pairs with one of a `few` documents, and add its derivative and its curvature.

    The rule is symmetric but for its sign, so that one of these is compared with all documents of its query
    at once, with those above and those below it. `weights` are those of queries. By differences where powers
    would overflow, and in double precision.
    """
    total, at, real, waits = 0.0, 0, scores.dtype.type, np.ones(len(scores))
    most = (indptr[1:] - indptr[:-1]).max()
    room, typed = np.empty((4, most)), np.empty((2, most), scores.dtype)
    for q in range(len(weights)):
        rows = slice(indptr[q], indptr[q + 1])
        if at < len(few) and few[at] < rows.stop:
            n, s, slopes, curved = rows.stop - rows.start, scores[rows], gradient[rows], curvature[rows]
            powers, w, by_powers = (
                typed[0, :n],
                typed[1, :n],
                scores.itemsize == 4 and fill_powers(s, typed[0]),
            )
            numbers, grades, waiting = (
                loser_numbers(rule, rows.start, rows.stop),
                relevance[rows],
                waits[rows],
            )
            while at < len(few) and few[at] < rows.stop:
                place = few[at] - rows.start
                at, waiting[place], x = at + 1, 0.0, s[place]
                fill_weights(rule, winner_numbers(rule, rows.start + place, 1, weights[q]), numbers, w)
                for j in range(n):
                    # 0 for documents of the same grade, and for those whose pairs are already summed.
                    differs = waiting[j] if grades[j] != grades[place] else 0.0
                    w[j] = differs * (abs(w[j]) if j > place else -abs(w[j]))
                if by_powers:
                    value, pull, bend = one_of_few(powers[place], x, w, powers, s, slopes, curved)
                else:
                    value, pull, bend = one_document(x, s, w, room, slopes, curved)
                total += value
                slopes[place] -= real(pull)
                curved[place] += real(bend)
    return total


@kernel
def one_of_few(power, score, weights, powers, scores, slopes, curves):
    """See `directrank.surrogates.pairs.differences.one_document`."""
    none = powers.dtype.type(0)
    total, pull, bend = none, none, none
    for j in range(len(powers)):
        x, w, apart = powers[j], weights[j], scores[j] - score
        share = type(power)(1) / (x + power)
        total += abs(w) * (max(apart if w > none else -apart, none) + logarithm(power, x))
        slope, c = w * ((x if w > none else power) * share), abs(w) * ((x * share) * (power * share))
        slopes[j] += slope
        curves[j] += c
        pull += slope
        bend += c
    return np.float64(total), np.float64(pull), np.float64(bend)
