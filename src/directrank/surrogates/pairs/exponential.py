"""The exponential loss on pairs of documents: what RankBoost minimises."""

import numpy as np

from directrank.contracts import (
    Curvature,
    Step,
    StepAlong,
    Surrogate,
    Value,
    ValueAndGradient,
)
from directrank.data.queries import Queries
from directrank.errors import check_choice
from directrank.kernels.compile import kernel
from directrank.surrogates.pairs.runs import pair_counts, pair_weights
from directrank.surrogates.steps import MAX_STEP, StepwiseOracles, centred_scores

# exp of both ends of a query's scores, and the product of the two, stay finite.
LARGEST_EXPONENT = 345.0


class ExponentialPairs(Surrogate):
    r"""The exponential loss on pairs of documents of different relevance.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the value e + 1/e + 1/e²:

    >>> loss, scores = ExponentialPairs().on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (3.2215, [-3.0862, 2.5829, 0.5032])

    .. math:: \sum_{i, j : y_i > y_j} c_i c_j d_{ij} \, e^{-(s_i - s_j)}

    c is the confidence of the label of a document, 1 by default.

    Its value is the normaliser Z of RankBoost's distribution over pairs, and the weight of a document its
    potential times Z.

    Parameters
    ----------
    normalise : bool, default=False
        Divide the sum of each query by its number of pairs: :math:`d_{ij}` is then equal for all pairs of a
        query, and the queries are equal. By default it is equal for all pairs of the collection (the paper).
    alpha : {"third", "second", "search"}, default="third"
        The paper's ways to a step: :math:`\frac12 \ln \frac{1+r}{1-r}`; :math:`\frac12 \ln \frac{W_+}{W_-}`,
        the best one along a direction in {0, 1}; or a numerical search, the paper's first.

    Traits
    ------
    bound: no (it bounds the share of inverted pairs, which is no measure here). convex: yes. smooth: yes.
    shift-invariant: yes.

    Notes
    -----
    One evaluation costs O(n) per query, whatever the number of grades, by running sums over the documents of
    lower and of higher grades. Scores that lie more than 690 apart in a query are clipped.

    References
    ----------
    .. [1] Y. Freund, R. Iyer, R. Schapire, Y. Singer, "An efficient boosting algorithm for combining
       preferences", JMLR 4, 2003, sections 3.1-3.3.
    """

    offers = frozenset({Value, ValueAndGradient, Curvature, StepAlong})
    is_bound, is_convex, is_smooth = False, True, True
    weighs_documents = True

    def __init__(self, *, normalise: bool = False, alpha: str = "third"):
        check_choice("alpha", alpha, ("third", "second", "search"))
        self.normalise, self.alpha = normalise, alpha
        self.variant = "normalised" if normalise else ""

    def on(self, queries: Queries, weights: np.ndarray) -> "_ExponentialPairOracles":
        """Return the oracles on some queries, each with a weight."""
        return _ExponentialPairOracles(self, queries, weights)


class _ExponentialPairOracles(StepwiseOracles):
    """The oracles of `ExponentialPairs` on some queries."""

    def __init__(self, surrogate: ExponentialPairs, queries: Queries, weights: np.ndarray):
        self.alpha, self.queries = surrogate.alpha, queries
        self.confidence = np.float64(1.0) if queries.confidence is None else queries.confidence
        of_pair = pair_weights(queries, weights, surrogate.normalise)
        self.weights = np.repeat(of_pair, queries.sizes) * self.confidence
        self.n_pairs = pair_counts(queries)[weights > 0].sum()
        self.line_search = surrogate.alpha == "search"

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum of the loss, Z, and minus the potential of each document times Z."""
        value, gradient, _ = self.derivatives(scores)
        return value, gradient

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return Z, its gradient, and as curvature the loss of the pairs of each document."""
        rising, falling = self._rates(scores)
        with np.errstate(over="ignore"):  # Potentials of far scores are infinite in float32.
            gradient, curvature = ((falling + sign * rising).astype(scores.dtype) for sign in (-1.0, 1.0))
        return float(rising.sum()), gradient, curvature

    def along(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return W₊ and W₋ along a direction in {0, 1}, the number of pairs, and Z."""
        e, still = self._powers(scores), 1.0 - direction
        rates = self.weights / e
        low, high = rates * self._sums(e * still, lower=True), rates * self._sums(e * direction, lower=True)
        gained, lost = (low * direction).sum(), (high * still).sum()
        return np.array([gained, lost, self.n_pairs, (low + high).sum()])

    def closed_form_step(self, sums: np.ndarray) -> Step:
        """Return the step of the second or third method."""
        gained, lost, n_pairs, total = sums
        if self.alpha == "second":
            return super().closed_form_step(sums[:3])
        r = (gained - lost) / total if total > 0 else 0.0
        if r == 0:
            return Step(0.0, 0.0, gained, lost)
        smooth = 1.0 / n_pairs if abs(r) >= 1.0 else 0.0
        size = 0.5 * np.log((1.0 + r + smooth) / (1.0 - r + smooth))
        size = float(np.clip(size, -MAX_STEP, MAX_STEP))
        bound = 0.5 * ((1.0 - r) * np.exp(size) + (1.0 + r) * np.exp(-size))
        return Step(size, total * float(1.0 - bound), gained, lost)

    def _rates(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss of the pairs that each document should win, and of those that it should lose."""
        e = self._powers(scores)
        rising, falling = self._sums(e, lower=True) / e, self._sums(1.0 / e, lower=False) * e
        return self.weights * rising, self.weights * falling

    def _powers(self, scores: np.ndarray) -> np.ndarray:
        """Return exp of each score less the middle of its query's scores, float64."""
        centred = centred_scores(scores, self.queries)[0]
        return np.exp(np.clip(centred, -LARGEST_EXPONENT, LARGEST_EXPONENT))

    def _sums(self, values: np.ndarray, *, lower: bool) -> np.ndarray:
        return _sums_beyond(values * self.confidence, self.queries.relevance, self.queries.indptr, lower)


@kernel
def _sums_beyond(values, relevance, indptr, lower):
    # Return for each document the sum of its query's values over lower grades, or over higher ones.
    sums = np.empty(len(values))
    for q in range(len(indptr) - 1):
        total, level, step = 0.0, 0.0, -1 if lower else 1
        i = indptr[q + 1] - 1 if lower else indptr[q]
        for k in range(indptr[q + 1] - indptr[q]):
            if k > 0 and relevance[i] != relevance[i - step]:
                total += level
                level = 0.0
            sums[i] = total
            level += values[i]
            i += step
    return sums
