"""The order-preserving loss of Buffoni et al., consistent with every measure that has a standard form."""

import numpy as np

from directrank.contracts import (
    Curvature,
    GradientKernel,
    HessianVector,
    Measure,
    Surrogate,
    ValueAndGradient,
)
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.measures.average_precision import AP
from directrank.measures.capabilities import Standardised
from directrank.measures.err import ERR
from directrank.surrogates.margins import Margin, pair_margin
from directrank.surrogates.pairs.hinges import SmoothHingeOracles


class OrderPreserving(Surrogate):
    r"""A margin on all pairs of documents, weighted by the standardised supervision of the first.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the value .8262 (φ(−1) + φ(1)) + .2754
    (φ(1) + φ(2)) with φ(−1) = 2, φ(1) = 1/8 and φ(2) = 0:

    >>> loss, scores = OrderPreserving(NDCG()).on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (1.7902, [-1.1016, 0.6885, 0.4131])

    .. math:: \Phi(s, r(y)) = \sum_i r_i(y) \sum_{j \ne i} \varphi(s_i - s_j)

    Being linear in the supervision r, it keeps its form in expectation, and its minimiser orders documents by
    the expectation of r, which is the best order for the measure.

    Parameters
    ----------
    measure : Standardised
        A measure with a standard form r(y): DCG, nDCG, WPD, ZeroOne.
    margin : {"huber", "squared_hinge"} or Margin, default="huber"
        φ. It must be flat from some point on, or minimisers lie at infinity.
    width : float, default=0.5
        Of the Huber margin, in score units.
    normalise : bool, default=False
        Divide the sum of each query by n(n − 1), its number of pairs. A factor that does not depend on
        relevance changes nothing about consistency.

    Raises
    ------
    TypeError
        If the measure has no standard form; AP and ERR provably have none.

    Traits
    ------
    bound: yes, of measures in [0, 1], unless `normalise`. convex: yes. smooth: yes. shift-invariant: yes.

    Notes
    -----
    O(n R) per query, R documents with r > 0; O(n log n) for long lists (see
    `directrank.surrogates.pairs.hinges`). Documents of equal relevance attract each other; queries of one
    grade are skipped.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, Eqs. (6) and (8), Theorems 1-3.
    """

    offers = frozenset({ValueAndGradient, Curvature, GradientKernel, HessianVector})
    is_bound, is_convex, is_smooth = True, True, True

    def __init__(
        self,
        measure: Measure,
        *,
        margin: str | Margin = "huber",
        width: float = 0.5,
        normalise: bool = False,
    ):
        if not isinstance(measure, Standardised):
            if isinstance(measure, (AP, ERR)):
                raise TypeError(
                    f"no order-preserving loss is consistent with {measure.name}: it has no standardisation "
                    "function (Buffoni et al. 2011, Theorem 3). Use nDCG, DCG, WPD or ZeroOne here, or "
                    f"approximate {measure.name} itself by SmoothedPositions"
                )
            raise TypeError(
                f"OrderPreserving needs a measure with supervision; {measure.name} has none. "
                "DCG, nDCG, WPD and ZeroOne have."
            )
        self.measure, self.margin, self.normalise = measure, pair_margin(margin, width), normalise
        if not self.margin.squares:
            raise ValueError(
                f"the {self.margin.name} margin has a corner or is flat nowhere, but order-preserving losses "
                "need a smooth one that becomes flat (Buffoni et al. 2011, Theorem 1); use 'huber' or "
                "'squared_hinge'"
            )
        if normalise:
            self.is_bound, self.variant = False, "normalised"

    def on(self, queries: Queries, weights: np.ndarray) -> SmoothHingeOracles:
        """Return the oracles on some queries, each with a weight.

        Raises
        ------
        DataError
            If the standard form is negative somewhere.
        """
        strength = np.ascontiguousarray(self.measure.supervision(queries), np.float64)
        if strength.size and strength.min() < 0:
            raise DataError(
                f"the standardised supervision of {self.measure.name} is negative; it must be ≥ 0"
            )
        if self.normalise:
            weights = weights / np.maximum(queries.sizes * (queries.sizes - 1.0), 1.0)
        used = np.flatnonzero((weights > 0) & (queries.sizes > 1))
        start, stop = queries.indptr[used], queries.indptr[used + 1]
        # The row after the last document with r > 0 of each query; its first row if there is none.
        positive = np.where(strength > 0, np.arange(1, len(strength) + 1), 0)
        last = np.maximum(np.maximum.accumulate(positive)[queries.indptr[1:] - 1], queries.indptr[:-1])
        runs = np.stack((start, last[used], start, stop), axis=1)
        # The sum of a query must not depend on the queries before it, which are others in each shard.
        total = np.bincount(queries.query, strength, queries.n_queries)
        of_itself = np.zeros(queries.n_queries)
        of_itself[used] = weights[used] * total[used]  # φ(0) = 1
        return SmoothHingeOracles(runs, weights[used], self.margin, queries, strength, of_itself)
