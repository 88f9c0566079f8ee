r"""Pairs of documents of different relevance in a query, as runs; what pairs weigh, and sums over them.

A run is a row of four numbers: the first row and the exclusive last row of its winners, and those of its
losers. Each winner forms a pair with each loser. What a pair weighs in a sum :math:`\sum w_{ij}\,
\varphi(s_i - s_j)`, besides the weight of its run, is a rule: a named tuple whose type decides which kernels
read it.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.plugins import WIDTH, by_type, register_kernel
from directrank.measures.exchange import pair_table, swap_differences
from directrank.surrogates.margins import curve

#: Below all scores: a loser of this score pulls at no winner.
FAR = -1e30
#: A weight ≥ 0 for pairs of grades, arrays in and out: of the better document, and of the worse.
GradeWeight = Callable[[np.ndarray, np.ndarray], np.ndarray]


def runs_of_pairs(queries: Queries, by_grades: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of different relevance as runs, int64 (n_runs, 4), and the query of each run.

    There is one run for each grade against all below it or, `by_grades`, for each two grades. With a
    confidence of documents there is one for each two grades and confidences.
    """
    number = queries.query
    changes = (queries.relevance[1:] != queries.relevance[:-1]) | (number[1:] != number[:-1])
    if queries.confidence is not None:
        changes |= queries.confidence[1:] != queries.confidence[:-1]
    start = np.concatenate(([0], np.flatnonzero(changes) + 1))
    stop, query = np.append(start[1:], queries.n_docs), number[start]  # of each segment of one grade
    if not by_grades and queries.confidence is None:
        end = queries.indptr[query + 1]
        more = stop < end
        return np.stack((start, stop, stop, end), axis=1)[more], query[more]
    runs = [np.empty((0, 2), np.int64)]
    for apart in range(1, len(start)):
        first = np.flatnonzero(query[apart:] == query[:-apart])
        if not len(first):
            break
        runs.append(np.stack((first, first + apart), axis=1))
    first, second = np.concatenate(runs).T
    # Queries one after the other, so that the sum over one does not depend on the others.
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    differs = queries.relevance[start[first]] != queries.relevance[start[second]]
    first, second = first[differs], second[differs]
    return np.stack((start[first], stop[first], start[second], stop[second]), axis=1), query[first]


def pair_counts(queries: Queries) -> np.ndarray:
    """Return how many pairs of each query differ in relevance, float64 (n_queries,).

    With a confidence of documents, each pair counts as the product of both.
    """
    runs, query = runs_of_pairs(queries, by_grades=False)
    pairs = (runs[:, 1] - runs[:, 0]) * (runs[:, 3] - runs[:, 2])
    if queries.confidence is not None:
        pairs = pairs * queries.confidence[runs[:, 0]] * queries.confidence[runs[:, 2]]
    return np.bincount(query, pairs, minlength=queries.n_queries)


def pair_weights(queries: Queries, weights: np.ndarray, normalise: bool) -> np.ndarray:
    """Return what a pair of each query weighs, float64 (n_queries,).

    That is the weight of the query, divided by its number of pairs with `normalise`; 0 without pairs.
    """
    counts = pair_counts(queries)
    weights = np.where(counts > 0, weights, 0.0)
    return weights / np.where(counts > 0, counts, 1.0) if normalise else weights


def weighted_runs(
    queries: Queries, weights: np.ndarray, normalise: bool, by_grade: GradeWeight | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the runs whose pairs have a weight, and what a pair of each run weighs.

    Raises ValueError if a pair of grades has a negative weight.
    """
    if normalise:
        weights = pair_weights(queries, weights, normalise=True)
    runs, query = runs_of_pairs(queries, by_grades=by_grade is not None)
    run_weights = weights[query]
    if by_grade is not None:
        share = by_grade(queries.relevance[runs[:, 0]], queries.relevance[runs[:, 2]])
        if np.min(share, initial=0.0) < 0:
            raise ValueError("the weight of a pair of grades is negative; it must be ≥ 0")
        run_weights = run_weights * share
    if queries.confidence is not None:
        run_weights = run_weights * queries.confidence[runs[:, 0]] * queries.confidence[runs[:, 2]]
    return runs[run_weights > 0], run_weights[run_weights > 0]


class SwapDrop:
    """The weight of two grades: how much a measure drops when two such documents are swapped.

    They are swapped in a perfect ranking. The weight is the mean over the pairs of these grades of a query,
    and then over the training queries that have such pairs. The paper estimates it by random swaps, with
    nDCG@1; here all pairs are counted.

    Parameters
    ----------
    measure : Measure
        Such as nDCG@1.

    References
    ----------
    .. [1] Y. Cao, J. Xu, T.-Y. Liu, H. Li, Y. Huang, H.-W. Hon, "Adapting ranking SVM to document retrieval",
       SIGIR 2006.
    """

    def __init__(self, measure: Measure):
        self.measure = measure

    def estimated(self, queries: Queries, weights: np.ndarray) -> GradeWeight:
        """Return the weights of grades on training queries, each counted with its weight ≥ 0."""
        pairs = pair_table(queries)
        drops = swap_differences(self.measure, queries, queries.place)
        grades, code = np.unique(queries.relevance, return_inverse=True)
        times = np.diff(pairs.start)
        better = np.repeat(np.arange(queries.n_docs), times)
        worse = np.arange(len(drops)) - np.repeat(pairs.start[:-1] - pairs.below, times)
        query = queries.query[better]
        kind = code[better] * len(grades) + code[worse]
        # First the mean for each query and kind of pair, then the mean over queries.
        cell, number = np.unique(query * len(grades) ** 2 + kind, return_inverse=True)
        mean = np.bincount(number, drops) / np.bincount(number)
        query, kind = np.divmod(cell, len(grades) ** 2)
        total = np.bincount(kind, weights[query] * mean, len(grades) ** 2)
        weight = np.bincount(kind, weights[query], len(grades) ** 2)
        table = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
        return partial(_looked_up, grades, table.reshape(len(grades), len(grades)))


def _looked_up(grades: np.ndarray, table: np.ndarray, better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    return table[np.searchsorted(grades, better), np.searchsorted(grades, worse)]


class Equal(NamedTuple):
    """All pairs of a run weigh the same."""

    factor: float = 1.0


class ByLevel(NamedTuple):
    """The difference of gains, times that of levels, plus `inside` if both documents share a place.

    The numbers of documents are float64, or float32 with `WIDTH` more of them for compiled passes; so are
    those of the rules below.
    """

    gain: np.ndarray
    level: np.ndarray
    place: np.ndarray
    inside: np.ndarray


class ByLevelApart(NamedTuple):
    """`ByLevel`, divided by the distance of two scores and `near`, a number of their query."""

    gain: np.ndarray
    level: np.ndarray
    place: np.ndarray
    inside: np.ndarray
    score: np.ndarray
    near: np.ndarray


class ByDistance(NamedTuple):
    """The difference of gains, times the loss at the distance of places, which is `inside` at distance 0.

    Where blocks of tied documents differ in size, it is the mean loss over their orders: see `BetweenBlocks`.
    """

    gain: np.ndarray
    place: np.ndarray
    #: The documents of a block; 0 in queries without ties, or of one block.
    tied: np.ndarray
    inside: np.ndarray
    losses: np.ndarray
    sums: np.ndarray  # float64, of the first discounts


class BetweenBlocks(ByDistance):
    r"""`ByDistance` in a query of several blocks, of m documents at the place a and k at the place b.

    The loss D(d) − D(d + 1) at the distance d is minus the second difference of the sums C of discounts, so
    that its mean over the ranks of two blocks has four terms:

    .. math:: \frac{C(|b - a|) + C(|b + k - a - m|) - C(|b + k - a|) - C(|b - a - m|)}{m k}
    """


class ByRank(NamedTuple):
    """`ByDistance` of documents whose gain follows their grade, also for the order of ranks.

    There the losses of successive documents follow each other, so that none is looked up.
    """

    of_pairs: ByDistance
    losses: np.ndarray  # At the distances −n, …, n, and of `WIDTH` more; 0 at the distance 0
    reach: int  # The largest distance with a loss
    near: np.ndarray  # (n_queries,), bool: Whose blocks of tied documents are small


class ByTable(NamedTuple):
    """An entry in a table; document i has those from ``start[i]`` on.

    See `directrank.measures.exchange.PairTable`.
    """

    start: np.ndarray
    table: np.ndarray


@by_type
def winner_numbers(rule, i, size, weight):
    """Return what `pair_weight` reads of winner i of a run of this weight, with so many losers."""


@by_type
def loser_numbers(rule, start, stop):
    """Return what `pair_weight` reads of the losers of a run."""


@by_type
def pair_weight(rule, winner, losers, j):
    """Return what a winner weighs with loser j of its run."""


register_kernel(winner_numbers, Equal)(lambda rule, i, size, weight: (weight, weight))
register_kernel(loser_numbers, Equal)(lambda rule, start, stop: (start, stop))
register_kernel(pair_weight, Equal)(lambda rule, winner, losers, j: winner[0])


@register_kernel(winner_numbers, ByLevel)
def _(rule, i, size, weight):
    return weight, rule.gain[i], rule.level[i], rule.place[i], rule.inside[i]


@register_kernel(loser_numbers, ByLevel)
def _(rule, start, stop):
    return rule.gain[start:stop], rule.level[start:stop], rule.place[start:stop]


@register_kernel(pair_weight, ByLevel)
def _(rule, winner, losers, j):
    weight, gain, level, place, inside = winner
    tied = inside if losers[2][j] == place else np.float32(0)
    # Gains are subtracted first: where they are equal, the weight is 0 and not the rounding of a product.
    return weight * (gain - losers[0][j]) * (abs(level - losers[1][j]) + tied)


@register_kernel(winner_numbers, ByLevelApart)
def _(rule, i, size, weight):
    return weight, rule.gain[i], rule.level[i], rule.place[i], rule.inside[i], rule.score[i], rule.near[i]


@register_kernel(loser_numbers, ByLevelApart)
def _(rule, start, stop):
    return rule.gain[start:stop], rule.level[start:stop], rule.place[start:stop], rule.score[start:stop]


@register_kernel(pair_weight, ByLevelApart)
def _(rule, winner, losers, j):
    weight, gain, level, place, inside, score, near = winner
    tied = inside if losers[2][j] == place else np.float32(0)
    changed = weight * (gain - losers[0][j]) * (abs(level - losers[1][j]) + tied)
    return changed / (near + abs(score - losers[3][j]))


def _numbers_by_distance(rule, i, size, weight):
    return weight, rule.gain[i], rule.place[i], rule.inside[i], rule.tied[i]


def _losers_by_distance(rule, start, stop):
    return rule.gain[start:stop], rule.place[start:stop], rule.tied[start:stop]


for _rule in (ByDistance, BetweenBlocks):
    register_kernel(winner_numbers, _rule)(_numbers_by_distance)
    register_kernel(loser_numbers, _rule)(_losers_by_distance)


@register_kernel(pair_weight, ByDistance)
def _(rule, winner, losers, j):
    weight, gain, place, inside, _ = winner
    distance = abs(place - losers[1][j])
    loss = rule.losses[np.uint64(np.int32(distance))]
    return weight * (gain - losers[0][j]) * (loss if distance > 0 else inside)


@register_kernel(pair_weight, BetweenBlocks)
def _(rule, winner, losers, j):
    weight, gain, place, inside, tied = winner
    # Past the end of a query there are no blocks.
    apart, others = losers[1][j] - place, max(losers[2][j], np.float32(1))
    loss = type(gain)(loss_between_blocks(rule.sums, apart, tied, others))
    return weight * (gain - losers[0][j]) * (loss if apart != 0 else inside)


@inline_kernel
def loss_between_blocks(sums, apart, tied, others):
    """Return the mean loss of blocks of so many documents whose first places are so far apart."""
    near = sums[np.int32(abs(apart))] + sums[np.int32(abs(apart + others - tied))]
    far = sums[np.int32(abs(apart + others))] + sums[np.int32(abs(apart - tied))]
    return (near - far) / (np.float64(tied) * np.float64(others))


@inline_kernel
def between_blocks(rule):
    """Return a `ByDistance` as a `BetweenBlocks`."""
    return BetweenBlocks(rule.gain, rule.place, rule.tied, rule.inside, rule.losses, rule.sums)


@register_kernel(winner_numbers, ByTable)
def _(rule, i, size, weight):
    return weight, rule.table[rule.start[i] : rule.start[i] + size]


register_kernel(loser_numbers, ByTable)(lambda rule, start, stop: (start, stop))
register_kernel(pair_weight, ByTable)(lambda rule, winner, losers, j: winner[0] * winner[1][j])


# In the order of ranks: the gain of a winner, and the losses and gains around it.
@register_kernel(pair_weight, ByRank)
def _(rule, winner, losers, j):
    return max(winner - losers[1][j], type(winner)(0)) * losers[0][j]


@by_type
def fill_weights(rule, winner, losers, weights):
    """Fill what a winner weighs with each loser of its run."""


@inline_kernel
def _fill_weights(rule, winner, losers, weights):
    for j in range(len(weights)):
        weights[j] = pair_weight(rule, winner, losers, j)


for _rule in (Equal, ByLevel, ByLevelApart, ByTable):
    register_kernel(fill_weights, _rule)(_fill_weights)


@register_kernel(fill_weights, ByDistance)
def _(rule, winner, losers, weights):
    if winner[4] > 0:
        _fill_weights(between_blocks(rule), winner, losers, weights)
    else:
        _fill_weights(rule, winner, losers, weights)


@inline_kernel
def padded(first, last, end):
    """Return the length of a run of losers; if it ends with the query, in whole vectors."""
    return last - first if last < end else -(-(last - first) // WIDTH) * WIDTH


@kernel
def add_hessian(form, strength, scores, direction, runs, weights, out):
    """Add the second derivative times `direction` to `out`; pairs weigh the `strength` of winners, too."""
    for r in range(len(runs)):
        losers = slice(runs[r, 2], runs[r, 3])
        s, v, change = scores[losers], direction[losers], out[losers]
        for i in range(runs[r, 0], runs[r, 1]):
            if strength[i] > 0.0:
                out[i] += turn(form, scores[i], direction[i], weights[r] * strength[i], s, v, change)


@kernel
def turn(form, x, vx, weight, s, v, change):
    """Return how a winner's slope at score x changes when it moves by vx; add the losers' changes."""
    real = s.dtype.type
    pull = real(0)
    for j in range(len(s)):
        c = real(curve(form, x, s[j], weight, real)) * (vx - v[j])
        change[j] -= c
        pull += c
    return pull
