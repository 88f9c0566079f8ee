"""Pairs weighted by the change of the measure when they are swapped: LambdaRank and LambdaLoss."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.errors import check_choice
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH
from directrank.measures.capabilities import PositionLinear
from directrank.measures.families.gain_sum import GainSum
from directrank.measures.positions import Positions, positions_of
from directrank.surrogates.exchange.tables import (
    RankedOracles,
    SwapTableOracles,
    WeightedBySwaps,
    near_scores,
)
from directrank.surrogates.pairs.long_lists import LONG, RankedPairs, rank_nearby, weigh_nearby
from directrank.surrogates.pairs.runs import (
    BetweenBlocks,
    ByDistance,
    ByLevel,
    ByLevelApart,
    ByRank,
    pair_counts,
    runs_of_pairs,
)

WEIGHTS = ("swap", "ndcg2")

#: The most ranked pairs of a list with large blocks of ties, and their share of all pairs, both ways.
MOST_RANKED, SHARE_RANKED = 2**23, 1 / 32
#: Pairs without a document that weighs are not visited where these are no more than one in so many.
FEW = 3


class SwapWeighted(WeightedBySwaps):
    r"""Logistic losses on pairs, weighted by the measure at a ranking that is held fixed.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have pairs of the weights .2033, .1082 and .1377
    at their ranking:

    >>> loss = SwapWeighted(NDCG(), weights="swap").on(one_query([2, 1, 0]), np.ones(1))
    >>> scores = np.array([1.0, 2.0, 0.0])
    >>> loss.reweigh(scores)
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (0.3183, [-0.1777, 0.1322, 0.0455])

    .. math:: \sum_{i, j : y_i > y_j} w_{ij}(\bar\pi) \ln(1 + e^{-(s_i - s_j)})

    The oracle `Reweighable` moves the fixed ranking :math:`\bar\pi`; until it is called all documents are
    tied. Between two calls the surrogate is an ordinary convex function. No weight depends on the order in
    which tied documents happen to be sorted: that would leak the labels. The notes say what it is instead.

    Parameters
    ----------
    measure : Measure
        Any for "swap", except the 0/1 error, which a swap hardly ever changes; one with gains and discounts
        for "ndcg2": nDCG, DCG, P or WTA.
    weights : {"swap", "ndcg2"}, default="ndcg2"
        The difference |E after − E| of the measure when i and j are swapped [1]_, which is
        :math:`|g_i - g_j|\,|D(\bar\pi_i) - D(\bar\pi_j)|` for nDCG; or that of moving one document past the
        distance between them, :math:`(g_i - g_j)\, |D(|\bar\pi_i - \bar\pi_j|) - D(|\bar\pi_i -
        \bar\pi_j| + 1)|` for i of the higher grade, a bound on nDCG [2]_.
    distance : bool, default=False
        With "swap", divide the weight of a pair by :math:`0.01 + |s_i - s_j|`, as LightGBM does: the scores
        are those at which weights were last fixed, and a query whose scores are all equal is as without.
    truncation : int, optional
        The least cutoff of the measure that weighs pairs, if it is nDCG, DCG or another with a cutoff and
        discounts that fall: of 10 ranks few pairs tell what the other documents are worth.

    Raises
    ------
    TypeError
        If the measure cannot give such weights.

    Notes
    -----
    O(n²) per query for the measures of this library; with a cutoff at k, O(k n) in long lists, and in
    compiled passes with the weights "ndcg2", because other pairs weigh nothing. A measure without closed form
    is evaluated after each swap, O(n³) per query, whenever the weights are fixed again, and `notes` says how
    often. Measures that are sums over documents need O(n) numbers, the others one for each pair.

    Under ties weights are mean values over the orders of tied documents. They are exact for measures with
    gains and discounts, of which alone the weights "ndcg2" are, and for the others in queries where only
    documents of one relevance are tied. Where different relevance is tied, those take the mean over 16 random
    orders, averaged over documents of equal score and relevance: the standard error is at most 1/8 of the
    largest change by that swap.

    The curvature is :math:`\sum w_{ij} \sigma (1 - \sigma)` over the pairs of a document, with the logistic
    function σ of :math:`s_i - s_j`.

    Traits
    ------
    bound: no (of nDCG with the weights of [2]_ and base-2 logarithms only). convex: yes. smooth: yes.
    shift-invariant: yes.

    References
    ----------
    .. [1] C. Burges, R. Ragno, Q. V. Le, "Learning to rank with nonsmooth cost functions", NIPS 2006.
    .. [2] X. Wang, C. Li, N. Golbandi, M. Bendersky, M. Najork, "The LambdaLoss framework for ranking metric
       optimization", CIKM 2018, section 5.2 (NDCG-Loss2).
    """

    def __init__(
        self,
        measure: Measure,
        *,
        weights: str = "ndcg2",
        distance: bool = False,
        truncation: int | None = None,
    ):
        check_choice("weights", weights, WEIGHTS)
        super().__init__(measure)
        if distance and weights != "swap":
            raise ValueError("a distance of scores is for the weights 'swap' alone")
        self.distance, self.weighing = distance, self.truncated(measure, truncation)
        # Shards would ask a protocol again, which takes as long as what they compute.
        self._sums_gains = isinstance(measure, PositionLinear)
        if weights == "ndcg2" and not self._sums_gains:
            raise TypeError(
                f"the weights 'ndcg2' (LambdaLoss) need gains and discounts; {measure.name} has none. nDCG, "
                "DCG, P and WTA have; for other measures take the weights 'swap' (LambdaRank)"
            )
        self.weights, words = weights, [weights]
        words += ["distance"] * distance + [f"truncation={truncation}"] * (truncation is not None)
        self.variant = ", ".join(words)

    @staticmethod
    def truncated(measure: Any, truncation: int | None) -> Any:
        """Return the measure that weighs pairs: the measure itself where the truncation changes nothing."""
        falls = isinstance(measure, GainSum) and (np.diff(measure.discounts(truncation or 1)) < 0).all()
        if not falls or truncation is None or not measure.cutoff or measure.cutoff >= truncation:
            return measure
        return replace(measure, cutoff=truncation)

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: every pair that weighs."""
        if isinstance(self.weighing, PositionLinear):
            reach = np.count_nonzero(self.weighing.linear_in_positions(queries)[1])
            return np.minimum(pair_counts(queries), 10.0 * (reach + 10.0) * queries.sizes)
        return super().work(queries)

    def on(self, queries: Queries, weights: np.ndarray) -> "_SwapOracles | SwapTableOracles":
        """Return the oracles on some queries, each with a weight."""
        if self._sums_gains:
            return _SwapOracles(self.weighing, self.weights, queries, weights, self.distance)
        return SwapTableOracles(self.weighing, queries, weights, self.distance)


class _SwapOracles(RankedOracles):
    """The oracles of `SwapWeighted` on some queries, for a measure that is a sum over documents."""

    def __init__(
        self, measure: PositionLinear, kind: str, queries: Queries, weights: np.ndarray, distance: bool
    ):
        super().__init__(measure, queries, weights)
        gains, discounts = measure.linear_in_positions(queries, queries.longest + 1)
        self.kind = kind
        #: Level or size of block, inside, place and gain of each document, and its score and what is added to
        #: distances if these count; float64, or float32 in the arrays of a plug-in.
        self.numbers = np.empty((6 if distance else 4, queries.n_docs))
        self.numbers[3] = gains
        self.discounts = discounts[: queries.longest]
        self.losses = np.append(0.0, discounts[:-1] - discounts[1:])  # D(d) − D(d + 1), 0 at the distance 0
        self.sums = np.append(0.0, np.cumsum(self.discounts))
        self.weighted = np.append(0.0, np.cumsum(self.discounts * np.arange(len(self.discounts))))
        self.all_runs = self.runs, self.weights
        #: Of queries of near pairs alone, by the query: its ranking, and how many next documents form pairs.
        self.rankings: dict[int, np.ndarray] = {}
        self.near, self.ranks_are_read = np.zeros(queries.n_queries, np.bool_), False
        if queries.longest**2 > 2 * LONG:
            self.is_long = (pair_counts(queries) > LONG) & (weights > 0)
        self.reweigh(np.zeros(queries.n_docs))

    def reweigh(self, scores: np.ndarray) -> None:
        # Of float64, as the scores that are evaluated: positions are compiled once.
        positions = positions_of(self.queries, scores.astype(np.float64))
        self.numbers[2] = positions.above
        if len(self.numbers) > 4:
            self.numbers[4:] = scores, near_scores(self.queries, scores)
        if self.kind == "swap":
            over_blocks = np.empty((2, len(scores)))
            _over_blocks(self.sums, self.weighted, positions.above, positions.tied, *over_blocks)
            self.numbers[:2] = over_blocks
        elif (positions.tied == 1).all():
            self.numbers[:2] = 0.0
        else:
            m, query = positions.tied.astype(np.int64), self.queries.query
            blocks = np.bincount(query, (m > 1) & (m < self.queries.sizes[query]), self.queries.n_queries)
            self.numbers[0] = np.where(blocks[query] > 0, m, 0)
            # Over two ranks of a block the sum of losses telescopes.
            lost = m * self.sums[1] - self.sums[m]
            self.numbers[1] = np.where(m > 1, lost / np.maximum(0.5 * m * (m - 1), 1.0), 0.0)
        self._divide(positions)

    def _divide(self, positions: Positions) -> None:
        """Find pairs that are not visited one by one: most of them weigh nothing, or all by their grades."""
        (runs, weights), queries = self.all_runs, self.queries
        summed, sums, self.rankings, self._ranked = [runs[:0]], [weights[:0]], {}, None
        self.left[:] = self.near[:] = False
        for q in np.flatnonzero(self.is_long).tolist():
            first, last = queries.indptr[q : q + 2].tolist()
            y = queries.relevance[first:last]
            n_grades = 1 + np.count_nonzero(y[1:] != y[:-1])
            if positions.tied[first] < last - first:
                if self.kind == "ndcg2":
                    self._rank(q, positions)
            elif n_grades * (n_grades - 1) * (LONG // 4) <= (last - first) ** 2:
                by_grades = runs_of_pairs(queries.part(q, q + 1), by_grades=True)[0] + first
                gain = self.numbers[3, by_grades[:, 0]] - self.numbers[3, by_grades[:, 2]]
                summed.append(by_grades)
                sums.append(self.of_queries[q] * self.numbers[1, first].astype(np.float64) * gain)
                self.left[q] = True
        self.summed, visited = (np.concatenate(summed), np.concatenate(sums)), ~(self.left | self.near)
        if not self.ranks_are_read:
            self.left |= self.near
        if self.kind == "swap":
            visited &= ~self._choose_few()
        if not visited.all():
            kept = visited[queries.query[runs[:, 0]]]
            runs, weights = runs[kept], weights[kept]
        self.runs, self.weights = runs, weights

    def _choose_few(self) -> np.ndarray:
        """Choose documents that alone weigh anything in their queries; return which queries these are."""
        queries, weighs = self.queries, (self.numbers[0] > 0) | (self.numbers[1] > 0)
        rows = np.flatnonzero(weighs)
        chosen = np.ones(queries.n_queries, np.bool_)
        if FEW * len(rows) > queries.n_docs:
            chosen = self.is_long & (
                FEW * np.bincount(queries.query[rows], minlength=len(chosen)) <= queries.sizes
            )
        chosen &= ~self.left & (self.of_queries > 0)
        self.few = rows[chosen[queries.query[rows]]]
        self.left |= self.is_long & chosen
        return chosen

    def _rank(self, q: int, positions: Positions) -> None:
        """Rank a list, if there are few enough pairs that can weigh anything."""
        some = slice(*self.queries.indptr[q : q + 2])
        place, tied, n = positions.above[some], positions.tied[some], some.stop - some.start
        reach, ranking = int(np.flatnonzero(self.losses).max(initial=0)), np.empty((2, n), np.int64)
        # Two documents weigh where ranks of their blocks are no farther apart than discounts change.
        rank_nearby(place, tied, reach, *ranking)
        # Without large blocks there are fewer than twice `reach` of each document, however long the list is.
        if ranking[1].sum() <= min(max(MOST_RANKED, 2 * reach * n), SHARE_RANKED * n * n):
            self.rankings[q], self.near[q] = ranking, True

    def ranked(self) -> list[RankedPairs]:
        # Compiled passes do not read them.
        if self._ranked is None:
            self._ranked = [self._pairs(q, *ranking) for q, ranking in self.rankings.items()]
        return self._ranked

    def _pairs(self, q: int, order: np.ndarray, further: np.ndarray) -> RankedPairs:
        first, rule = self.queries.indptr[q], self.rule()
        n_runs = int(np.maximum(np.diff(further, prepend=0), 0).sum())
        pairs = RankedPairs(first + order, np.empty((n_runs, 3), np.int64), np.empty(further.sum()))
        has_blocks = isinstance(rule, ByDistance) and rule.tied[first] > 0
        rule = BetweenBlocks(*rule) if has_blocks else rule
        weigh_nearby(rule, self.of_queries[q], self.queries.relevance, further, pairs)
        return pairs

    def rule(self) -> ByLevel | ByLevelApart | ByDistance:
        return self._rule_of(self.numbers.astype(np.float64, copy=False), self.losses, self.sums)

    def _rule_of(self, numbers: np.ndarray, losses: np.ndarray, sums: np.ndarray):
        level, inside, place, gain, *apart = numbers
        if apart:
            return ByLevelApart(gain, level, place, inside, *apart)
        if self.kind == "swap":
            return ByLevel(gain, level, place, inside)
        return ByDistance(gain, place, level, inside, losses, sums)

    def joined_rule(
        self, queries: Queries, parts: Sequence[Any]
    ) -> ByLevel | ByLevelApart | ByDistance | ByRank:
        numbers, first = np.zeros((len(self.numbers), queries.n_docs + WIDTH), np.float32), 0
        for part in parts:
            view = numbers[:, first : first + part.queries.n_docs]
            view[:], part.numbers, first = part.numbers, view, first + part.queries.n_docs
        longest = max(parts, key=lambda part: len(part.sums))
        losses = longest.losses.astype(np.float32)
        rule = self._rule_of(numbers, losses, longest.sums)
        inside = np.diff(queries.query) == 0
        gained, falls = np.diff(numbers[3, : queries.n_docs])[inside], np.diff(queries.relevance)[inside] < 0
        follow = np.where(falls, gained <= 0, gained == 0).all()
        if isinstance(rule, (ByLevel, ByLevelApart)) or not follow:
            return rule
        around = np.concatenate((losses[:0:-1], losses, np.zeros(WIDTH, np.float32)))
        near, first = np.concatenate([part.near for part in parts]), 0
        for part in parts:
            part.left &= ~part.near
            part.near, first = near[first : first + len(part.near)], first + len(part.near)
            part.ranks_are_read = True
        return ByRank(rule, around, int(np.flatnonzero(losses).max(initial=0)), near)


@kernel
def _over_blocks(sums, weighted, above, tied, level, inside):
    """Write the mean discount of each document's tied block, and its mean |difference| at two ranks.

    `sums` are those of the first discounts, and `weighted` those of discounts times their ranks from 0.
    """
    for i in range(len(above)):
        a, m = np.int64(above[i]), np.int64(tied[i])
        total = sums[a + m] - sums[a]
        level[i], inside[i] = total, 0.0
        if m > 1:
            # Discounts fall: Σ_{p<q} (D_p − D_q) = Σ_t D_{a+t} (m − 1 − 2t), t the rank in the block.
            spread = (m - 1 + 2 * a) * total - 2.0 * (weighted[a + m] - weighted[a])
            level[i], inside[i] = total / m, spread / (0.5 * m * (m - 1))
