"""The expected measure under Gaussian noise on scores: SoftRank."""

import math

import numpy as np

from directrank.contracts import Curvature, Measure, Surrogate, ValueAndGradient
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential
from directrank.measures.capabilities import PositionLinear
from directrank.surrogates.oracles import AuditRow, KernelOracles, row_of_values


class GaussianNoise(Surrogate):
    r"""SoftRank's loss: 1 − the expectation of the measure when each score is the mean of a normal variable.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the expected discounts .6743 and .8869
    where they have gains, 3 and 1 of 3.6309:

    >>> loss, scores = GaussianNoise(NDCG()).on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (0.1986, [-0.0696, 0.0265, 0.043])

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
    longest : int, default=5000
        Largest number of documents of a query; longer ones are refused. The exact distributions of R
        relevant documents among n cost O(R n²) steps, and as much memory as n² scores.

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

    The curvature is at least the absolute value of the second derivative at the scores. The expected value
    :math:`E_j` of b at the position of document j is linear in the probability of each document to beat it,
    so that with :math:`e_{ij} = e^{-1/2 - z_{ij}^2 / 2} \ge |z_{ij}| e^{-z_{ij}^2}`
    to be positive where documents are tied, it is

    .. math:: \sum_j \Bigl( a_j \Bigl| \frac{\partial E_j}{\partial \pi_{ij}} \Bigr| + a_i \Bigl|
        \frac{\partial E_i}{\partial \pi_{ji}} \Bigr| \Bigr) \frac{e_{ij}}{2 \sqrt\pi \sigma^2}
        + a_i \Bigl| \sum_{j \ne k} \frac{\partial^2 E_i}{\partial \pi_{ji} \partial \pi_{ki}} \,
        \pi_{ji}' \pi_{ki}' \Bigr|, \qquad z_{ij} = \frac{s_i - s_j}{2 \sigma}, \quad
        \pi_{ji}' = \frac{e^{-z_{ij}^2}}{2 \sqrt\pi \sigma}

    References
    ----------
    .. [1] M. Taylor, J. Guiver, S. Robertson, T. Minka, "SoftRank: optimizing non-smooth rank metrics",
       WSDM 2008.
    """

    offers = frozenset({ValueAndGradient, Curvature})
    is_bound, is_convex, is_smooth = False, False, True

    def __init__(self, measure: Measure, *, noise: float = 1.0, longest: int = 5000):
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

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: a distribution for each relevant document."""
        gain, _ = self.measure.linear_in_positions(queries)
        relevant = np.add.reduceat((gain > 0).astype(np.float64), queries.indptr[:-1])
        return 0.1 * relevant * queries.sizes**2.0

    def on(self, queries: Queries, weights: np.ndarray) -> KernelOracles:
        """Return the oracles on some queries, each with a weight."""
        too_long = (queries.sizes > self.longest) & (weights > 0)
        if too_long.any():
            query = int(np.argmax(too_long))
            raise DataError(
                f"query {queries.qid[query]} has {queries.sizes[query]} documents, more than longest="
                f"{self.longest}: the memory for exact distributions of positions grows as their square. "
                "Raise longest=, shorten the query, or use SmoothedPositions, which needs none"
            )
        n_read = np.where(weights > 0, self.measure.n_read(queries), 0)
        gain, curve = self.measure.linear_in_positions(queries)
        return KernelOracles(
            expectations, curvatures, queries.indptr, n_read, gain, curve, self.noise, weights
        )


# Half the difference over σ beyond which one document surely beats another: Φ(√2 · 6) = 1 − 1e-17.
SURE = 6.0


@kernel
def expectations(scores, indptr, n_read, gain, curve, noise, weights, gradient):
    """Return Σ_q w_q (1 − E_q), and add its derivative with respect to scores to `gradient`."""
    total = 0.0
    scratch = scratch_arrays(scores, indptr, n_read)
    for q in range(len(n_read)):
        total += weights[q]
        s, g = scores[indptr[q] : indptr[q + 1]], gradient[indptr[q] : indptr[q + 1]]
        for j in range(n_read[q]):
            a = weights[q] * gain[indptr[q] + j]
            if a > 0.0:
                tossed, _, value = expect_at(s, j, noise, curve, scratch)
                total -= a * value
                _add_gradient(s, j, noise, a, tossed, scratch, g)
    return total


@kernel
def scratch_arrays(scores, indptr, n_read):
    """Return arrays for probabilities, the documents they belong to, distributions, a row, and slopes."""
    longest = 0
    for q in range(len(n_read)):
        if n_read[q] > 0:
            longest = max(longest, indptr[q + 1] - indptr[q])
    table = np.zeros((longest, longest + 1), scores.dtype)
    beats, others = np.empty(longest, scores.dtype), np.empty(longest, np.int64)
    return beats, others, table, np.empty(longest + 1, scores.dtype), np.empty(longest)


@kernel
def expect_at(s, j, noise, curve, scratch):
    """Return the expected value of the position of document j, the last of three numbers.

    The first two are the number of documents whose order with j is not sure, and how many surely beat j. The
    scratch arrays then hold the distributions, and the derivatives with respect to each probability.
    """
    beats, others, table, back, slopes = scratch
    tossed, sure = _toss(s, j, noise, beats, others)
    # Row c is the distribution of the number of the first c documents that beat j.
    table[0, 0] = 1.0
    for c in range(tossed):
        _mix(table[c], table[c + 1], c + 1, beats[c])
    for r in range(tossed + 1):
        back[r] = curve[sure + r]
    value = _dot(table[tossed], back, tossed + 1)
    # back[r] is the expected value with r of the first c documents ahead of j, over the other documents.
    for c in range(tossed - 1, -1, -1):
        slopes[c] = _undo(table[c], back, c + 1, beats[c])
    return tossed, sure, value


@kernel
def _add_gradient(s, j, noise, a, tossed, scratch, g):
    _, others, _, _, slopes = scratch
    density = 1.0 / (2.0 * noise * math.sqrt(math.pi))
    for c in range(tossed):
        z = (np.float64(s[others[c]]) - np.float64(s[j])) / (2.0 * noise)
        move = a * slopes[c] * density * math.exp(-z * z)
        g[others[c]] -= move
        g[j] += move


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
def _undo(now, back, length, p):
    # Take the expectation over one more document; return the derivative with respect to its probability.
    slope = now.dtype.type(0)
    x = now[:length]
    for r in range(length):
        step = back[r + 1] - back[r]
        slope += x[r] * step
        back[r] += p * step
    return slope


@kernel
def curvatures(scores, indptr, n_read, gain, curve, noise, weights, out):
    """Add a bound on the second derivative with respect to each score to `out`."""
    scratch = scratch_arrays(scores, indptr, n_read)
    first, second = np.empty((2, len(scratch[0]) + 1))
    for q in range(len(n_read)):
        s, c = scores[indptr[q] : indptr[q + 1]], out[indptr[q] : indptr[q + 1]]
        largest = 0.0
        for r in range(len(s) - 1):
            largest = max(largest, abs(curve[r + 1] - curve[r]))
        for j in range(n_read[q]):
            a = weights[q] * gain[indptr[q] + j]
            if a > 0.0:
                tossed, sure, _ = expect_at(s, j, noise, curve, scratch)
                _add_pairs(s, j, noise, a, tossed, scratch, largest, c)
                _differentiate(s, j, noise, tossed, scratch, first, second)
                cross = 0.0
                for r in range(tossed + 1):
                    cross += second[r] * curve[sure + r]
                c[j] += a * abs(cross)


@kernel
def _add_pairs(s, j, noise, a, tossed, scratch, largest, c):
    # The bound on the part that is linear in each probability. Slopes are known for documents whose order
    # with j is not sure; for others, `largest` bounds them.
    _, others, _, _, slopes = scratch
    bend, k = a * math.exp(-0.5) / (2.0 * noise * noise * math.sqrt(math.pi)), 0
    for i in range(len(s)):
        if i == j:
            continue
        slope = largest
        if k < tossed and others[k] == i:
            slope = abs(slopes[k])
            k += 1
        z = (np.float64(s[i]) - np.float64(s[j])) / (2.0 * noise)
        bent = bend * slope * exponential(-0.5 * min(z * z, 1400.0))
        c[i] += bent
        c[j] += bent


@kernel
def _differentiate(s, j, noise, tossed, scratch, first, second):
    # Derivatives of the distribution along a common change of the probabilities, each at its own rate: the
    # first, and the second without that of the rates. A document more changes each row as in `_mix`.
    beats, others, table, _, _ = scratch
    density = 1.0 / (2.0 * noise * math.sqrt(math.pi))
    for r in range(tossed + 1):
        first[r], second[r] = 0.0, 0.0
    for k in range(tossed):
        z = (np.float64(s[others[k]]) - np.float64(s[j])) / (2.0 * noise)
        p, rate, now = np.float64(beats[k]), density * math.exp(-z * z), table[k]
        for r in range(k + 1, 0, -1):
            here = np.float64(now[r]) if r <= k else 0.0
            second[r] += p * (second[r - 1] - second[r]) + 2.0 * rate * (first[r - 1] - first[r])
            first[r] += p * (first[r - 1] - first[r]) + rate * (np.float64(now[r - 1]) - here)
        second[0] -= p * second[0] + 2.0 * rate * first[0]
        first[0] -= p * first[0] + rate * np.float64(now[0])
