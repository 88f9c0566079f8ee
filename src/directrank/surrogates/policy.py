"""The expected measure of rankings drawn by the scores, by the Plackett-Luce model: PL-Rank."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from directrank.contracts import Curvature, Measure, Reweighable, Surrogate, ValueAndGradient
from directrank.data.grouping import checked_qid, group_rows
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import LARGEST_EXPONENT, exponential
from directrank.measures import values_of
from directrank.measures.capabilities import PositionLinear
from directrank.surrogates.draws import Draws
from directrank.surrogates.exchange.tables import ranks_and_twins, strict_ranking
from directrank.surrogates.oracles import means_of_alike


class PolicyMeasure(Surrogate):
    r"""PL-Rank: the fall of the expected measure of rankings that the Plackett-Luce model draws.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have an expected nDCG of .8089:

    >>> loss = PolicyMeasure(NDCG(), samples=2_000).on(one_query([2, 1, 0]), np.ones(1))
    >>> scores = np.array([1.0, 2.0, 0.0])
    >>> loss.reweigh(scores)
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 2), gradient.round(2).tolist()
    (0.19, [-0.06, 0.03, 0.03])

    .. math:: 1 - V(s), \qquad V(s) = E_\pi [E(\pi)], \qquad
        p(\pi) = \prod_k \frac{e^{s_{\pi_k}}}{\sum_{l \ge k} e^{s_{\pi_l}}}

    :math:`\pi_k` being the document at rank k. The oracle `Reweighable` draws rankings at some scores
    :math:`\bar s`, and estimates V with its gradient g and a curvature c. Until the next call the surrogate
    is the quadratic function

    .. math:: 1 - V - g \cdot \delta + \tfrac12 \sum_i c_i (\delta_i - m)^2, \qquad \delta = s - \bar s,
        \quad m = \frac{\sum c_i \delta_i}{\sum c_i}

    which is convex. Until the first call :math:`\bar s` is 0.

    Parameters
    ----------
    measure : Measure
        Any.
    samples : int, default=32
        The rankings of each query that are drawn.
    seed : int, default=0
        Of the random numbers, which are the same at each call and belong to ranks: equal scores have an equal
        gradient. Were they to belong to documents, training would fit them: on raw web features AP is then
        .04 to .06 lower.

    Raises
    ------
    ValueError
        If `samples` is less than 2.

    Traits
    ------
    bound: no. convex: yes. smooth: yes. shift-invariant: yes.

    Notes
    -----
    The gradient is unbiased. For measures that are a sum over documents of a gain times a discount of the
    rank it is PL-Rank-3, whose cost is that of sorting [1]_, with what the measure gains below a rank less
    the mean of that over the other rankings; its sum over a query, which is 0 in expectation, is taken away.
    For other measures it is the derivative of the logarithm of the probability of a ranking, times the
    difference of the measure to its mean over the other rankings.

    The curvature of document i is :math:`E[\sum_k P_k(i) (1 - P_k(i)) w_{ik}]`, with the chance
    :math:`P_k(i)` to be chosen at rank k, and the most that the choice between i and the document there can
    change the measure, the sum of their gains times the discount; or that difference to the mean. It is not
    the second derivative, which may be negative.

    References
    ----------
    .. [1] H. Oosterhuis, "Learning-to-rank at the speed of sampling: Plackett-Luce gradient estimation with
       minimal computational complexity", SIGIR 2022.
    """

    offers = frozenset({ValueAndGradient, Curvature, Reweighable})
    requires = frozenset({Reweighable})
    is_bound, is_convex, is_smooth = False, True, True

    def __init__(self, measure: Measure, *, samples: int = 32, seed: int = 0):
        if samples < 2:
            raise ValueError(f"samples must be 2 or more, not {samples}")
        self.measure, self.samples, self.seed = measure, int(samples), seed

    def on(self, queries: Queries, weights: np.ndarray) -> "_PolicyOracles":
        """Return the oracles on some queries, each with a weight."""
        return _PolicyOracles(self, queries, weights)

    def gains(
        self, queries: Queries, gain: np.ndarray, discounts: np.ndarray, exposure: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """Return the gains that move the policy: those of the measure, a sum of gains times discounts.

        `exposure` returns the mean discount of each document in the rankings that the policy drew.
        """
        return gain


class _PolicyOracles:
    """The oracles of `PolicyMeasure` on some queries."""

    def __init__(self, surrogate: PolicyMeasure, queries: Queries, weights: np.ndarray):
        self.surrogate, self.queries, self.weights = surrogate, queries, weights
        self._draw_at(np.zeros(queries.n_docs))

    def reweigh(self, scores: np.ndarray) -> None:
        """Draw rankings at these scores, and estimate the expected measure with its derivatives there."""
        # Most fits start at 0, where the rankings are drawn already.
        if scores.any() or self.at.any():
            self._draw_at(scores)

    def _draw_at(self, scores: np.ndarray) -> None:
        queries, measure, samples = self.queries, self.surrogate.measure, self.surrogate.samples
        n, indptr = queries.n_docs, queries.indptr
        gradient, curvature = np.zeros(n), np.zeros(n)
        # Only their rows tell documents of one score and one relevance apart: they share what is estimated,
        # and the mean of scores that differ by rounding.
        rank, twin = ranks_and_twins(queries, scores)
        at = means_of_alike(scores, twin)
        drawn = list(rankings(queries, at, rank, samples, self.surrogate.seed or 0))
        if isinstance(measure, PositionLinear):
            gain, discounts = measure.linear_in_positions(queries)
            gain = self.surrogate.gains(
                queries, gain, discounts,
                lambda: means_of_alike(np.mean([discounts[place] for _, place in drawn], axis=0), twin),
            )  # fmt: skip
            rewards = np.empty((samples, n))
            for (ranking, _), reward in zip(drawn, rewards, strict=True):
                rewards_from(ranking, gain, discounts, indptr, reward)
            together = rewards.sum(axis=0)
            value = together[indptr[:-1]] / samples
            for (ranking, _), reward in zip(drawn, rewards, strict=True):
                others = (together - reward) / (samples - 1)
                add_placements(ranking, at, gain, discounts, indptr, reward, others, gradient, curvature)
        else:
            values = np.array([values_of([measure], queries, -place.astype(float))[0] for _, place in drawn])
            value = values.mean(axis=0)
            ahead = (values - value) * samples / (samples - 1)
            for (ranking, _), better in zip(drawn, ahead, strict=True):
                add_likelihoods(ranking, at, better, indptr, gradient, curvature)
        of_doc = np.repeat(self.weights, queries.sizes) / samples
        gradient = means_of_alike(gradient, twin) * of_doc
        start = indptr[:-1]
        gradient -= np.repeat(np.add.reduceat(gradient, start) / queries.sizes, queries.sizes)
        self.fall, self.gradient = float(self.weights @ (1.0 - value)), -gradient
        self.second = means_of_alike(curvature, twin) * of_doc
        self.total = np.repeat(np.add.reduceat(self.second, start), queries.sizes)
        self.at = at

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        change = scores - self.at
        moved = np.add.reduceat(self.second * change, self.queries.indptr[:-1])
        mean = np.repeat(moved, self.queries.sizes) / np.where(self.total > 0, self.total, 1.0)
        slope = self.second * (change - mean)
        value = self.fall + float(self.gradient @ change) + 0.5 * float(slope @ (change - mean))
        return value, (self.gradient + slope).astype(scores.dtype)

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        share = self.second / np.where(self.total > 0, self.total, 1.0)
        return *self.value_and_gradient(scores), (self.second * (1.0 - share)).astype(scores.dtype)


def expected_exposure(scores, qid, discounts=None, *, samples: int = 1000, seed: int = 0) -> np.ndarray:
    """Return the expected exposure of documents in rankings that are drawn by the scores.

    Parameters
    ----------
    scores : array of shape (n_docs,)
        Finite.
    qid : array of shape (n_docs,)
        The query of each document, in any order.
    discounts : array of shape (n_ranks,), optional
        The exposure at each rank from the first, 0 beyond; by default 1 / log2(1 + rank) at all ranks.
    samples : int, default=1000
        The rankings of each query that are drawn by the Plackett-Luce model.
    seed : int, default=0
        Of the random numbers. Documents of a query with equal scores have equal exposure.

    Returns
    -------
    ndarray of shape (n_docs,), float64
        In the order of the scores.

    Examples
    --------
    >>> from directrank.surrogates import expected_exposure
    >>> first = expected_exposure([2.0, 0.0, 0.0], ["a", "a", "a"], discounts=[1.0])
    >>> bool(abs(first[0] - 0.787) < 0.03), float(first[1] - first[2])  # e² / (e² + 2)
    (True, 0.0)
    """
    scores = np.asarray(scores, np.float64)
    queries, order = group_rows(np.zeros(len(scores)), checked_qid(qid, len(scores)))
    longest = queries.sizes.max(initial=0)
    seen = 1.0 / np.log2(np.arange(longest) + 2.0)
    if discounts is not None:
        seen = np.append(discounts, np.zeros(longest))[:longest]
    inner, total = scores[order], np.zeros(len(scores))
    rank, twin = ranks_and_twins(queries, inner)
    for _, place in rankings(queries, inner, rank, samples, seed):
        total += seen[place]
    out = np.empty(len(scores))
    out[order] = means_of_alike(total / samples, twin)
    return out


def rankings(
    queries: Queries, scores: np.ndarray, rank: np.ndarray, samples: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rankings that the Plackett-Luce model draws: rows by rank, and the rank of each document from 0.

    Sorting by the scores plus Gumbel noise draws one. `rank` says which noise is a document's.
    """
    draws = Draws(queries, seed)
    for _ in range(samples):
        yield strict_ranking(queries, scores - np.log(-np.log(draws.uniform(rank))))


@kernel
def _logarithms_of_mass(s, out):
    """Fill in the logarithm of the sum of e^s from each rank on."""
    largest, rest = s[len(s) - 1], 0.0
    out[len(s) - 1] = largest
    for k in range(len(s) - 2, -1, -1):
        largest, rest = max(s[k], out[k + 1]), -abs(s[k] - out[k + 1])
        out[k] = largest + math.log1p(exponential(max(rest, -LARGEST_EXPONENT)))


@kernel
def rewards_from(ranking, gain, discounts, indptr, reward):
    """Fill in the measure's part from the rank of each row on, in the order of the ranking."""
    for q in range(len(indptr) - 1):
        below = 0.0
        for at in range(indptr[q + 1] - 1, indptr[q] - 1, -1):
            below += discounts[at - indptr[q]] * gain[ranking[at]]
            reward[at] = below


@kernel
def add_placements(ranking, scores, gain, discounts, indptr, reward, mean, gradient, curvature):
    """Add PL-Rank-3's estimate of the gradient, and a curvature, query by query.

    `mean` has the mean rewards of other rankings; their differences to this one's are smaller than rewards.
    """
    for q in range(len(indptr) - 1):
        first = indptr[q]
        rows = ranking[first : indptr[q + 1]]
        s, logs = scores[rows], np.empty(len(rows))
        _logarithms_of_mass(s, logs)
        # Sums over ranks of 1 / mass and 1 / mass², in units of the mass at the rank and its square.
        ahead, discounted, gained, discounted_2, gained_2 = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(len(rows)):
            i, kept = rows[k], exponential(max(logs[k] - logs[k - 1], -LARGEST_EXPONENT)) if k else 0.0
            document_gain, last = discounts[k] * gain[i], k + 1 == len(rows)
            after = 0.0 if last else reward[first + k + 1] - mean[first + k + 1]
            ahead = ahead * kept + document_gain + after
            discounted, gained = discounted * kept + discounts[k], gained * kept + document_gain
            discounted_2, gained_2 = (
                discounted_2 * kept * kept + discounts[k],
                gained_2 * kept * kept + document_gain,
            )
            chance = exponential(max(s[k] - logs[k], -LARGEST_EXPONENT))
            gradient[i] += after + chance * (gain[i] * discounted - ahead)
            once = gain[i] * discounted + gained
            curvature[i] += max(chance * (once - chance * (gain[i] * discounted_2 + gained_2)), 0.0)


@kernel
def add_likelihoods(ranking, scores, ahead, indptr, gradient, curvature):
    """Add the derivative of the logarithm of a ranking's probability, times `ahead`, and a curvature."""
    for q in range(len(indptr) - 1):
        rows = ranking[indptr[q] : indptr[q + 1]]
        s, logs = scores[rows], np.empty(len(rows))
        _logarithms_of_mass(s, logs)
        once, twice = 0.0, 0.0
        for k in range(len(rows)):
            i, kept = rows[k], exponential(max(logs[k] - logs[k - 1], -LARGEST_EXPONENT)) if k else 0.0
            once, twice = once * kept + 1.0, twice * kept * kept + 1.0
            chance = exponential(max(s[k] - logs[k], -LARGEST_EXPONENT))
            gradient[i] += ahead[q] * (1.0 - chance * once)
            curvature[i] += abs(ahead[q]) * max(chance * (once - chance * twice), 0.0)
