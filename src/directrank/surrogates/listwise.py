"""Listwise surrogates that know relevance and scores but no measure: ListNet, ListMLE, XE-NDCG."""

import math
from typing import Any

import numpy as np

from directrank.contracts import Curvature, Reweighable, Surrogate, ValueAndGradient
from directrank.data.queries import Queries
from directrank.errors import check_choice
from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import LARGEST_EXPONENT, exponential, extremes
from directrank.measures.dcg import NDCG, gains_of
from directrank.surrogates.draws import Draws
from directrank.surrogates.exchange.tables import ranks_and_twins
from directrank.surrogates.oracles import KernelOracles, means_of_alike

SUPERVISIONS = {"relevance": "linear", "gain": "exponential"}


class SoftmaxCrossEntropy(Surrogate):
    r"""ListNet's loss: the cross entropy of top-one probabilities.

    Documents of grades 2, 1 and 0 have the shares .665, .245 and .09. Those of the scores 1, 2 and 0 are
    .245, .665 and .09, and the gradient is the difference:

    >>> loss, scores = SoftmaxCrossEntropy().on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (1.2529, [-0.4205, 0.4205, 0.0])

    .. math:: -\sum_i P_y(i) \log P_s(i), \qquad P_s(i) = \frac{e^{s_i}}{\sum_j e^{s_j}}

    and :math:`P_y` the same of the supervision.

    Parameters
    ----------
    supervision : {"relevance", "gain"}, default="relevance"
        What :math:`P_y` is made of: relevance y, as in the paper, or :math:`2^y - 1`.

    Traits
    ------
    bound: no. convex: yes. smooth: yes. shift-invariant in scores: yes.

    Notes
    -----
    The gradient is :math:`P_s - P_y`, and the curvature :math:`P_s (1 - P_s)`. One evaluation costs O(n) per
    query.

    References
    ----------
    .. [1] Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, "Learning to rank: from pairwise approach to listwise
       approach", ICML 2007.
    """

    offers = frozenset({ValueAndGradient, Curvature})
    is_bound, is_convex, is_smooth = False, True, True

    def __init__(self, supervision: str = "relevance"):
        check_choice("supervision", supervision, SUPERVISIONS)
        self.supervision = self.variant = supervision

    def on(self, queries: Queries, weights: np.ndarray) -> KernelOracles:
        """Return the oracles on some queries, each with a weight."""
        truth = gains_of(queries, SUPERVISIONS[self.supervision])
        target = queries.cached(
            ("softmax", self.supervision), lambda: softmax_of_segments(truth, queries.indptr)
        )
        return KernelOracles(cross_entropies, cross_entropy_curvatures, target, queries.indptr, weights)


class PlackettLuce(Surrogate):
    r"""ListMLE's loss: minus the log likelihood of the ranking by relevance under the Plackett-Luce model.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 are chosen in this order with the probability
    .2447 · .8808, of which the value is minus the logarithm:

    >>> loss, scores = PlackettLuce().on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (1.5345, [-0.7553, 0.546, 0.2092])

    .. math:: \sum_k \Bigl[ \log \sum_{l \ge k} e^{s_{(l)}} - s_{(k)} \Bigr]

    (k) being the document at rank k. Documents of one relevance come in no particular order: of m of them,
    the one ranked after j others competes with the expected sum of those not yet ranked, that is, with the
    share 1 − j/m of each of the m. So neither chance nor the order of rows matters. The value is at least the
    mean of the paper's over all orders of equal documents, and equal to it if there are none, or if they have
    equal scores.

    Traits
    ------
    bound: no. convex: yes. smooth: yes. shift-invariant in scores: yes.

    Notes
    -----
    With the probability :math:`P_k(i)` that document i is chosen at rank k, the curvature is
    :math:`\sum_k P_k(i) (1 - P_k(i))`. One evaluation costs O(n) per query.

    References
    ----------
    .. [1] F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise approach to learning to rank: theory and
       algorithm", ICML 2008.
    .. [2] B. Efron, "The efficiency of Cox's likelihood function for censored data", JASA 72, 1977 (ties).
    """

    offers = frozenset({ValueAndGradient, Curvature})
    is_bound, is_convex, is_smooth = False, True, True

    def on(self, queries: Queries, weights: np.ndarray) -> KernelOracles:
        """Return the oracles on some queries, each with a weight."""
        return KernelOracles(likelihoods, likelihood_curvatures, queries.relevance, queries.indptr, weights)


# Factors, each between 1/n and n, of the products whose logarithms are taken.
FACTORS = 16


def softmax_of_segments(truth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return the softmax of each query's values, float64 (n_docs,)."""
    sizes = np.diff(indptr)
    shifted = np.exp(truth - np.repeat(np.maximum.reduceat(truth, indptr[:-1]), sizes))
    return shifted / np.repeat(np.add.reduceat(shifted, indptr[:-1]), sizes)


@kernel
def cross_entropies(scores, target, indptr, weights, gradient):
    """ListNet: Σ_q w_q Σ_i −t_i log softmax(s)_i; `target` sums to 1 in each query."""
    total = 0.0
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            s, t, g = scores[a:b], target[a:b], gradient[a:b]
            top = np.float64(extremes(s)[1])
            mass = _fill_exponentials(s, top, g)
            total += weights[q] * (math.log(mass) + _expected_shortfall(s, top, t))
            _subtract_target(g, t, weights[q], weights[q] / mass)
    return total


@kernel
def cross_entropy_curvatures(scores, target, indptr, weights, out):
    """ListNet: w_q P (1 − P), with P = softmax(s)."""
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            s, c = scores[a:b], out[a:b]
            mass = _fill_exponentials(s, np.float64(extremes(s)[1]), c)
            for i in range(len(c)):
                x = np.float64(c[i])
                c[i] = weights[q] * (x / mass) * (max(mass - x, 0.0) / mass)


@kernel
def _fill_exponentials(s, top, e):
    total = 0.0
    for i in range(len(s)):
        x = exponential(max(np.float64(s[i]) - top, -LARGEST_EXPONENT))
        e[i] = x
        total += x
    return total


@kernel
def _expected_shortfall(s, top, t):
    total = 0.0
    for i in range(len(s)):
        total += t[i] * (top - np.float64(s[i]))
    return total


@kernel
def _subtract_target(g, t, weight, scale):
    for i in range(len(g)):
        g[i] = g[i] * scale - weight * t[i]


@kernel
def likelihoods(scores, relevance, indptr, weights, gradient):
    """ListMLE: the weighted sum over queries; documents of one relevance are ranked in expectation."""
    total = 0.0
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            total += weights[q] * _likelihood(scores[a:b], relevance[a:b], weights[q], gradient[a:b])
    return total


@kernel
def _blocks(s, y, e, start_of, tops, below, masses):
    # The loop runs from the last rank up, so that it knows the mass below each block of equal relevance.
    # Masses are in units of e^top, top being the largest score so far. Return the number of blocks.
    top, lower, stop, blocks = np.float64(s[len(s) - 1]), 0.0, len(s), 0
    while stop > 0:
        start = stop - 1
        while start > 0 and y[start - 1] == y[start]:
            start -= 1
        higher = max(top, np.float64(extremes(s[start:stop])[1]))
        lower *= exponential(max(top - higher, -LARGEST_EXPONENT))
        top = higher
        start_of[blocks], tops[blocks], below[blocks] = start, top, lower
        masses[blocks] = _fill_exponentials(s[start:stop], top, e[start:stop])
        lower += masses[blocks]
        blocks += 1
        stop = start
    return blocks


@kernel
def _likelihood(s, y, weight, g):
    # `inverse` and `shares` hold, for each block, the sums of 1/D and of (1 − j/m)/D over its ranks, with
    # D = below + (1 − j/m) block.
    n, value = len(s), 0.0
    start_of, tops, below, masses = np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
    inverse, shares = np.empty(n), np.empty(n)
    blocks, stop = _blocks(s, y, g, start_of, tops, below, masses), n
    for block in range(blocks):
        start = start_of[block]
        logs, inverse[block], shares[block] = _ranks(below[block], masses[block], stop - start)
        value += logs
        for x in s[start:stop]:
            value += tops[block] - np.float64(x)
        stop = start
    _spread(g, start_of[:blocks], tops, inverse, shares, weight)
    return value


@kernel
def _ranks(below, mass, m):
    logs, inverse, shares, product, factors = 0.0, 0.0, 0.0, 1.0, 0
    for j in range(m):
        share = 1.0 - j / m
        competing = below + share * mass
        inverse += 1.0 / competing
        shares += share / competing
        product *= competing
        factors += 1
        if factors == FACTORS:
            logs += math.log(product)
            product, factors = 1.0, 0
    return logs + math.log(product), inverse, shares


@kernel
def _spread(g, start_of, tops, inverse, shares, weight):
    # The loop runs from the first rank down: a document competes at the ranks of its block and all before it.
    stop, above, top = len(g), 0.0, tops[len(start_of) - 1]
    for block in range(len(start_of) - 1, -1, -1):
        start = start_of[block]
        stop = start_of[block - 1] if block > 0 else len(g)
        above *= exponential(max(tops[block] - top, -LARGEST_EXPONENT))
        top = tops[block]
        pull = weight * (above + shares[block])
        for i in range(start, stop):
            g[i] = g[i] * pull - weight
        above += inverse[block]


@kernel
def likelihood_curvatures(scores, relevance, indptr, weights, out):
    """ListMLE: w_q Σ_k P_k(i) (1 − P_k(i)) over the ranks k at which document i competes."""
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            _likelihood_curvature(scores[a:b], relevance[a:b], weights[q], out[a:b])


@kernel
def _likelihood_curvature(s, y, weight, out):
    n, e = len(s), np.empty(len(s))
    start_of, tops, below, masses = np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
    blocks = _blocks(s, y, e, start_of, tops, below, masses)
    # Sums over the ranks of blocks above of 1/D and 1/D², in units of 1/e^top and its square.
    first, second, top = 0.0, 0.0, tops[blocks - 1]
    for block in range(blocks - 1, -1, -1):
        start, stop = start_of[block], start_of[block - 1] if block > 0 else n
        unit = exponential(max(tops[block] - top, -LARGEST_EXPONENT))
        first, second, top = first * unit, second * unit * unit, tops[block]
        m, more, squares, shares, share_squares = stop - start, 0.0, 0.0, 0.0, 0.0
        for j in range(m):
            share = 1.0 - j / m
            inverse = 1.0 / (below[block] + share * masses[block])
            more += inverse
            squares += inverse * inverse
            shares += share * inverse
            share_squares += (share * inverse) * (share * inverse)
        for i in range(start, stop):
            chosen = e[i] * (first + shares) - e[i] * e[i] * (second + share_squares)
            out[i] = weight * max(chosen, 0.0)
        first += more
        second += squares


class GainCrossEntropy(Surrogate):
    r"""XE-NDCG: cross entropy of the softmax of the scores with the documents' shares in the gain.

    Documents of grades 2, 1 and 0 have 3/4, 1/4 and 0 of the gain. The shares of the scores 1, 2 and 0 are
    .245, .665 and .09, and the gradient is the difference:

    >>> loss = GainCrossEntropy(gamma=1.0).on(one_query([2, 1, 0]), np.ones(1))
    >>> scores = np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (1.1576, [-0.5053, 0.4152, 0.09])

    .. math:: -\sum_i \varphi_i \log \frac{e^{s_i}}{\sum_j e^{s_j}}, \qquad
        \varphi_i = \frac{2^{y_i} - \gamma_i}{\sum_j (2^{y_j} - \gamma_j)}

    Parameters
    ----------
    gamma : float in [0, 1] or "uniform", default=0.5
        γ, the same for all documents. At 1 the shares are those of nDCG's gains; below, every document has
        a share. Or numbers drawn from [0, 1] for each document, anew at each call of `Reweighable`: the
        paper's way to train trees.
    seed : int, default=0
        Of what is drawn.

    Raises
    ------
    ValueError
        If γ is not in [0, 1].

    Traits
    ------
    bound: yes, for one γ; for drawn ones of whole grades, as far as was tried. convex: yes. smooth: yes.
    shift-invariant in scores: yes.

    Notes
    -----
    With :math:`\rho_i`, the softmax, :math:`1/\log_2(1 + \pi_i) \ge 1/\pi_i \ge \rho_i`, so that at γ = 1 the
    value is at least :math:`-\log \mathrm{nDCG} \ge 1 - \mathrm{nDCG}`. For other γ it is the mean, weighted
    by the shares of gains and of 1 − γ, of that and of the cross entropy with equal shares, which is at least
    log n.

    The expected value is least where :math:`s_i = \log E \varphi_i` up to a constant. That orders documents
    best for nDCG if the grades of a query are always the same in another order, as for one click a query, but
    not in general: nDCG divides by the ideal and φ by the sum of gains.

    The gradient is :math:`\rho_i - \varphi_i`, exactly; the curvature is :math:`\rho_i (1 - \rho_i)`.

    References
    ----------
    .. [1] S. Bruch, "An alternative cross entropy loss for learning-to-rank", WWW 2021 (arXiv 1911.09798).
    """

    offers = frozenset({ValueAndGradient, Curvature, Reweighable})
    is_bound, is_convex, is_smooth = True, True, True

    def __init__(self, gamma: float | str = 0.5, *, seed: int = 0):
        drawn = isinstance(gamma, str)
        if gamma != "uniform" if drawn else not 0 <= gamma <= 1:
            raise ValueError(f'gamma must be a number from 0 to 1, or "uniform", not {gamma!r}')
        self.gamma, self.seed, self.measure = gamma, seed if drawn else None, NDCG()
        self.variant = f"gamma={gamma}"
        if drawn:
            self.requires = frozenset({Reweighable})
        else:
            self.offers = self.offers - {Reweighable}

    def on(self, queries: Queries, weights: np.ndarray) -> KernelOracles:
        """Return the oracles on some queries, each with a weight."""
        if self.gamma == "uniform":
            return _DrawnOracles(queries, weights, self.seed or 0)
        target = shares(queries, np.full(queries.n_docs, float(self.gamma)))
        return KernelOracles(cross_entropies, cross_entropy_curvatures, target, queries.indptr, weights)


class _DrawnOracles(KernelOracles):
    """The oracles of `GainCrossEntropy` on some queries, with γ drawn anew at each call of `reweigh`."""

    arguments: tuple[Any, ...]

    def __init__(self, queries: Queries, weights: np.ndarray, seed: int):
        super().__init__(cross_entropies, cross_entropy_curvatures)
        self.queries, self.weights, self.draws = queries, weights, Draws(queries, seed)
        self.reweigh(np.zeros(queries.n_docs))

    def reweigh(self, scores: np.ndarray) -> None:
        """Draw γ of each document; scores matter only for the order in which numbers are dealt."""
        rank, twin = ranks_and_twins(self.queries, scores)
        gamma = means_of_alike(self.draws.uniform(rank), twin)
        self.arguments = (shares(self.queries, gamma), self.queries.indptr, self.weights)


def shares(queries: Queries, gamma: np.ndarray) -> np.ndarray:
    """Return φ, float64 (n_docs,); 0 for a query whose gains are all 0."""
    gain = np.exp2(queries.relevance) - gamma
    total = np.repeat(np.add.reduceat(gain, queries.indptr[:-1]), queries.sizes)
    return np.divide(gain, total, out=np.zeros_like(gain), where=total > 0)
