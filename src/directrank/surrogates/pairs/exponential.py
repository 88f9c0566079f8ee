"""The exponential loss on pairs of documents: what RankBoost minimises."""

import numpy as np

from directrank.contracts import Surrogate
from directrank.data.queries import Queries
from directrank.errors import check_choice
from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import extremes
from directrank.oracles import DocumentWeights, Step, StepAlong, Value, ValueAndGradient
from directrank.surrogates.pairs.runs import pair_counts, pair_weights
from directrank.surrogates.steps import MAX_STEP, BoundStepwise, ratio_step

# exp of both ends of a query's scores, and the product of the two, stay finite.
LARGEST_EXPONENT = 345.0


class ExponentialPairs(Surrogate):
    r"""The exponential loss on pairs of documents of different relevance.

    .. math:: \sum_{i, j : y_i > y_j} d_{ij} \, e^{-(s_i - s_j)}

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

    offers = frozenset({Value, ValueAndGradient, DocumentWeights, StepAlong})
    is_bound, is_convex, is_smooth = False, True, True

    def __init__(self, *, normalise: bool = False, alpha: str = "third"):
        check_choice("alpha", alpha, ("third", "second", "search"))
        self.normalise, self.alpha = normalise, alpha

    @property
    def name(self) -> str:
        """The surrogate; it has no measure."""
        return "ExponentialPairs" + ("(normalised)" if self.normalise else "")

    def bind(self, queries: Queries, weights: np.ndarray) -> "BoundExponentialPairs":
        """Bind to some queries with a weight each."""
        return BoundExponentialPairs(self, queries, weights)


class BoundExponentialPairs(BoundStepwise):
    """The oracles of `ExponentialPairs` on some queries."""

    def __init__(self, surrogate: ExponentialPairs, queries: Queries, weights: np.ndarray):
        self.surrogate, self.indptr, self.relevance = surrogate, queries.indptr, queries.relevance
        self.weights = pair_weights(queries, weights, surrogate.normalise)
        self.n_pairs = pair_counts(queries)[weights > 0].sum()
        self.line_search = surrogate.alpha == "search"

    def value(self, scores: np.ndarray) -> float:
        """Return the weighted sum of the loss."""
        return self.document_weights(scores)[0]

    def document_weights(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum of the loss, Z, and the potential of each document times Z."""
        potential = np.zeros_like(scores)
        value = _potentials(scores, self.relevance, self.indptr, self.weights, potential)
        return value, potential

    def along(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return Z, W₊ and W₋ along a direction in {0, 1}, and the number of pairs."""
        sums = np.zeros(4)
        _separated(scores, self.relevance, self.indptr, self.weights, direction, sums)
        sums[3] = self.n_pairs
        return sums

    def closed_form_step(self, sums: np.ndarray) -> Step:
        """Return the step of the second or third method."""
        total, gained, lost, n_pairs = sums
        share = 1.0 / n_pairs
        if self.surrogate.alpha == "second":
            return ratio_step(gained, lost, share)
        r = (gained - lost) / total if total > 0 else 0.0
        if r == 0:
            return Step(0.0, 0.0, gained, lost)
        smooth = share if abs(r) >= 1.0 else 0.0
        size = 0.5 * np.log((1.0 + r + smooth) / (1.0 - r + smooth))
        size = float(np.clip(size, -MAX_STEP, MAX_STEP))
        bound = 0.5 * ((1.0 - r) * np.exp(size) + (1.0 + r) * np.exp(-size))
        return Step(size, total * float(1.0 - bound), gained, lost)


def potentials_naive(s: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Z of one query and its potentials times Z by definition, for tests."""
    loss = np.exp(s[None, :] - s[:, None]) * (y[:, None] > y[None, :])
    return float(loss.sum()), loss.sum(axis=1) - loss.sum(axis=0)


@kernel
def _clipped(z):
    return min(max(z, -LARGEST_EXPONENT), LARGEST_EXPONENT)


@kernel
def _potentials(scores, relevance, indptr, weights, potential):
    value = 0.0
    for q in range(len(weights)):
        c, start, stop = weights[q], indptr[q], indptr[q + 1]
        if c == 0.0:
            continue
        low, high = extremes(scores[start:stop])
        middle = 0.5 * (np.float64(low) + np.float64(high))
        rising = np.empty(stop - start)
        # Upwards from the lowest grade: sums over the documents of lower grades.
        total, below, level = 0.0, 0.0, 0.0
        for i in range(stop - 1, start - 1, -1):
            if i < stop - 1 and relevance[i] > relevance[i + 1]:
                below += level
                level = 0.0
            e = np.exp(_clipped(np.float64(scores[i]) - middle))
            level += e
            rising[i - start] = below / e
            total += rising[i - start]
        value += c * total
        # Downwards from the highest grade: sums over the documents of higher grades.
        above, level = 0.0, 0.0
        for i in range(start, stop):
            if i > start and relevance[i] < relevance[i - 1]:
                above += level
                level = 0.0
            e = np.exp(_clipped(np.float64(scores[i]) - middle))
            level += 1.0 / e
            potential[i] = c * (rising[i - start] - above * e)
    return value


@kernel
def _separated(scores, relevance, indptr, weights, direction, sums):
    for q in range(len(weights)):
        c, start, stop = weights[q], indptr[q], indptr[q + 1]
        if c == 0.0:
            continue
        low, high = extremes(scores[start:stop])
        middle = 0.5 * (np.float64(low) + np.float64(high))
        # Sums of exp over lower grades, of documents with f = 0 and with f = 1.
        below0, below1, level0, level1 = 0.0, 0.0, 0.0, 0.0
        total, gained, lost = 0.0, 0.0, 0.0
        for i in range(stop - 1, start - 1, -1):
            if i < stop - 1 and relevance[i] > relevance[i + 1]:
                below0 += level0
                below1 += level1
                level0 = level1 = 0.0
            e = np.exp(_clipped(np.float64(scores[i]) - middle))
            total += (below0 + below1) / e
            if direction[i] == 0.0:
                lost += below1 / e
                level0 += e
            else:
                gained += below0 / e
                level1 += e
        sums[0] += c * total
        sums[1] += c * gained
        sums[2] += c * lost
