"""Kernels of the listwise surrogates: each returns a weighted sum over queries and fills its gradient.

Exponentials are taken of differences to a maximum, so none overflows. One below e^−700 of the maximum counts
as e^−700.
"""

import math

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential

LOWEST = -700.0
# Factors, each between 1/n and n, of the products whose logarithms are taken.
FACTORS = 16


def softmax_of_segments(truth: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return the softmax of each query's values, float64 (n_docs,)."""
    sizes = np.diff(indptr)
    shifted = np.exp(truth - np.repeat(np.maximum.reduceat(truth, indptr[:-1]), sizes))
    return shifted / np.repeat(np.add.reduceat(shifted, indptr[:-1]), sizes)


def cross_entropy_naive(s: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    """Cross entropy of one query by definition, for tests."""
    p = np.exp(s - s.max())
    p /= p.sum()
    return -float(target @ np.log(p)), p - target


def likelihood_naive(s: np.ndarray, relevance: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus the log likelihood of one query and its gradient by definition, for tests."""
    value, gradient, e = -float(s.sum()), -np.ones(len(s)), np.exp(s)
    for grade in np.unique(relevance):
        block, below = relevance == grade, relevance < grade
        for placed in np.arange(block.sum()) / block.sum():
            competing = e * (below + (1.0 - placed) * block)
            value += float(np.log(competing.sum()))
            gradient += competing / competing.sum()
    return value, gradient


def cosine_naive(s: np.ndarray, truth: np.ndarray) -> tuple[float, np.ndarray]:
    """Half of one minus the cosine of one query by definition, for tests."""
    lengths = np.linalg.norm(s) * np.linalg.norm(truth)
    cosine = s @ truth / lengths
    return float(0.5 * (1.0 - cosine)), -0.5 * (truth / lengths - cosine * s / (s @ s))


@kernel
def cross_entropies(scores, target, indptr, weights, gradient):
    """ListNet: Σ_q w_q Σ_i −t_i log softmax(s)_i; `target` sums to 1 in each query."""
    total = 0.0
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            s, t, g = scores[a:b], target[a:b], gradient[a:b]
            top = np.float64(_largest(s))
            mass = _fill_exponentials(s, top, g)
            total += weights[q] * (math.log(mass) + _expected_shortfall(s, top, t))
            _subtract_target(g, t, weights[q], weights[q] / mass)
    return total


@kernel
def cross_entropy_curvatures(scores, target, indptr, weights, out):
    """ListNet: w_q P (1 − P), with P = softmax(s)."""
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            s, c = scores[a:b], out[a:b]
            mass = _fill_exponentials(s, np.float64(_largest(s)), c)
            for i in range(len(c)):
                x = np.float64(c[i])
                c[i] = weights[q] * (x / mass) * (max(mass - x, 0.0) / mass)


@kernel
def _largest(s):
    top = s[0]
    for i in range(len(s)):
        top = max(top, s[i])
    return top


@kernel
def _fill_exponentials(s, top, e):
    total = 0.0
    for i in range(len(s)):
        x = exponential(max(np.float64(s[i]) - top, LOWEST))
        e[i] = x
        total += x
    return total


@kernel
def _expected_shortfall(s, top, t):
    total = 0.0
    for i in range(len(s)):
        total += t[i] * (top - np.float64(s[i]))
    return total


@kernel
def _subtract_target(g, t, weight, scale):
    for i in range(len(g)):
        g[i] = g[i] * scale - weight * t[i]


@kernel
def likelihoods(scores, relevance, indptr, weights, gradient):
    """ListMLE: the weighted sum over queries; documents of one relevance are ranked in expectation."""
    total = 0.0
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            total += weights[q] * _likelihood(scores[a:b], relevance[a:b], weights[q], gradient[a:b])
    return total


@kernel
def _blocks(s, y, e, start_of, tops, below, masses):
    # The loop runs from the last rank up, so that it knows the mass below each block of equal relevance.
    # Masses are in units of e^top, top being the largest score so far. Return the number of blocks.
    top, lower, stop, blocks = np.float64(s[len(s) - 1]), 0.0, len(s), 0
    while stop > 0:
        start = stop - 1
        while start > 0 and y[start - 1] == y[start]:
            start -= 1
        higher = max(top, np.float64(_largest(s[start:stop])))
        lower *= exponential(max(top - higher, LOWEST))
        top = higher
        start_of[blocks], tops[blocks], below[blocks] = start, top, lower
        masses[blocks] = _fill_exponentials(s[start:stop], top, e[start:stop])
        lower += masses[blocks]
        blocks += 1
        stop = start
    return blocks


@kernel
def _likelihood(s, y, weight, g):
    # `inverse` and `own` hold, for each block, the sums of 1/D and of (1 − j/m)/D over its ranks, with
    # D = below + (1 − j/m) block.
    n, value = len(s), 0.0
    start_of, tops, below, masses = np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
    inverse, own = np.empty(n), np.empty(n)
    blocks, stop = _blocks(s, y, g, start_of, tops, below, masses), n
    for block in range(blocks):
        start = start_of[block]
        logs, inverse[block], own[block] = _ranks(below[block], masses[block], stop - start)
        value += logs
        for x in s[start:stop]:
            value += tops[block] - np.float64(x)
        stop = start
    _spread(g, start_of[:blocks], tops, inverse, own, weight)
    return value


@kernel
def _ranks(below, mass, m):
    logs, inverse, own, product, factors = 0.0, 0.0, 0.0, 1.0, 0
    for j in range(m):
        share = 1.0 - j / m
        competing = below + share * mass
        inverse += 1.0 / competing
        own += share / competing
        product *= competing
        factors += 1
        if factors == FACTORS:
            logs += math.log(product)
            product, factors = 1.0, 0
    return logs + math.log(product), inverse, own


@kernel
def _spread(g, start_of, tops, inverse, own, weight):
    # The loop runs from the first rank down: a document competes at the ranks of its block and all before it.
    stop, above, top = len(g), 0.0, tops[len(start_of) - 1]
    for block in range(len(start_of) - 1, -1, -1):
        start = start_of[block]
        stop = start_of[block - 1] if block > 0 else len(g)
        above *= exponential(max(tops[block] - top, LOWEST))
        top = tops[block]
        pull = weight * (above + own[block])
        for i in range(start, stop):
            g[i] = g[i] * pull - weight
        above += inverse[block]


@kernel
def likelihood_curvatures(scores, relevance, indptr, weights, out):
    """ListMLE: w_q Σ_k P_k(i) (1 − P_k(i)) over the ranks k at which document i competes."""
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            _likelihood_curvature(scores[a:b], relevance[a:b], weights[q], out[a:b])


@kernel
def _likelihood_curvature(s, y, weight, out):
    n, e = len(s), np.empty(len(s))
    start_of, tops, below, masses = np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
    blocks = _blocks(s, y, e, start_of, tops, below, masses)
    # Sums over the ranks of blocks above of 1/D and 1/D², in units of 1/e^top and its square.
    first, second, top = 0.0, 0.0, tops[blocks - 1]
    for block in range(blocks - 1, -1, -1):
        start, stop = start_of[block], start_of[block - 1] if block > 0 else n
        unit = exponential(max(tops[block] - top, LOWEST))
        first, second, top = first * unit, second * unit * unit, tops[block]
        m, more, squares, own, own_squares = stop - start, 0.0, 0.0, 0.0, 0.0
        for j in range(m):
            share = 1.0 - j / m
            inverse = 1.0 / (below[block] + share * masses[block])
            more += inverse
            squares += inverse * inverse
            own += share * inverse
            own_squares += (share * inverse) * (share * inverse)
        for i in range(start, stop):
            chosen = e[i] * (first + own) - e[i] * e[i] * (second + own_squares)
            out[i] = weight * max(chosen, 0.0)
        first += more
        second += squares


@kernel
def cosines(scores, truth, indptr, weights, gradient):
    """RankCosine: Σ_q w_q (1 − cos(s, g)) / 2."""
    total = 0.0
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            s, y, g = scores[a:b], truth[a:b], gradient[a:b]
            along, long, longest = _products(s, y)
            scale = 1.0 / math.sqrt(long * longest) if long > 0.0 else 1.0 / longest
            total += 0.5 * weights[q] * (1.0 - along * scale)
            back = along * scale / long if long > 0.0 else 0.0
            _fill_cosine(s, y, 0.5 * weights[q] * back, -0.5 * weights[q] * scale, g)
    return total


@kernel
def _products(s, y):
    along, long, longest = 0.0, 0.0, 0.0
    for i in range(len(s)):
        x = np.float64(s[i])
        along += x * y[i]
        long += x * x
        longest += y[i] * y[i]
    return along, long, longest


@kernel
def _fill_cosine(s, y, of_scores, of_truth, g):
    for i in range(len(s)):
        g[i] = of_scores * np.float64(s[i]) + of_truth * y[i]


@kernel
def cosine_curvatures(scores, truth, indptr, weights, out):
    """RankCosine: w_q / √3 |s|², above the second derivative for every g; |g| for |s| at zero scores."""
    for q in range(len(weights)):
        if weights[q] > 0.0:
            a, b = indptr[q], indptr[q + 1]
            _, long, longest = _products(scores[a:b], truth[a:b])
            out[a:b] = weights[q] / (math.sqrt(3.0) * (long if long > 0.0 else longest))
