"""Type-one bounds: a margin of the measure itself, φ(E) ≥ 1 − E."""

import numpy as np

from directrank.contracts import Measure, QueryValues, QueryWeights, Surrogate, Value
from directrank.data.queries import Queries
from directrank.measures.positions import positions_of
from directrank.surrogates.margins import Exponential, Logistic, Margin, margin_of
from directrank.surrogates.oracles import AuditRow, MeasureOracles


class TypeOneBound(Surrogate):
    r"""φ(E(π_s, y)), which bounds 1 − E from above for E in [0, 1].

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have nDCG = .7967, and the value and the weight
    of their query are exp(−.7967):

    >>> loss, scores = TypeOneBound(NDCG()).on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> round(loss.value(scores), 4), loss.query_weights(scores).round(4).tolist()
    (0.4508, [0.4508])

    .. math:: 1 - E \le e^{-E} \le \log_2(1 + e^{-E})

    E is the expected value over random orders of tied documents, in the table of weak rankers as in
    evaluation.

    Parameters
    ----------
    measure : Measure
        Any measure with values in [0, 1].
    margin : {"exponential", "logistic", "hinge"}, default="exponential"
        φ.

    Traits
    ------
    bound: yes. convex: no (piecewise constant in the scores). smooth: no. shift-invariant: yes.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, section 4.1.
    """

    offers = frozenset({Value, QueryValues, QueryWeights})
    is_bound, is_convex, is_smooth = True, False, False

    def __init__(self, measure: Measure, margin: str = "exponential"):
        self.measure, self.margin = measure, margin_of(margin)
        self.variant = self.margin.name

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return the exponential and the logistic bound on each query."""
        values = measure.query_values(queries, positions_of(queries, scores))
        exact = np.zeros(queries.n_queries)
        return [
            AuditRow(margin.name, "type one", margin.value(values), exact, True)
            for margin in (Exponential(), Logistic(2.0))
        ]

    def on(self, queries: Queries, weights: np.ndarray) -> "_TypeOneOracles":
        """Return the oracles on some queries, each with a weight."""
        return _TypeOneOracles(self.measure, self.margin, queries, weights)


class _TypeOneOracles(MeasureOracles):
    """The oracles of `TypeOneBound` on some queries."""

    def __init__(self, measure: Measure, margin: Margin, queries: Queries, weights: np.ndarray):
        super().__init__(measure, queries, weights)
        self.margin = margin

    def query_weights(self, scores: np.ndarray) -> np.ndarray:
        """Return −φ'(E) of each query times its weight, float64 (n_queries,)."""
        return -self.margin.slope(self.query_values(scores)) * self.weights

    def value(self, scores: np.ndarray) -> float:
        return float(self.weights @ self.margin.value(self.query_values(scores)))
