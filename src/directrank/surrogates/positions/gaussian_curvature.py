"""The curvature of the expected measure under Gaussian noise: see `GaussianNoise`."""

import math
from itertools import permutations

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential
from directrank.surrogates.positions.gaussian_kernels import distribution_naive, expect_at, scratch_arrays


def curvature_naive(s: np.ndarray, gain: np.ndarray, curve: np.ndarray, noise: float) -> np.ndarray:
    """The curvature of one query by definition, for tests."""
    z, b = (s[:, None] - s[None, :]) / (2.0 * noise), curve[: len(s)]
    density = np.exp(-z * z) / (2.0 * noise * math.sqrt(math.pi))
    out = np.zeros(len(s))
    for j, a in enumerate(gain):
        others, cross = np.delete(np.arange(len(s)), j), 0.0
        for i in others:
            without = distribution_naive(np.delete(s, i), int(j - (i < j)), noise)
            bend = density[i, j] * math.exp(0.5 * z[i, j] ** 2 - 0.5) / noise
            out[[i, j]] += a * abs(without @ np.diff(b)) * bend
        for i, k in permutations(others, 2):
            without = distribution_naive(np.delete(s, [i, k]), int(j - (i < j) - (k < j)), noise)
            cross += density[i, j] * density[k, j] * (without @ np.diff(b, 2))
        out[j] += a * abs(cross)
    return out


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
        each = bend * slope * exponential(-0.5 * min(z * z, 1400.0))
        c[i] += each
        c[j] += each


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
