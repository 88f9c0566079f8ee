"""The expected measure under Gaussian noise on scores: SoftRank."""

import math

import numpy as np
from scipy.stats import norm

from directrank.contracts import Measure, Surrogate
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential
from directrank.measures.capabilities import PositionLinear
from directrank.oracles import Curvature, ValueAndGradient
from directrank.surrogates.audit_row import AuditRow, row_of_values
from directrank.surrogates.bound import BoundKernel

# Half the difference over σ beyond which one document surely beats another: Φ(√2 · 6) = 1 − 1e-17.
SURE = 6.0


class GaussianNoise(Surrogate):
    r"""SoftRank's loss: 1 − the expectation of the measure when each score is the mean of a normal variable.

    Document i beats document j with probability :math:`\pi_{ij} = \Phi((s_i - s_j) / \sqrt 2 \sigma)`. Taking
    these events for independent, the number of documents that beat j is a sum of n − 1 coin tosses, and

    .. math:: 1 - \sum_j a_j \sum_r p_j(r) \, b(r)

    with the distribution :math:`p_j` of that sum, for measures :math:`E = \sum_j a_j b(\pi_j)`.

    Parameters
    ----------
    measure : PositionLinear
        nDCG, DCG, P or WTA, with or without a cutoff.
    noise : float, default=1.0
        σ > 0, in score units. As it falls the value tends to 1 − E.
    longest : int, default=1500
        Largest number of documents of a query; longer ones are refused. The exact distributions of R
        documents among n cost O(R n²) steps, and as much memory as n² scores.

    Raises
    ------
    TypeError
        If the measure does not add up over documents.
    DataError
        On data with a longer query.

    Traits
    ------
    bound: no. convex: no. smooth: yes. shift-invariant in scores: yes.

    Notes
    -----
    For a linear scorer only σ over the size of the coefficients matters: train with a penalty. Expected
    positions are exact; the distributions of the documents of a query do not add up to 1 at each position.

    The curvature bounds the second derivative with the largest differences :math:`b_1` of b at neighbouring
    positions, and :math:`b_2` of these differences:

    .. math:: \sum_j (a_i + a_j) \, b_1 \frac{e^{-1/2 - z_{ij}^2 / 2}}{2 \sqrt\pi \sigma^2}
        + a_i \, b_2 \Bigl( \sum_j \frac{e^{-z_{ij}^2}}{2 \sqrt\pi \sigma} \Bigr)^2, \qquad
        z_{ij} = \frac{s_i - s_j}{2 \sigma}

    References
    ----------
    .. [1] M. Taylor, J. Guiver, S. Robertson, T. Minka, "SoftRank: optimizing non-smooth rank metrics",
       WSDM 2008.
    """

    offers = frozenset({ValueAndGradient, Curvature})
    is_bound, is_convex, is_smooth = False, False, True

    def __init__(self, measure: Measure, *, noise: float = 1.0, longest: int = 1500):
        if not isinstance(measure, PositionLinear):
            raise TypeError(
                f"GaussianNoise needs a measure that adds up over documents by position; "
                f"{measure.name} does not. nDCG, DCG, P and WTA do."
            )
        if not noise > 0:
            raise ValueError(f"noise must be positive, not {noise}")
        self.measure, self.noise, self.longest = measure, float(noise), int(longest)

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return the value on each query, for measures that it accepts."""
        if not isinstance(measure, PositionLinear):
            return []
        return [row_of_values("expected under noise on scores", cls(measure), queries, scores)]

    def bind(self, queries: Queries, weights: np.ndarray) -> BoundKernel:
        """Bind to some queries with a weight each."""
        too_long = (queries.sizes > self.longest) & (weights > 0)
        if too_long.any():
            query = int(np.argmax(too_long))
            raise DataError(
                f"query {queries.qid[query]} has {queries.sizes[query]} documents, more than longest="
                f"{self.longest}: the time for exact distributions of positions grows as their cube. Raise "
                "longest=, shorten the query, or use SmoothedPositions, which grows as the square"
            )
        n_read = np.where(weights > 0, self.measure.n_read(queries), 0)
        gain, curve = self.measure.linear_in_positions(queries)
        return BoundKernel(expectations, curvatures, queries.indptr, n_read, gain, curve, self.noise, weights)


def distribution_naive(s: np.ndarray, j: int, noise: float) -> np.ndarray:
    """Distribution, (n,), of the number of documents that beat document j, by convolution, for tests."""
    p = np.ones(1)
    for beats in np.delete(norm.cdf((s - s[j]) / (math.sqrt(2.0) * noise)), j):
        p = np.convolve(p, [1.0 - beats, beats])
    return p


def expectation_naive(s: np.ndarray, gain: np.ndarray, curve: np.ndarray, noise: float) -> float:
    """The expected measure of one query by definition, for tests."""
    return sum(a * (distribution_naive(s, j, noise) @ curve[: len(s)]) for j, a in enumerate(gain))


@kernel
def expectations(scores, indptr, n_read, gain, curve, noise, weights, gradient):
    """Return Σ_q w_q (1 − E_q), and add its derivative with respect to scores to `gradient`."""
    longest, total = 0, 0.0
    for q in range(len(n_read)):
        total += weights[q]
        if n_read[q] > 0:
            longest = max(longest, indptr[q + 1] - indptr[q])
    table = np.zeros((longest, longest + 1), scores.dtype)
    beats, others = np.empty(longest, scores.dtype), np.empty(longest, np.int64)
    back = np.empty(longest + 1, scores.dtype)
    for q in range(len(n_read)):
        s, g = scores[indptr[q] : indptr[q + 1]], gradient[indptr[q] : indptr[q + 1]]
        for j in range(n_read[q]):
            a = weights[q] * gain[indptr[q] + j]
            if a > 0.0:
                tossed, sure = _toss(s, j, noise, beats, others)
                # Row c is the distribution of the number of the first c documents that beat j.
                table[0, 0] = 1.0
                for c in range(tossed):
                    _mix(table[c], table[c + 1], c + 1, beats[c])
                for r in range(tossed + 1):
                    back[r] = curve[sure + r]
                total -= a * _dot(table[tossed], back, tossed + 1)
                _reverse(s, j, noise, a, beats[:tossed], others, table, back, g)
    return total


def curvature_naive(s: np.ndarray, gain: np.ndarray, curve: np.ndarray, noise: float) -> np.ndarray:
    """The curvature of one query by definition, for tests."""
    first, second = (np.abs(np.diff(curve[: len(s)], times)).max(initial=0.0) for times in (1, 2))
    z = (s[:, None] - s[None, :]) / (2.0 * noise)
    apart = 1.0 - np.eye(len(s))
    bent = apart * (gain[:, None] + gain[None, :]) * first * np.exp(-0.5 - 0.5 * z * z) / noise
    density = (apart * np.exp(-z * z)).sum(axis=1) / (2.0 * noise * math.sqrt(math.pi))
    return bent.sum(axis=1) / (2.0 * noise * math.sqrt(math.pi)) + gain * second * density**2


@kernel
def curvatures(scores, indptr, n_read, gain, curve, noise, weights, out):
    """Add a bound on the second derivative with respect to each score to `out`."""
    density = 1.0 / (2.0 * noise * math.sqrt(math.pi))
    for q in range(len(n_read)):
        if n_read[q] == 0:
            continue
        s, a, c = (
            scores[indptr[q] : indptr[q + 1]],
            gain[indptr[q] : indptr[q + 1]],
            out[indptr[q] : indptr[q + 1]],
        )
        first, second = _largest_differences(curve[: len(s)])
        bend = weights[q] * first * density * math.exp(-0.5) / noise
        for i in range(len(s)):
            bent, mass = 0.0, 0.0
            for j in range(len(s)):
                z = (np.float64(s[i]) - np.float64(s[j])) / (2.0 * noise)
                e = exponential(-0.5 * min(z * z, 1400.0)) if i != j else 0.0
                bent += (a[i] + a[j]) * e
                mass += e * e
            c[i] = bend * bent + weights[q] * a[i] * second * (density * mass) ** 2


@kernel
def _largest_differences(curve):
    first, second = 0.0, 0.0
    for r in range(len(curve) - 1):
        step = curve[r + 1] - curve[r]
        first = max(first, abs(step))
        if r > 0:
            second = max(second, abs(step - (curve[r] - curve[r - 1])))
    return first, second


@kernel
def _toss(s, j, noise, beats, others):
    # Find the documents whose order with j is not sure, and the probability that each beats it. Return their
    # number, and how many documents surely beat j.
    count, sure = 0, 0
    for i in range(len(s)):
        z = (np.float64(s[i]) - np.float64(s[j])) / (2.0 * noise)
        if i != j and abs(z) < SURE:
            beats[count] = 0.5 * math.erfc(-z)
            others[count] = i
            count += 1
        elif z >= SURE:
            sure += 1
    return count, sure


@kernel
def _mix(now, following, length, p):
    following[0] = now[0] - p * now[0]
    later, earlier, out = now[1:length], now[: length - 1], following[1:length]
    for r in range(length - 1):
        out[r] = later[r] + p * (earlier[r] - later[r])
    following[length] = p * now[length - 1]


@kernel
def _dot(a, b, length):
    total = a.dtype.type(0)
    x, y = a[:length], b[:length]
    for r in range(length):
        total += x[r] * y[r]
    return total


@kernel
def _reverse(s, j, noise, a, beats, others, table, back, g):
    # back[r] is the expected value with r of the first c documents ahead of j, over the other documents.
    density = 1.0 / (2.0 * noise * math.sqrt(math.pi))
    for c in range(len(beats) - 1, -1, -1):
        slope = np.float64(_undo(table[c], back, c + 1, beats[c]))
        z = (np.float64(s[others[c]]) - np.float64(s[j])) / (2.0 * noise)
        move = a * slope * density * math.exp(-z * z)
        g[others[c]] -= move
        g[j] += move


@kernel
def _undo(now, back, length, p):
    # Take the expectation over one more document; return the derivative with respect to its probability.
    slope = now.dtype.type(0)
    x = now[:length]
    for r in range(length):
        step = back[r + 1] - back[r]
        slope += x[r] * step
        back[r] += p * step
    return slope
