"""YetiLoss: pairs of neighbours on noisy rankings, weighted by the change of the measure."""

from typing import Annotated

import numpy as np

from directrank.contracts import Measure
from directrank.data import Queries
from directrank.estimators.parameters import ABOVE_0, FROM_1, estimator
from directrank.estimators.presets.listwise import ReweightedRanker, ReweightedRounds, ShortRun
from directrank.measures.capabilities import PositionLinear
from directrank.measures.exchange import pair_table, swap_differences
from directrank.surrogates.draws import Draws
from directrank.surrogates.exchange.tables import (
    SwapTableOracles,
    WeightedBySwaps,
    average_over_twins,
    ranks_and_twins,
    strict_ranking,
)


class NoisyNeighbours(WeightedBySwaps):
    r"""YetiLoss: logistic losses on neighbours in noisy rankings, weighted by the measure.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the expected value .2278:

    >>> loss = NoisyNeighbours(NDCG(), permutations=2_000).on(one_query([2, 1, 0]), np.ones(1))
    >>> scores = np.array([1.0, 2.0, 0.0])
    >>> loss.reweigh(scores)
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 2), gradient.round(2).tolist()
    (0.23, [-0.13, 0.1, 0.03])

    .. math:: \sum_{i, j : y_i > y_j} w_{ij} \ln(1 + e^{-(s_i - s_j)}), \qquad
        w_{ij} = \frac{1}{T} \sum_t |\Delta_{ij} E(\pi^t)| \, [\![ |\pi^t_i - \pi^t_j| = 1 ]\!]

    :math:`\pi^t` ranks the documents by :math:`\bar s_i + \sigma \varepsilon_i`, with Gumbel noise ε. The
    oracle `Reweighable` moves :math:`\bar s` and draws the noise anew; until it is called all scores are 0.
    Between two calls the surrogate is an ordinary convex function.

    Parameters
    ----------
    measure : Measure
        Any but the 0/1 error, which a swap hardly ever changes.
    permutations : int, default=10
        T, the noisy rankings of each query.
    noise : float, default=1.0
        σ > 0, in score units.
    seed : int, default=0
        Of the noise.

    Raises
    ------
    TypeError
        If the measure is the 0/1 error.
    ValueError
        If `permutations` or `noise` is not above 0.

    Traits
    ------
    bound: no. convex: yes. smooth: yes. shift-invariant: yes.

    Notes
    -----
    With Gumbel noise a ranking has the probability of the Plackett-Luce model at :math:`\bar s / \sigma`, so
    that the expected weights can be enumerated for short lists. CatBoost's noise of that name is logistic.
    Swapping two neighbours of different relevance changes the measure in one direction, whichever is first.
    The curvature is :math:`\sum w_{ij} \sigma (1 - \sigma)`.

    A call of `Reweighable` costs O(T n log n) per query where the measure is a sum over documents, else T
    tables of swaps. The weights take four bytes per pair.

    References
    ----------
    .. [1] A. Gulin, I. Kuralenok, D. Pavlov, "Winning the transfer learning track of Yahoo!'s learning to
       rank challenge with YetiRank", JMLR Workshop 14, 2011.
    .. [2] I. Lyzhin, A. Ustimenko, A. Gulin, L. Prokhorenkova, "Which tricks are important for learning to
       rank?", ICML 2023.
    """

    among = " in each noisy ranking"

    def __init__(self, measure: Measure, *, permutations: int = 10, noise: float = 1.0, seed: int = 0):
        super().__init__(measure)
        if not (permutations > 0 and noise > 0):
            raise ValueError(f"permutations and noise must be positive, not {permutations} and {noise}")
        self.rankings = self.permutations = int(permutations)
        self.noise, self.seed = noise, seed

    def on(self, queries: Queries, weights: np.ndarray) -> "_NeighbourOracles":
        """Return the oracles on some queries, each with a weight."""
        return _NeighbourOracles(self, queries, weights)


class _NeighbourOracles(SwapTableOracles):
    """The oracles of `NoisyNeighbours` on some queries."""

    def __init__(self, surrogate: NoisyNeighbours, queries: Queries, weights: np.ndarray):
        self.surrogate, self.draws = surrogate, Draws(queries, surrogate.seed or 0)
        super().__init__(surrogate.measure, queries, weights)

    def reweigh(self, scores: np.ndarray) -> None:
        """Draw rankings around that of these scores, and fix the weights at their neighbours."""
        queries, times = self.queries, self.surrogate.permutations
        pairs = pair_table(queries)
        table = np.zeros(pairs.n_pairs)
        rank, twin = ranks_and_twins(queries, scores)
        for _ in range(times):
            noise = -np.log(-np.log(self.draws.uniform(rank)))
            cells, changes = neighbours(self.measure, queries, scores + self.surrogate.noise * noise)
            table[cells] += changes / times
        sizes = np.bincount(twin, minlength=queries.n_docs)
        average_over_twins(table, pairs.below, pairs.stop, pairs.start, twin, sizes)
        self.table[:] = table


def neighbours(measure: Measure, queries: Queries, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries of neighbours of different relevance in a table of pairs, and their |ΔE|."""
    pairs, y = pair_table(queries), queries.relevance
    ranking, place = strict_ranking(queries, scores)
    first, second = ranking[:-1], ranking[1:]
    differ = (place[second] == place[first] + 1) & (y[first] != y[second])
    first, second = first[differ], second[differ]
    winner, loser = np.where(y[first] > y[second], (first, second), (second, first))
    cells = pairs.start[winner] + loser - pairs.below[winner]
    if not isinstance(measure, PositionLinear):
        return cells, swap_differences(measure, queries, place)[cells]
    gain, discounts = measure.linear_in_positions(queries)
    drop = discounts[place[first]] - discounts[place[second]]
    return cells, np.abs((gain[winner] - gain[loser]) * drop)


@estimator
class YetiLoss(ReweightedRanker):
    """Logistic loss on neighbours in noisy rankings, weighted by the change of the measure.

    References
    ----------
    .. [1] I. Lyzhin, A. Ustimenko, A. Gulin, L. Prokhorenkova, "Which tricks are important for learning to
       rank?", ICML 2023.
    """

    noise: Annotated[float, "Size of the Gumbel noise, in score units.", ABOVE_0] = 1.0
    permutations: Annotated[int, "Number of noisy rankings of each query in each round.", FROM_1] = 10
    rounds: ReweightedRounds = 50
    max_iterations: ShortRun = 10

    def _loss(self, measure):
        return NoisyNeighbours(measure, permutations=self.permutations, noise=self.noise, seed=self._seed())
