"""The expected measure over random rankings, bounded by expected positions (NDCG_Boost)."""

import numpy as np

from directrank.contracts import (
    Curvature,
    Measure,
    StepAlong,
    Surrogate,
    Value,
    ValueAndGradient,
)
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.capabilities import PositionBounded
from directrank.surrogates.oracles import AuditRow, row_of_values
from directrank.surrogates.positions.smoothed_kernels import (
    backward,
    position_curvature,
    powers_by_range,
    soft_positions,
)
from directrank.surrogates.steps import StepwiseOracles

# The paper's scores F are in natural units: exp(F_i − F_j) are the odds of i before j.
STEEPNESS = 1.0


class ExpectedMeasure(Surrogate):
    r"""The fall of an expected measure with the expected positions of its documents (NDCG_Boost).

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have A = 1 and .388 where they have gains, 3 and
    1 of 3.6309; each rank costs .3691 of a gain:

    >>> loss, scores = ExpectedMeasure(NDCG()).on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (0.3444, [-0.0999, 0.0293, 0.0706])

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
    :math:`N - D = \sum_i w_i f_i`, which is least at :math:`\alpha = \frac12 \ln (N / D)`. The curvature,
    :math:`\sum_j |u_i - u_j| \sigma (1 - \sigma)`, is above the second derivative.

    References
    ----------
    .. [1] H. Valizadegan, R. Jin, R. Zhang, J. Mao, "Learning to rank by optimizing NDCG measure", NIPS 2009,
       Eqs. (11)-(17); the sign in Theorem 2 is to be read as a minus.
    """

    offers = frozenset({Value, ValueAndGradient, Curvature, StepAlong})
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

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: a quotient for each document with a gain and each document."""
        return 0.25 * self.measure.n_read(queries) * queries.sizes

    def on(self, queries: Queries, weights: np.ndarray) -> "_ExpectedOracles":
        """Return the oracles on some queries, each with a weight."""
        return _ExpectedOracles(self, queries, weights)

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return the value on each query, for measures that it accepts."""
        if not isinstance(measure, PositionBounded):
            return []
        return [row_of_values("fall of the expected measure, by chords", cls(measure), queries, scores)]


class _ExpectedOracles(StepwiseOracles):
    """The oracles of `ExpectedMeasure` on some queries."""

    def __init__(self, surrogate: ExpectedMeasure, queries: Queries, weights: np.ndarray):
        measure = surrogate.measure
        self.indptr, self.weights = queries.indptr, weights
        self.n_read = np.where(weights > 0, measure.n_read(queries), 0)
        self.slopes = measure.position_slopes(queries)
        self.rates = self.slopes * np.repeat(weights, queries.sizes)

    def value(self, scores: np.ndarray) -> float:
        positions, _ = soft_positions(scores, self.indptr, self.n_read, STEEPNESS)
        return self._value(positions)

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum of M̄ and minus the weight of each document, (16)."""
        positions, powers = soft_positions(scores, self.indptr, self.n_read, STEEPNESS)
        w = np.zeros_like(scores)
        backward(scores, powers, self.indptr, STEEPNESS, self.slopes, self.weights, w)
        return self._value(positions), -w

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient, and as curvature Σ |u_i − u_j| σ (1 − σ) of the pairs of each document."""
        ranges = list(powers_by_range(scores, self.indptr, self.n_read, STEEPNESS))
        curvature = position_curvature(scores, ranges, self.indptr, STEEPNESS, self.slopes, self.weights)
        return *self.value_and_gradient(scores), curvature

    def along(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return N, D of (15) along a direction in {0, 1}, and the number of documents."""
        sums = gained_and_lost(scores, self.indptr, self.n_read, self.rates, direction)
        return np.append(sums, len(scores))

    def _value(self, positions: np.ndarray) -> float:
        return float(self.rates @ (positions.astype(np.float64) - 1.0))


def gained_and_lost(scores, indptr, n_read, rates, direction) -> np.ndarray:
    """Return N and D along a direction in {0, 1}, float64 (2,).

    θ_ij = p (1 − p) = e_i e_j / (e_i + e_j)², with e = exp(F − middle). Only pairs that the direction
    separates count: documents are sorted by their side first, so that the inner loop has no branch. A rate is
    how much an expected position of a document costs; only the `n_read` first documents of a query have one.
    """
    sums = np.zeros(2)
    for powers, some, _ in powers_by_range(scores, indptr, n_read, STEEPNESS):
        if powers is None:
            _by_differences(scores.astype(np.float64), indptr, some, rates, direction, sums)
        else:
            _by_quotients(powers, indptr, some, rates, direction, sums)
    return sums


@kernel
def _sort_by_side(e, f, sides):
    # Documents with f = 0 are written from the front, those with f = 1 from the back.
    front, back = 0, len(e)
    for j in range(len(e)):
        if f[j] == 0.0:
            sides[front] = e[j]
            front += 1
        else:
            back -= 1
            sides[back] = e[j]
    return front


@kernel
def _sum_of_thetas(e, x):
    one, total = e.dtype.type(1.0), e.dtype.type(0.0)
    for j in range(len(e)):
        r = one / (x + e[j])
        total += e[j] * r * r
    return total * x


@kernel
def _by_quotients(powers, indptr, n_read, rates, direction, sums):
    for q in range(len(n_read)):
        if n_read[q] > 0:
            start, stop = indptr[q], indptr[q + 1]
            e, f, u = powers[start:stop], direction[start:stop], rates[start:stop]
            sides = np.empty_like(e)
            front = _sort_by_side(e, f, sides)
            for i in range(n_read[q]):
                # A document at f = 1 gains on those at 0; one at f = 0 loses to those at 1.
                others = sides[front:] if f[i] == 0.0 else sides[:front]
                sums[1 if f[i] == 0.0 else 0] += u[i] * _sum_of_thetas(others, e[i])


@kernel
def _by_differences(scores, indptr, n_read, rates, direction, sums):
    for q in range(len(n_read)):
        start, stop = indptr[q], indptr[q + 1]
        s, f, u = scores[start:stop], direction[start:stop], rates[start:stop]
        for i in range(n_read[q]):
            total = 0.0
            for j in range(len(s)):
                t = np.exp(-abs(s[j] - s[i]))
                total += t / ((1.0 + t) * (1.0 + t)) if f[j] != f[i] else 0.0
            sums[0 if f[i] != 0.0 else 1] += u[i] * total
