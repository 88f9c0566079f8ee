"""RankCosine: the cosine distance between scores and relevance, minimised by L-BFGS."""

import math
from typing import Annotated

import numpy as np

from directrank.contracts import Curvature, Surrogate, ValueAndGradient
from directrank.data import Queries
from directrank.errors import check_choice
from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.parameters import Gain, MaxIterations, estimator, positional
from directrank.estimators.starts import Start, initial_coefficients
from directrank.kernels.compile import kernel
from directrank.measures.dcg import gains_of
from directrank.scorers import Linear
from directrank.solvers import LBFGS
from directrank.surrogates.oracles import KernelOracles

SUPERVISIONS = {"relevance": "linear", "gain": "exponential"}
# The first step of L-BFGS has length 1: it turns coefficients of this length, whose scale is free, by 6°.
START_LENGTH = 10.0


class CosineDistance(Surrogate):
    r"""RankCosine's loss: half the cosine distance between scores and supervision.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the cosine 4/5:

    >>> loss, scores = CosineDistance().on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (0.1, [-0.12, 0.06, 0.0])

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

    offers = frozenset({ValueAndGradient, Curvature})
    is_bound, is_convex, is_smooth = False, False, True

    def __init__(self, supervision: str = "relevance"):
        check_choice("supervision", supervision, SUPERVISIONS)
        self.supervision = self.variant = supervision

    def on(self, queries: Queries, weights: np.ndarray) -> KernelOracles:
        """Return the oracles on some queries, each with a weight."""
        truth = gains_of(queries, SUPERVISIONS[self.supervision])
        return KernelOracles(cosines, cosine_curvatures, truth, queries.indptr, weights)


@kernel
def cosines(scores, truth, indptr, weights, gradient):
    """RankCosine: Σ_q w_q (1 − cos(s, g)) / 2."""
    total = 0.0
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            s, y, g = scores[a:b], truth[a:b], gradient[a:b]
            along, long, longest = _products(s, y)
            scale = 1.0 / math.sqrt(long * longest) if long > 0.0 else 1.0 / longest
            total += 0.5 * weights[q] * (1.0 - along * scale)
            back = along * scale / long if long > 0.0 else 0.0
            _fill_cosine(s, y, 0.5 * weights[q] * back, -0.5 * weights[q] * scale, g)
    return total


@kernel
def _products(s, y):
    along, long, longest = 0.0, 0.0, 0.0
    for i in range(len(s)):
        x = np.float64(s[i])
        along += x * y[i]
        long += x * x
        longest += y[i] * y[i]
    return along, long, longest


@kernel
def _fill_cosine(s, y, of_scores, of_truth, g):
    for i in range(len(s)):
        g[i] = of_scores * np.float64(s[i]) + of_truth * y[i]


@kernel
def cosine_curvatures(scores, truth, indptr, weights, out):
    """RankCosine: w_q / √3 |s|², above the second derivative for every g; |g| for |s| at zero scores."""
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            _, long, longest = _products(scores[a:b], truth[a:b])
            out[a:b] = weights[q] / (math.sqrt(3.0) * (long if long > 0.0 else longest))


@estimator
class RankCosine(LinearRanker):
    """Cosine distance between scores and relevance.

    There is no penalty, as the scale of scores is free. The best iterate by the selection measure is the
    model.

    References
    ----------
    .. [1] T. Qin, X.-D. Zhang, M.-F. Tsai, D.-S. Wang, T.-Y. Liu, H. Li, "Query-level loss functions for
       information retrieval", Information Processing and Management 44, 2008.
    """

    supervision: Annotated[
        Gain, "The vector to which scores should be parallel: relevance y, or 2^y − 1."
    ] = positional(default="relevance")
    start: Start = "regression"
    max_iterations: MaxIterations = 100

    def components(self):
        """Return the cosine distance, and L-BFGS."""
        solver = LBFGS(penalty=0.0, max_iterations=self.max_iterations, keep="best")
        return CosineDistance(self.supervision), solver, Linear()

    def _initial_scorer(self, scorer, request, scaling):
        start = initial_coefficients(request, scaling)
        if start is not None and start.any():
            start = start * (START_LENGTH / np.linalg.norm(start))
        return Linear(start)
