r"""Logistic losses on pairs: :math:`\sum w_{ij} \ln(1 + e^{-(s_i - s_j)})`, by differences or by quotients.

Differences of scores are exact for all scores, with one exponential for each pair. Compiled passes in single
precision take quotients of powers instead, four winners at a time: with powers :math:`e = e^{s - c}` the
slope of the pair of a winner i and a loser j is :math:`\sigma = e_j / (e_i + e_j)`, and its value

.. math:: \ln(1 + e^{-(s_i - s_j)}) = (s_j - s_i)_+ - \ln(1 - q), \qquad q = \min(e_i, e_j) / (e_i + e_j)

with a polynomial in q ≤ ½ for the logarithm: no small value is lost, in float32 either. Pairs of one weight
need one logarithm for the product of many factors 1 − q, which are between ½ and 1. Pairs that weigh by the
distance of ranks are summed in the order of ranks, where weights are read and not looked up.

Of long lists hardly a pair is visited: `directrank.surrogates.pairs.long_lists`.
"""

import math
from typing import NamedTuple

import numpy as np

from directrank.contracts import KernelPlugin
from directrank.data.queries import Queries
from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.plugins import WIDTH, by_type, query_gradient, register_kernel
from directrank.kernels.vector_math import FLOAT32_RANGE, exponential, extremes, log1p_of_quotient
from directrank.surrogates.margins import LogisticForm
from directrank.surrogates.pairs.long_lists import (
    LONG,
    RankedPairs,
    add_ranked,
    add_sums,
    add_turns,
    are_near,
    n_pairs,
)
from directrank.surrogates.pairs.runs import (
    FAR,
    BetweenBlocks,
    ByDistance,
    ByLevel,
    ByLevelApart,
    ByRank,
    ByTable,
    Equal,
    PairOracles,
    SmoothPairOracles,
    add_curvatures,
    add_hessian,
    between_blocks,
    loser_numbers,
    padded,
    pair_weight,
    winner_numbers,
)

WeightedRuns = tuple[np.ndarray, np.ndarray]
# Factors of at most 2 each, so that their product fits float32.
CHUNK = 64
# Fours of winners whose factors fit float32, and with those of `WIDTH` losers float64.
FOURS = 15
# −ln(1 − q)/q on [0, ½] with a relative error of 1.5e-7, the least that this degree allows.
SERIES = tuple(
    np.float32(coefficient)
    for coefficient in (
        0.999999852, 0.500036543, 0.33186262, 0.272250541, 0.0380180447, 0.785431079, -1.08154027, 1.18493153,
    )
)  # fmt: skip
C0, C1, C2, C3, C4, C5, C6, C7 = SERIES
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
    is_long: np.ndarray  # (n_queries,), bool: Left to the oracles


def logistic_pairs(
    queries: Queries, runs: np.ndarray, weights: np.ndarray, rule: KernelPlugin, is_long: np.ndarray
) -> LogisticPairs:
    """Return what `logistic_gradient` reads of runs of pairs; `is_long` says which queries it leaves."""
    first_run = np.searchsorted(runs[:, 0], queries.indptr)
    return LogisticPairs(queries.indptr, max(queries.longest, 1), first_run, runs, weights, rule, is_long)


class LogisticOracles(PairOracles):
    """The oracles of the logistic margin on runs of pairs, (n_runs, 4), of these weights.

    The pairs of `summed` runs have one weight each, and are not visited unless scores are far apart. Further
    pairs are the `ranked` ones, and those of `few` documents, ascending rows, with all of their query.
    """

    form = LogisticForm()
    of_queries: np.ndarray  # What queries with few documents weigh

    def __init__(self, queries: Queries, runs: np.ndarray, weights: np.ndarray):
        self.queries, self.runs, self.weights = queries, runs, weights
        self.summed, self.few = (runs[:0], weights[:0]), np.zeros(0, np.int64)
        self.ranked: list[RankedPairs] = []

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over pairs and its derivative with respect to each score."""
        gradient, (near, far) = np.zeros_like(scores), self._by_distance(scores)
        value = pair_sums(self.rule(), scores, self.runs, self.weights, gradient) if len(self.runs) else 0.0
        value += self._sums_of_others(scores, gradient, np.zeros_like(scores))
        if len(near[0]):
            value += add_sums(scores, *near, gradient)
        if len(far[0]):
            value += pair_sums(Equal(), scores, *far, gradient)
        return float(value), gradient

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """See `PairOracles`."""
        out, (near, far) = super().curvature(scores), self._by_distance(scores)
        self._sums_of_others(scores, np.zeros_like(scores), out)
        add_turns(scores, None, *near, out)
        if len(far[0]):
            add_curvatures(self.form, Equal(), scores, *far, out)
        return out

    def _by_distance(self, scores: np.ndarray) -> tuple[WeightedRuns, WeightedRuns]:
        """Return the summed runs, and those of them whose scores are too far apart for it."""
        runs, weights = self.summed
        if not len(runs):
            return self.summed, self.summed
        near = are_near(scores, runs)
        return (runs[near], weights[near]), (runs[~near], weights[~near])

    def _sums_of_others(self, scores: np.ndarray, gradient: np.ndarray, curvature: np.ndarray) -> float:
        """Return the value of ranked pairs and of those of few documents, and add its derivatives."""
        value = 0.0
        for pairs in self.ranked:
            value += add_ranked(scores, pairs, gradient, curvature)
        if len(self.few):
            value += sums_of_few(
                self.rule(), self.few, self.queries.relevance, scores, self.queries.indptr, self.of_queries,
                FLOAT32_RANGE if scores.dtype == np.float32 else -1.0, gradient, curvature,
            )  # fmt: skip
        return value


class SmoothLogisticOracles(LogisticOracles, SmoothPairOracles):
    """The oracles of the logistic margin on runs of one weight each, with its second derivative."""

    def __init__(self, queries: Queries, runs: np.ndarray, weights: np.ndarray):
        is_long = n_pairs(runs) > LONG
        super().__init__(queries, runs[~is_long], weights[~is_long])
        self.summed = runs[is_long], weights[is_long]

    def hessian_vector(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """See `SmoothPairOracles`."""
        out, (near, far) = super().hessian_vector(scores, direction), self._by_distance(scores)
        add_turns(scores, direction, *near, out)
        if len(far[0]):
            add_hessian(self.form, Equal(), scores, direction, *far, out)
        return out

    def gradient_plugin(self) -> LogisticPairs:
        """Return what `directrank.kernels.plugins.query_gradient` reads."""
        is_long = np.zeros(self.queries.n_queries, np.bool_)
        is_long[self.queries.query[self.summed[0][:, 0]]] = True
        return logistic_pairs(self.queries, self.runs, self.weights, self.rule(), is_long)


@kernel
def pair_sums(rule, scores, runs, weights, gradient):
    """Return the value, and add its derivative to `gradient`, by differences of scores."""
    total = 0.0
    for r in range(len(runs)):
        start, stop = runs[r, 2], runs[r, 3]
        numbers, s, slopes = loser_numbers(rule, start, stop), scores[start:stop], gradient[start:stop]
        for i in range(runs[r, 0], runs[r, 1]):
            winner = winner_numbers(rule, i, stop - start, weights[r])
            value, pull = one_winner(rule, scores[i], winner, s, numbers, slopes)
            total += value
            gradient[i] -= scores.dtype.type(pull)
    return total


@kernel
def sums_of_few(rule, few, relevance, scores, indptr, weights, span, gradient, curvature):
    """Return the value, and add its derivative and its curvature, of pairs with one of a `few` documents.

    The rule is symmetric but for its sign, so that one of these is compared with all documents of its query
    at once, with those above and those below it. `weights` are those of queries. Scores of a query that are
    no farther apart than `span` are compared by quotients of powers, others by differences.
    """
    total, at = 0.0, 0
    waits, w, powers = np.ones(len(scores)), np.empty_like(scores), np.empty_like(scores)
    for q in range(len(weights)):
        first, last = indptr[q], indptr[q + 1]
        if at < len(few) and few[at] < last:
            s, e, grades = scores[first:last], powers[first:last], relevance[first:last]
            slopes, curved = gradient[first:last], curvature[first:last]
            low, high = extremes(s)
            by_powers = np.float64(high - low) <= span
            if by_powers:
                centre = 0.5 * (np.float64(low) + np.float64(high))
                for j in range(len(s)):
                    e[j] = exponential(s[j] - centre)
            while at < len(few) and few[at] < last:
                i = few[at] - first
                at += 1
                waits[first + i] = 0.0
                winner = winner_numbers(rule, first + i, 1, weights[q])
                numbers = loser_numbers(rule, first, last)
                _weigh_others(rule, grades[i], winner, grades, numbers, waits[first:last], w)
                if by_powers:
                    value, pull, bend = _few_by_powers(s[i], e[i], i, s, e, w, slopes, curved)
                else:
                    value, pull, bend = _few_by_differences(s[i], i, s, w, slopes, curved)
                total += value
                slopes[i] -= scores.dtype.type(pull)
                curved[i] += scores.dtype.type(bend)
    return total


@kernel
def _weigh_others(rule, grade, winner, relevance, numbers, waits, w):
    # 0 for documents of the same grade, and for those whose pairs are already summed.
    for j in range(len(relevance)):
        differs = 1.0 if relevance[j] != grade else 0.0
        w[j] = differs * waits[j] * abs(pair_weight(rule, winner, numbers, j))


@kernel
def _few_by_powers(x, power, place, s, powers, w, slopes, curved):
    # Documents before the place are the winners of their pairs with the one there, of score x.
    real = s.dtype.type
    none, one = real(0), real(1)
    total, pull, bend = none, none, none
    for j in range(len(s)):
        e, sign = powers[j], one if j > place else -one
        r = one / (power + e)
        total += w[j] * (max(sign * (s[j] - x), none) + log_share(min(power, e) * r))
        slope = w[j] * ((e if j > place else -power) * r)
        c = w[j] * ((power * r) * (e * r))
        slopes[j] += slope
        curved[j] += c
        pull += slope
        bend += c
    return np.float64(total), np.float64(pull), np.float64(bend)


@kernel
def _few_by_differences(x, place, s, w, slopes, curved):
    real = s.dtype.type
    total, pull, bend = 0.0, 0.0, 0.0
    for j in range(len(s)):
        sign = 1.0 if j > place else -1.0
        z = sign * np.float64(s[j] - x)
        size = abs(z)
        e = exponential(-(size if size < 700.0 else 700.0))
        share = w[j] / (1.0 + e)
        total += w[j] * ((z if z > 0.0 else 0.0) + log1p_of_quotient(e, 1.0))
        slope, c = sign * share * (1.0 if z > 0.0 else e), share * e / (1.0 + e)
        slopes[j] += real(slope)
        curved[j] += real(c)
        pull += slope
        bend += c
    return total, pull, bend


@by_type
def one_winner(rule, x, winner, s, numbers, slopes):
    """Return the summed value of a winner's pairs at score x, and minus its slope; add the losers' slopes."""


@kernel
def weighted_winner(rule, x, winner, s, numbers, slopes):
    """See `one_winner`: one logarithm for each pair."""
    real = s.dtype.type
    total, pull = 0.0, 0.0
    for j in range(len(s)):
        w, z = pair_weight(rule, winner, numbers, j), np.float64(s[j] - x)
        size = abs(z)
        e = exponential(-(size if size < 700.0 else 700.0))
        slope = w * (1.0 if z > 0.0 else e) / (1.0 + e)
        total += w * ((z if z > 0.0 else 0.0) + log1p_of_quotient(e, 1.0))
        slopes[j] += real(slope)
        pull += slope
    return total, pull


@register_kernel(one_winner, Equal)
@kernel
def equal_winner(rule, x, winner, s, numbers, slopes):
    """See `one_winner`: one logarithm for the product of many pairs."""
    total, pull, w = 0.0, 0.0, winner[0]
    for first in range(0, len(s), CHUNK):
        linear, product, share = equal_chunk(x, s[first : first + CHUNK], slopes[first : first + CHUNK], w)
        total += linear + math.log(product)
        pull += share
    return w * total, w * pull


@kernel
def equal_chunk(x, s, slopes, w):
    """Return two sums and a product over the losers of a winner, and add their slopes.

    ln(1 + e^z) = max(z, 0) + ln(1 + e^{-|z|}).
    """
    real = s.dtype.type
    linear, product, pull = 0.0, 1.0, 0.0
    for j in range(len(s)):
        z = np.float64(s[j] - x)
        size = abs(z)
        e = exponential(-(size if size < 700.0 else 700.0))
        share = (1.0 if z > 0.0 else e) / (1.0 + e)
        linear += z if z > 0.0 else 0.0
        product *= 1.0 + e
        slopes[j] += real(w * share)
        pull += share
    return linear, product, pull


for _rule in (ByLevel, ByLevelApart, ByTable):
    register_kernel(one_winner, _rule)(weighted_winner)


@register_kernel(one_winner, ByDistance)
def _(rule, x, winner, s, numbers, slopes):
    if winner[4] > 0:
        return weighted_winner(between_blocks(rule), x, winner, s, numbers, slopes)
    return weighted_winner(rule, x, winner, s, numbers, slopes)


@inline_kernel
def log_share(q):
    """Return −ln(1 − q) for q in [0, ½]."""
    series = C3 + q * (C4 + q * (C5 + q * (C6 + q * C7)))
    return q * (C0 + q * (C1 + q * (C2 + q * series)))


@kernel
def four_winners(rule, e, s, winners, powers, scores, numbers, slopes):
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
        w0 = pair_weight(rule, winners[0], numbers, j)
        w1 = pair_weight(rule, winners[1], numbers, j)
        w2 = pair_weight(rule, winners[2], numbers, j)
        w3 = pair_weight(rule, winners[3], numbers, j)
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


@kernel
def four_equal(e, s, weight, powers, scores, products, slopes):
    """Return the linear part of the value of four winners and minus their slopes; add the losers' slopes.

    The `products` of losers are multiplied by their factors. Neither value nor slopes are weighted, but those
    that are added are.
    """
    real = powers.dtype.type
    none, one, w = real(0), real(1), real(weight)
    linear, pull0, pull1, pull2, pull3 = none, none, none, none, none
    for j in range(len(powers)):
        x, z = powers[j], scores[j]
        u0, u1, u2, u3 = e[0] + x, e[1] + x, e[2] + x, e[3] + x
        r, t = one / (u0 * u1), one / (u2 * u3)
        b0, b1, b2, b3 = x * (u1 * r), x * (u0 * r), x * (u3 * t), x * (u2 * t)
        products[j] *= (max(e[0], x) * (max(e[1], x) * r)) * (max(e[2], x) * (max(e[3], x) * t))
        linear += (max(z - s[0], none) + max(z - s[1], none)) + (max(z - s[2], none) + max(z - s[3], none))
        slopes[j] += w * ((b0 + b1) + (b2 + b3))
        pull0 += b0
        pull1 += b1
        pull2 += b2
        pull3 += b3
    return linear, (pull0, pull1, pull2, pull3)


@kernel
def _minus_logs(products):
    # Return −Σ ln of the products and set them to 1.
    total = 0.0
    for block in range(len(products) // WIDTH + 1):
        some, product = products[block * WIDTH : (block + 1) * WIDTH], 1.0
        for j in range(len(some)):
            product *= np.float64(some[j])
            some[j] = 1
        total -= math.log(product)
    return total


@kernel
def fours_of_winners(weight, typed, first, fours, start, size):
    """Return the summed value of pairs of a run's first winners, in fours; change slopes.

    Rows of `typed` are powers, centred scores, slopes, and space for products.
    """
    e, s, slopes, products, total = typed[0], typed[1], typed[2], typed[3, start : start + size], 0.0
    powers, scores, changes = e[start : start + size], s[start : start + size], slopes[start : start + size]
    for j in range(size):
        products[j] = 1
    for four in range(fours):
        a = first + 4 * four
        linear, pulls = four_equal(
            (e[a], e[a + 1], e[a + 2], e[a + 3]), (s[a], s[a + 1], s[a + 2], s[a + 3]), weight, powers,
            scores, products, changes,
        )  # fmt: skip
        total += np.float64(linear)
        for k in range(4):
            slopes[a + k] -= typed.dtype.type(weight * pulls[k])
        if four % FOURS == FOURS - 1 or four == fours - 1:
            total += _minus_logs(products)
    return weight * total


@by_type
def products_of_run(rule, weight, typed, first, fours, start, size):
    """Return how many fours of a run's winners are summed by `fours_of_winners`, and their value."""


@register_kernel(products_of_run, Equal)
def _(rule, weight, typed, first, fours, start, size):
    return fours, fours_of_winners(weight, typed, first, fours, start, size)


for _rule in (ByLevel, ByLevelApart, ByDistance, BetweenBlocks, ByTable):
    register_kernel(products_of_run, _rule)(lambda rule, weight, typed, first, fours, start, size: (0, 0.0))


@by_type
def run_value(rule, run, weight, row, n, typed):
    """Return the value of the pairs of a run and change slopes, by quotients."""


@kernel
def _run_value(rule, run, weight, row, n, typed):
    real, first, last = typed.dtype.type, run[0] - row, run[1] - row - 1
    start, size = run[2] - row, padded(run[2] - row, run[3] - row, n)
    e, s, slopes = typed[0], typed[1], typed[2]
    numbers = loser_numbers(rule, row + start, row + start + size)
    done, total = products_of_run(rule, weight, typed, first, (last - first + 1) // 4, start, size)
    for four in range(done, (last - first) // 4 + 1):
        # A winner past the last is the last with the weight 0.
        a = first + 4 * four
        b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
        winners = (
            winner_numbers(rule, row + a, size, real(weight)),
            winner_numbers(rule, row + b, size, real(weight if b > a else 0.0)),
            winner_numbers(rule, row + c, size, real(weight if c > b else 0.0)),
            winner_numbers(rule, row + d, size, real(weight if d > c else 0.0)),
        )
        value, pulls = four_winners(
            rule, (e[a], e[b], e[c], e[d]), (s[a], s[b], s[c], s[d]), winners, e[start : start + size],
            s[start : start + size], numbers, slopes[start : start + size],
        )  # fmt: skip
        total += np.float64(value)
        slopes[a] -= pulls[0]
        slopes[b] -= pulls[1]
        slopes[c] -= pulls[2]
        slopes[d] -= pulls[3]
    return total


for _rule in (Equal, ByLevel, ByLevelApart, ByTable):
    register_kernel(run_value, _rule)(_run_value)


@register_kernel(run_value, ByDistance)
def _(rule, run, weight, row, n, typed):
    if rule.tied[row] > 0:
        return _run_value(between_blocks(rule), run, weight, row, n, typed)
    return _run_value(rule, run, weight, row, n, typed)


@by_type
def value_of_query(rule, plugin, q, scores, scratch, gradient):
    """Return the value of the pairs of query q and write its gradient, by quotients."""


@kernel
def _value_of_runs(rule, plugin, q, scores, scratch, gradient):
    typed, total = scratch[0], 0.0
    if not _prepare(scores, typed):
        return np.nan
    for r in range(plugin.first_run[q], plugin.first_run[q + 1]):
        total += run_value(rule, plugin.runs[r], plugin.weights[r], plugin.indptr[q], len(scores), typed)
    for j in range(len(scores)):
        gradient[j] = typed[2, j]
    return total


for _rule in (Equal, ByLevel, ByLevelApart, ByDistance, ByTable):
    register_kernel(value_of_query, _rule)(_value_of_runs)


@register_kernel(value_of_query, ByRank)
def _(rule, plugin, q, scores, scratch, gradient):
    place, row = rule.of_pairs.place, plugin.indptr[q]
    # Without ties no place occurs twice; in one block all documents have the first.
    if rule.of_pairs.tied[row] > 0 or place[row] == place[row + 1]:
        return _value_of_runs(rule.of_pairs, plugin, q, scores, scratch, gradient)
    return _value_by_ranks(rule, row, plugin.weights[plugin.first_run[q]], scores, scratch[0], gradient)


@kernel
def _value_by_ranks(rule, row, weight, scores, typed, gradient):
    # Rows of `typed` are powers, centred scores, slopes and gains, by rank.
    real, n, middle = typed.dtype.type, len(scores), (len(rule.losses) - WIDTH) // 2
    powers, centred, slopes, gains = typed[0], typed[1], typed[2], typed[3]
    gain, place = rule.of_pairs.gain[row : row + n], rule.of_pairs.place[row : row + n]
    low, high = extremes(scores)
    if not np.float64(high - low) <= FLOAT32_RANGE:
        return np.nan
    centre = 0.5 * (np.float64(low) + np.float64(high))
    for j in range(n):
        rank = np.uint64(np.int32(place[j]))
        centred[rank], gains[rank] = scores[j] - centre, gain[j]
    for j in range(n):
        powers[j], slopes[j] = exponential(np.float64(centred[j])), 0
    for j in range(n, n + WIDTH):
        powers[j], centred[j], slopes[j], gains[j] = 0, FAR, 0, 0
    total, least = 0.0, gain[n - 1]
    for i in range(n):
        if gains[i] > least:
            # In whole vectors; the losses beyond the reach are 0.
            first, last = max(i - rule.reach, 0) // WIDTH * WIDTH, min(i + rule.reach + 1, n)
            size = padded(first, last, last)
            some = slice(first, first + size)
            value, pull = one_ranked(
                powers[i], centred[i], gains[i], rule.losses[middle + first - i :][:size], powers[some],
                centred[some], gains[some], slopes[some],
            )  # fmt: skip
            total += np.float64(value)
            slopes[i] -= pull
    for j in range(n):
        gradient[j] = real(weight) * slopes[np.uint64(np.int32(place[j]))]
    return weight * total


@kernel
def one_ranked(e, s, gain, losses, powers, scores, gains, slopes):
    """Return the value of the pairs of a winner and minus its slope; add the losers' slopes.

    With powers a < b, ln(1 + a / b) = 2 artanh(a / (a + 2b)).
    """
    total, pull, none = powers.dtype.type(0), powers.dtype.type(0), powers.dtype.type(0)
    for j in range(len(powers)):
        x, weight = powers[j], max(gain - gains[j], none) * losses[j]
        t = min(x, e) / ((x + e) + max(x, e))
        z = t * t
        logarithm = t * (A0 + z * (A1 + z * (A2 + z * A3)))
        total += weight * (max(scores[j] - s, none) + logarithm)
        slope = weight * (x / (x + e))
        slopes[j] += slope
        pull += slope
    return total, pull


@register_kernel(query_gradient, LogisticPairs)
@kernel
def logistic_gradient(plugin, q, scores, scratch, gradient):
    """Return the weighted value of query q and write its gradient; NaN where that is left to the oracles.

    They take long lists, and scores whose powers would overflow.
    """
    if plugin.is_long[q]:
        return np.nan
    if plugin.first_run[q] < plugin.first_run[q + 1]:
        return value_of_query(plugin.rule, plugin, q, scores, scratch, gradient)
    for j in range(len(scores)):
        gradient[j] = 0
    return 0.0
