"""Listwise surrogates that know relevance and scores but no measure: ListNet, ListMLE, RankCosine."""

import numpy as np

from directrank.contracts import Curvature, Surrogate, ValueAndGradient
from directrank.data.queries import Queries
from directrank.errors import check_choice
from directrank.measures.families.graded_gains import gains_of
from directrank.surrogates.bound import BoundKernel
from directrank.surrogates.listwise_kernels import (
    cosine_curvatures,
    cosines,
    cross_entropies,
    cross_entropy_curvatures,
    likelihood_curvatures,
    likelihoods,
    softmax_of_segments,
)

SUPERVISIONS = {"relevance": "linear", "gain": "exponential"}


class _Supervised(Surrogate):
    """A listwise surrogate that compares scores with relevance, or with its gain."""

    offers = frozenset({ValueAndGradient, Curvature})

    def __init__(self, supervision: str = "relevance"):
        check_choice("supervision", supervision, SUPERVISIONS)
        self.supervision = self.variant = supervision


class SoftmaxCrossEntropy(_Supervised):
    r"""ListNet's loss: the cross entropy of top-one probabilities.

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

    is_bound, is_convex, is_smooth = False, True, True

    def bind(self, queries: Queries, weights: np.ndarray) -> BoundKernel:
        """Bind to some queries with a weight each."""
        truth = gains_of(queries, SUPERVISIONS[self.supervision])
        target = queries.cached(
            ("softmax", self.supervision), lambda: softmax_of_segments(truth, queries.indptr)
        )
        return BoundKernel(cross_entropies, cross_entropy_curvatures, target, queries.indptr, weights)


class PlackettLuce(Surrogate):
    r"""ListMLE's loss: minus the log likelihood of the ranking by relevance under the Plackett-Luce model.

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

    def bind(self, queries: Queries, weights: np.ndarray) -> BoundKernel:
        """Bind to some queries with a weight each."""
        return BoundKernel(likelihoods, likelihood_curvatures, queries.relevance, queries.indptr, weights)


class CosineDistance(_Supervised):
    r"""RankCosine's loss: half the cosine distance between scores and supervision.

    .. math:: \frac{1}{2} \left( 1 - \frac{g \cdot s}{|g| \, |s|} \right) \in [0, 1]

    Scores that are all zero have no angle: their value is 1/2, and their gradient is defined as −g / 2|g|²,
    so that a search can begin there.

    Parameters
    ----------
    supervision : {"relevance", "gain"}, default="relevance"
        What g is: relevance y, or :math:`2^y - 1`.

    Traits
    ------
    bound: no. convex: no. smooth: yes (but at zero scores). shift-invariant in scores: no, scale-invariant.

    Notes
    -----
    The value does not depend on the scale of the scores, so a penalty on the coefficients only drives them to
    zero: train without one. One evaluation costs O(n) per query.

    With :math:`u = s / |s|` the second derivative with respect to :math:`s_i` is at most
    :math:`\sqrt{(1 - u_i^2)(1 + 3 u_i^2)} / 2|s|^2`, whatever g is. The curvature is the largest value of
    that, :math:`1 / \sqrt 3 |s|^2`, with :math:`|g|` for :math:`|s|` at zero scores.

    References
    ----------
    .. [1] T. Qin, X.-D. Zhang, M.-F. Tsai, D.-S. Wang, T.-Y. Liu, H. Li, "Query-level loss functions for
       information retrieval", Information Processing and Management 44, 2008.
    """

    is_bound, is_convex, is_smooth = False, False, True

    def bind(self, queries: Queries, weights: np.ndarray) -> BoundKernel:
        """Bind to some queries with a weight each."""
        truth = gains_of(queries, SUPERVISIONS[self.supervision])
        return BoundKernel(cosines, cosine_curvatures, truth, queries.indptr, weights)
