"""Kernels of the expected measure under Gaussian noise: distributions of the positions of one document."""

import math

import numpy as np
from scipy.stats import norm

from directrank.kernels.compile import kernel

# Half the difference over σ beyond which one document surely beats another: Φ(√2 · 6) = 1 − 1e-17.
SURE = 6.0


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
