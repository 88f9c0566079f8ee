"""PL-Rank that stays near another ranking, such as the one that logged clicks: PRPO."""

from collections.abc import Callable

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.measures.capabilities import PositionLinear
from directrank.surrogates import PolicyMeasure


class ProximalPolicy(PolicyMeasure):
    r"""PL-Rank that gains nothing from leaving another ranking by more than a ratio: PRPO.

    A document that the policy shows, in expectation, at more than ε times the weight which the other ranking
    gives it, does not gain from its label any more; nor does one of a label below 0 from less than 1/ε times.

    .. math:: V = E_q \left[ \sum_{y_d \ge 0} y_d \min(\omega_d, \varepsilon \, \omega^0_d)
        + \sum_{y_d < 0} y_d \max(\omega_d, \omega^0_d / \varepsilon) \right]

    with the expected weight ω of the rank of a document. Other rules are those of `PolicyMeasure`.

    Parameters
    ----------
    measure : Measure
        A sum of labels, each weighted by the rank of its document.
    scores : array of shape (n_docs,)
        The other ranking, in the order of the rows of the training set. Equal scores share weights.
    ratio : float, default=2.0
        ε, above 1.
    samples, seed
        As of `PolicyMeasure`.

    Raises
    ------
    ValueError
        If `ratio` is not above 1, or the measure is no such sum.

    Traits
    ------
    bound: no. convex: yes. smooth: yes. shift-invariant: yes.

    References
    ----------
    .. [1] S. Gupta, H. Oosterhuis, M. de Rijke, "Practical and robust safety guarantees for advanced
       counterfactual learning to rank", CIKM 2024.
    """

    def __init__(
        self, measure: Measure, scores: np.ndarray, *, ratio: float = 2.0, samples: int = 32, seed: int = 0
    ):
        super().__init__(measure, samples=samples, seed=seed)
        if not ratio > 1:
            raise ValueError(f"ratio must be above 1, not {ratio}")
        if not isinstance(measure, PositionLinear):
            raise ValueError(f"{measure.name} is no sum over documents of a gain times a weight of the rank")
        self.scores, self.ratio = np.asarray(scores, np.float64), float(ratio)

    def gains(
        self, queries: Queries, gain: np.ndarray, discounts: np.ndarray, exposure: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """Return gains, 0 where the policy is beyond the ratio."""
        other = self.scores[queries.row]
        order = np.lexsort((-other, queries.query))
        weight = np.empty(queries.n_docs)
        weight[order] = discounts[queries.place]
        alike = np.unique(np.column_stack((queries.query, other)), axis=0, return_inverse=True)[1].ravel()
        weight, exposed = (np.bincount(alike, weight) / np.bincount(alike))[alike], exposure()
        label = queries.relevance if queries.real else gain
        beyond = np.where(label >= 0, exposed > self.ratio * weight, exposed < weight / self.ratio)
        label = np.where(beyond, 0.0, label)
        # As in measures of real labels: gains are 0 or more.
        least = np.minimum(np.minimum.reduceat(label, queries.indptr[:-1]), 0.0)
        return label - np.repeat(least, queries.sizes)
