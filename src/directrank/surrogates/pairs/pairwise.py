"""Losses on the pairs of documents of different relevance: preorder, RankSVM, RankNet."""

import numpy as np

from directrank.data.queries import Queries
from directrank.oracles import HessianVector, ValueAndGradient
from directrank.surrogates.margins import Hinge, Margin, pair_margin
from directrank.surrogates.pairs.bound import BoundPairs, WeightedPairs
from directrank.surrogates.pairs.grade_weights import GradeWeight, SwapDrop


def gain_difference(better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """Return the difference of the exponential gains of two grades, 2^y − 2^y'."""
    return np.exp2(better) - np.exp2(worse)


class Pairwise(WeightedPairs):
    r"""The preorder loss: a margin on each pair of documents of different relevance.

    .. math:: \sum_{i, j : y_i > y_j} w(y_i, y_j)\, \varphi(s_i - s_j)

    Parameters
    ----------
    margin : {"huber", "squared_hinge", "logistic"} or Margin, default="huber"
        φ; logistic to base e.
    width : float, default=0.5
        Of the Huber margin, in score units.
    normalise : bool, default=False
        Divide the sum of each query by its number of pairs [2]_.
    weight : callable or SwapDrop, optional
        w(y, y') ≥ 0 of arrays of grades, such as `gain_difference`, or estimated from the training queries; 1
        by default.

    Traits
    ------
    bound: no (of a rate of wrong pairs only). convex: yes. smooth: yes. shift-invariant: yes.

    Notes
    -----
    The documents of a grade are one segment: O(number of pairs) in vectorised loops, O(G n log n) for long
    lists of G grades.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, Eqs. (5) and (14).
    .. [2] Y. Cao et al., "Adapting ranking SVM to document retrieval", SIGIR 2006.
    """

    offers = frozenset({ValueAndGradient, HessianVector})
    is_bound, is_convex, is_smooth = False, True, True

    def __init__(
        self,
        *,
        margin: str | Margin = "huber",
        width: float = 0.5,
        normalise: bool = False,
        weight: GradeWeight | SwapDrop | None = None,
    ):
        self.margin, self.normalise, self.weight = pair_margin(margin, width), normalise, weight
        self.variant = self.margin.name + (", normalised" if normalise else "")
        if isinstance(self.margin, Hinge):
            raise TypeError("the hinge has a corner and no second derivative: use PairwiseHinge")

    def bind(self, queries: Queries, weights: np.ndarray) -> BoundPairs:
        """Bind to some queries with a weight each.

        Raises
        ------
        ValueError
            If a pair of grades has a negative weight.
        """
        return self.bound_to(queries, weights, self.margin)
