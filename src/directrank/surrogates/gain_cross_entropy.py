"""Cross entropy with the share of each document in the gain: XE-NDCG."""

from typing import Any

import numpy as np

from directrank.contracts import Curvature, Reweighable, Surrogate, ValueAndGradient
from directrank.data.queries import Queries
from directrank.measures.dcg import NDCG
from directrank.surrogates.bound import BoundKernel
from directrank.surrogates.draws import Draws, but_for_rounding
from directrank.surrogates.exchange.tables import strict_ranking, ties
from directrank.surrogates.listwise_kernels import cross_entropies, cross_entropy_curvatures


class GainCrossEntropy(Surrogate):
    r"""XE-NDCG: cross entropy of the softmax of the scores with the documents' shares in the gain.

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

    def bind(self, queries: Queries, weights: np.ndarray) -> BoundKernel:
        """Bind to some queries with a weight each."""
        if self.gamma == "uniform":
            return BoundDrawn(queries, weights, self.seed or 0)
        target = shares(queries, np.full(queries.n_docs, float(self.gamma)))
        return BoundKernel(cross_entropies, cross_entropy_curvatures, target, queries.indptr, weights)


class BoundDrawn(BoundKernel):
    """The oracles of `GainCrossEntropy` on some queries, with γ drawn anew at each call of `reweigh`."""

    arguments: tuple[Any, ...]

    def __init__(self, queries: Queries, weights: np.ndarray, seed: int):
        super().__init__(cross_entropies, cross_entropy_curvatures)
        self.queries, self.weights, self.draws = queries, weights, Draws(queries, seed)
        self.reweigh(np.zeros(queries.n_docs))

    def reweigh(self, scores: np.ndarray) -> None:
        """Draw γ of each document; scores matter only for the order in which numbers are dealt."""
        levels = but_for_rounding(self.queries, scores)
        ranking, rank = strict_ranking(self.queries, levels)
        twin = ties(self.queries, levels, ranking)[1]
        gamma = np.bincount(twin, self.draws.uniform(rank)) / np.maximum(np.bincount(twin), 1)
        self.arguments = (shares(self.queries, gamma[twin]), self.queries.indptr, self.weights)


def shares(queries: Queries, gamma: np.ndarray) -> np.ndarray:
    """Return φ, float64 (n_docs,); 0 for a query whose gains are all 0."""
    gain = np.exp2(queries.relevance) - gamma
    total = np.repeat(np.add.reduceat(gain, queries.indptr[:-1]), queries.sizes)
    return np.divide(gain, total, out=np.zeros_like(gain), where=total > 0)
