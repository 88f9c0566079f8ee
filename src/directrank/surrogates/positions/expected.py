"""The expected measure over random rankings, bounded by expected positions (NDCG_Boost)."""

import numpy as np

from directrank.contracts import Measure, Surrogate
from directrank.data.queries import Queries
from directrank.measures.capabilities import PositionBounded
from directrank.oracles import DocumentWeights, Step, StepAlong, Value, ValueAndGradient
from directrank.surrogates.audit_row import AuditRow, row_of_values
from directrank.surrogates.positions.expected_kernels import gained_and_lost
from directrank.surrogates.positions.smoothed_kernels import backward, soft_positions
from directrank.surrogates.steps import BoundStepwise, ratio_step

# The paper's scores F are in natural units: exp(F_i − F_j) are the odds of i before j.
STEEPNESS = 1.0


class ExpectedMeasure(Surrogate):
    r"""The fall of an expected measure with the expected positions of its documents (NDCG_Boost).

    For every ranking, :math:`E(\pi) \ge c - \sum_i u_i (\pi_i - 1)` with slopes u that the measure knows, so
    the same holds for expectations; the expected position under the score F is taken as
    :math:`1 + A_i`, which leaves

    .. math:: \bar M = \sum_i u_i A_i, \qquad A_i = \sum_{j \ne i} \frac{1}{1 + e^{F_i - F_j}}

    to be minimised. For nDCG :math:`u_i` is the gain over the ideal, times the chord of the discount from
    rank 1 to 2. The paper has the tangent there, which is less tight; both are constants in training.

    Parameters
    ----------
    measure : PositionBounded
        nDCG or DCG with any gain, discount and cutoff. A cutoff acts through the ideal and the chord alone:
        the bound holds but does not know which documents are near the cutoff.

    Raises
    ------
    TypeError
        If the measure has no ``position_slopes``: it does not fall with the position of each document by
        itself.

    Traits
    ------
    bound: no (the expected position is an approximation). convex: no. smooth: yes. shift-invariant: yes.

    Notes
    -----
    One pass costs O(n R) per query, R documents with a gain among n. The weight of a document, w, is minus
    the derivative with respect to its score. Along a direction f in {0, 1},
    :math:`\bar M(F + \alpha f) \le \bar M(F) - N (1 - e^{-\alpha}) - D (1 - e^{\alpha})` with
    :math:`N - D = \sum_i w_i f_i`, which is least at :math:`\alpha = \frac12 \ln (N / D)`.

    References
    ----------
    .. [1] H. Valizadegan, R. Jin, R. Zhang, J. Mao, "Learning to rank by optimizing NDCG measure", NIPS 2009,
       Eqs. (11)-(17); the sign in Theorem 2 is to be read as a minus.
    """

    offers = frozenset({Value, ValueAndGradient, DocumentWeights, StepAlong})
    is_bound, is_convex, is_smooth = False, False, True

    measure: PositionBounded

    def __init__(self, measure: Measure):
        if not isinstance(measure, PositionBounded):
            raise TypeError(
                f"ExpectedMeasure needs a measure that falls with the position of each document by itself; "
                f"{measure.name} does not. nDCG and DCG do, with any cutoff."
            )
        self.measure = measure

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Return the queries on which the measure, or its bound, is the same for all scores."""
        slopes = np.concatenate(([0.0], np.cumsum(self.measure.position_slopes(queries))))
        flat = slopes[queries.indptr[1:]] == slopes[queries.indptr[:-1]]
        return self.measure.uninformative(queries) | flat

    def bind(self, queries: Queries, weights: np.ndarray) -> "BoundExpected":
        """Bind to some queries with a weight each."""
        return BoundExpected(self, queries, weights)

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return the value on each query, for measures that it accepts."""
        if not isinstance(measure, PositionBounded):
            return []
        return [row_of_values("fall of the expected measure, by chords", cls(measure), queries, scores)]


class BoundExpected(BoundStepwise):
    """The oracles of `ExpectedMeasure` on some queries."""

    def __init__(self, surrogate: ExpectedMeasure, queries: Queries, weights: np.ndarray):
        measure = surrogate.measure
        self.indptr, self.weights = queries.indptr, weights
        self.leading = np.where(weights > 0, measure.n_read(queries), 0)
        self.slopes = measure.position_slopes(queries)
        self.rates = self.slopes * np.repeat(weights, queries.sizes)

    def value(self, scores: np.ndarray) -> float:
        """Return the weighted sum of M̄."""
        positions, _ = soft_positions(scores, self.indptr, self.leading, STEEPNESS)
        return self._value(positions)

    def document_weights(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum of M̄ and the weight of each document, (16)."""
        positions, powers = soft_positions(scores, self.indptr, self.leading, STEEPNESS)
        w = np.zeros_like(scores)
        backward(scores, powers, self.indptr, self.leading, STEEPNESS, self.slopes, self.weights, w)
        return self._value(positions), w

    def along(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return N, D of (15) along a direction in {0, 1}, and the number of documents."""
        sums = np.zeros(3)
        gained_and_lost(scores, self.indptr, self.leading, self.rates, direction, sums)
        sums[2] = len(scores)
        return sums

    def closed_form_step(self, sums: np.ndarray) -> Step:
        """Return the step of (15)."""
        gained, lost, n_docs = sums
        return ratio_step(gained, lost, 1.0 / n_docs)

    def _value(self, positions: np.ndarray) -> float:
        return float(self.rates @ (positions.astype(np.float64) - 1.0))
