"""Squared error on each document: of regression, and of the linear loss on preferences with its penalty."""

import numpy as np

from directrank.contracts import Curvature, Measure, Surrogate, Targets, ValueAndGradient
from directrank.data.queries import Queries
from directrank.measures.capabilities import Standardised


class SquaredError(Surrogate):
    r"""The sum of squared differences between score and relevance.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the value (1 − 2)² + (2 − 1)² + 0²:

    >>> loss, scores = SquaredError().on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (2.0, [-2.0, 2.0, 0.0])

    .. math:: \sum_i c_i (s_i - y_i)^2

    c is the confidence of the label, 1 by default. It is order-preserving for the DCG when the target is the
    gain, but knows nothing of positions, and queries with many documents weigh more.

    Traits
    ------
    bound: no. convex: yes. smooth: yes. shift-invariant in scores: no (the scorer's intercept is free).
    """

    offers = frozenset({ValueAndGradient, Curvature, Targets})
    is_bound, is_convex, is_smooth = False, True, True
    weighs_documents = takes_real = True

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Skip no query: every document has its own target, as in the published baseline."""
        return np.zeros(queries.n_queries, dtype=bool)

    def on(self, queries: Queries, weights: np.ndarray) -> "_SquaredErrorOracles":
        """Return the oracles on some queries, each with a weight."""
        of_query = np.repeat(weights, queries.sizes)
        confidence = 1.0 if queries.confidence is None else queries.confidence
        return _SquaredErrorOracles(queries.relevance, of_query * confidence)


class LinearLoss(Surrogate):
    r"""The linear loss on preferences, with a penalty on the scores, as a squared error.

    Documents of grades 2, 1 and 0 should have the scores 2/3, 0 and −2/3. With the scores 1, 2 and 0 the
    value is (1/3)² + 2² + (2/3)²:

    >>> loss, scores = LinearLoss(WPD()).on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (4.5556, [0.6667, 4.0, 1.3333])

    .. math:: 2 \sum_{i \to k} a_{ik} (s_k - s_i) + \sum_i s_i^2
        = \sum_i \left(s_i - \sum_k (a_{ik} - a_{ki})\right)^2 + \text{const}

    Its minimiser in expectation is the expected weight of preferences won less that of those lost. It ranks
    best for the weighted pairwise disagreement under low noise, and for other distributions it need not.
    Another factor of the penalty would change the unit of the scores alone.

    Parameters
    ----------
    measure : Standardised
        WPD, by whose standard form documents win and lose; any other has its own, less the mean of the query.

    Raises
    ------
    TypeError
        If the measure has no standard form.

    Traits
    ------
    bound: no. convex: yes. smooth: yes. shift-invariant in scores: no.

    References
    ----------
    .. [1] J. Duchi, L. Mackey, M. Jordan, "On the consistency of ranking algorithms", ICML 2010, section 5.
    .. [2] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, section 5.3.
    """

    offers = frozenset({ValueAndGradient, Curvature, Targets})
    is_bound, is_convex, is_smooth = False, True, True

    def __init__(self, measure: Measure):
        if not isinstance(measure, Standardised):
            raise TypeError(
                f"LinearLoss needs a measure with supervision; {measure.name} has none. "
                "WPD, DCG, nDCG and ZeroOne have."
            )
        self.measure = measure

    def on(self, queries: Queries, weights: np.ndarray) -> "_SquaredErrorOracles":
        """Return the oracles on some queries, each with a weight."""
        won = self.measure.supervision(queries)
        mean = np.add.reduceat(won, queries.indptr[:-1]) / queries.sizes
        return _SquaredErrorOracles(won - np.repeat(mean, queries.sizes), np.repeat(weights, queries.sizes))


class _SquaredErrorOracles:
    """The oracles of `SquaredError` on some queries."""

    def __init__(self, relevance: np.ndarray, weights: np.ndarray):
        self.relevance, self.weights = relevance, weights

    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        return self.relevance, self.weights

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        error = scores - self.relevance
        weighted = self.weights * error
        return float(weighted @ error), (2.0 * weighted).astype(scores.dtype)

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        return *self.value_and_gradient(scores), (2.0 * self.weights).astype(scores.dtype)
