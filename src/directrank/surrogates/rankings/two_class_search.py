"""Loss-augmented ranking for measures of two classes: the most violated ranking in exact form.

With the relevant scores p₁ ≥ … ≥ p_R and the irrelevant ones q₁ ≥ … ≥ q_N, a ranking is a sequence
0 ≤ r₁ ≤ … ≤ r_N ≤ R, r_j being the number of relevant documents ahead of the j-th irrelevant one (inside a
class descending order is best). The loss minus the margin of a ranking is then a sum over irrelevant
documents,

    Δ(π) − [F(π*) − F(π)] = Σ_j h_j(r_j),    h_j(r) = Σ_{i > r} u_i [v(i + j − 1) − v(i + j)] − c (p_i − q_j),

where u_i v(p) is what the i-th relevant document adds to the measure at position p (`RelevantTerms`) and c
the constant of the feature map. For a convex v the best r_j may be taken one by one and come out in order;
else a dynamic programme over j keeps the order.

References
----------
Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average precision",
SIGIR 2007.
"""

from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import cut_of_query, register_kernel
from directrank.kernels.sorting import sort_descending

# Beyond this many pairs of a relevant and an irrelevant document, divide and conquer beats the scan.
SCAN_LIMIT = 1 << 8


def best_sequence_naive(p, q, u, v, c) -> tuple[float, np.ndarray]:
    """The largest Σ h_j(r_j) over all sequences, and one that attains it, for tests."""
    R, N = len(p), len(q)
    best, back = np.zeros(R + 1), []
    for j in range(1, N + 1):
        i = np.arange(1, R + 1)
        d = u * (v[i + j - 1] - v[i + j]) - c * (p - q[j - 1])
        h = np.append(np.cumsum(d[::-1])[::-1], 0.0)
        back.append([max(range(r + 1), key=lambda k, best=best: best[k]) for r in range(R + 1)])
        best = h + np.maximum.accumulate(best)
    ranks = [int(np.argmax(best))]
    for row in back[:0:-1]:
        ranks.append(row[ranks[-1]])
    return float(best.max()), np.array(ranks[::-1])


class CutPlugin(NamedTuple):
    """What the search for the most violated rankings reads.

    Attributes
    ----------
    indptr : ndarray of shape (n_queries + 1,)
    longest : int
        Documents of the longest query.
    n_relevant : ndarray of shape (n_queries,)
        The relevant documents come first; a query without both classes gets zeros.
    terms : ndarray of shape (3, n_queries), float64
        Level, growth and first of `RelevantTerms`.
    curve : ndarray of shape (longest + 1,), float64
    sums : ndarray of shape (longest + 1,), float64
        Cumulative sums of the curve.
    constant : ndarray of shape (n_queries,), float64
        c.
    convex : bool
        Whether the curve is convex.
    out_of_reach : ndarray of shape (n_queries,), float64
        The loss 1 − E of the best ranking of each query.
    """

    indptr: np.ndarray
    longest: int
    n_relevant: np.ndarray
    terms: np.ndarray
    curve: np.ndarray
    sums: np.ndarray
    constant: np.ndarray
    convex: bool
    out_of_reach: np.ndarray


@kernel
def most_violated_rankings(plugin, scores, losses, direction):
    """Write loss and direction in scores of the most violated ranking of each query; see `two_class_cut`."""
    scratch = np.empty((4, plugin.longest + 2), np.int64), np.empty((4, plugin.longest + 2))
    for q in range(len(losses)):
        rows = slice(plugin.indptr[q], plugin.indptr[q + 1])
        losses[q] = two_class_cut(plugin, q, scores[rows], scratch, direction[rows])


@register_kernel(cut_of_query, CutPlugin)
@kernel
def two_class_cut(plugin, q, scores, scratch, direction):
    """Return the loss 1 − E of the most violated ranking of query q, and write its direction.

    The direction is the derivative of Δ(π) − F(π*) + F(π). Documents of one class and one score share theirs,
    so that it does not depend on the order of rows.
    """
    loss = plugin.out_of_reach[q]
    R, constant, curve = plugin.n_relevant[q], plugin.constant[q], plugin.curve
    a, b, first = plugin.terms[0, q], plugin.terms[1, q], plugin.terms[2, q]
    N = len(scores) - R
    if R == 0 or N == 0:
        for i in range(len(direction)):
            direction[i] = 0
        return loss
    integers, numbers = scratch
    up, down, ranks, ahead = integers[0, :R], integers[1, :N], integers[2, :N], integers[3, :R]
    p, q, level, slope = numbers[0, : R + 1], numbers[1, :N], numbers[2], numbers[3]
    # The last two rows are scratch of the sorting before they hold the ranks.
    sort_descending(scores[:R], up, integers[3])
    sort_descending(scores[R:], down, integers[2])
    p[0] = 0.0
    for i in range(R):
        p[i + 1] = p[i] + constant * np.float64(scores[up[i]])
    for j in range(N):
        q[j] = constant * np.float64(scores[R + down[j]])
    for t in range(R + N + 1):
        level[t] = a * curve[t] + b * ((t + 1) * curve[t] - plugin.sums[t])
        slope[t] = b * curve[t]
    if not plugin.convex:
        _programme(p, q, level, slope, first, curve, ranks)
    elif R * N <= SCAN_LIMIT:
        _scan(p, q, level, slope, first, curve, ranks)
    else:
        _divide(p, q, level, slope, first, curve, ranks)
    _irrelevant_ahead(ranks, ahead)
    for i in range(R):
        weight = a + b * (i + 1) + (first if i == 0 else 0.0)
        loss += weight * (curve[i + 1] - curve[i + 1 + ahead[i]])
    for j in range(N):
        ranks[j] = R - ranks[j]
    _average_over_ties(scores[:R], up, ahead, -constant, direction[:R])
    _average_over_ties(scores[R:], down, ranks, constant, direction[R:])
    return loss


@kernel
def _height(r, j, p, qj, level, slope, first, curve):
    # Return h_j(r) up to a constant of j; j counts from 1.
    value = level[r + j] - j * slope[r + j] + p[r] - r * qj
    return value + first * (curve[j] - curve[j + 1]) if r == 0 else value


@kernel
def _best(j, low, high, p, qj, level, slope, first, curve):
    # Return the largest maximiser in low..high. Breaking all ties alike keeps the ranks in order.
    best, at = -np.inf, low
    x, y, z = level[j:], slope[j:], np.float64(j)
    for r in range(max(low, 1), high + 1):
        value = x[r] - z * y[r] + p[r] - r * qj
        if value >= best:
            best, at = value, r
    if low == 0 and _height(np.int64(0), j, p, qj, level, slope, first, curve) > best:
        at = 0
    return at


@kernel
def _scan(p, q, level, slope, first, curve, ranks):
    low = np.int64(0)  # numba would compile `_best` once more for a literal 0.
    for j in range(len(q)):
        low = _best(j + 1, low, len(p) - 1, p, q[j], level, slope, first, curve)
        ranks[j] = low


@kernel
def _divide(p, q, level, slope, first, curve, ranks):
    # The middle one is searched first, because its rank bounds those of either side.
    stack = np.empty((128, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, len(q), 0, len(p) - 1
    depth = 1
    while depth > 0:
        depth -= 1
        start, stop, low, high = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if start >= stop:
            continue
        j = (start + stop) // 2
        at = _best(j + 1, low, high, p, q[j], level, slope, first, curve)
        ranks[j] = at
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = start, j, low, at
        depth += 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = j + 1, stop, at, high
        depth += 1


@kernel
def _programme(p, q, level, slope, first, curve, ranks):
    R, N = len(p) - 1, len(q)
    best = np.zeros(R + 1)
    back = np.empty((N, R + 1), np.int32)
    for j in range(N):
        top, at = -np.inf, 0
        for r in range(R + 1):
            if best[r] >= top:
                top, at = best[r], r
            back[j, r] = at
            best[r] = top + _height(r, j + 1, p, q[j], level, slope, first, curve)
    at = 0
    for r in range(R + 1):
        if best[r] >= best[at]:
            at = r
    for j in range(N - 1, -1, -1):
        ranks[j] = at
        at = back[j, at]


@kernel
def _irrelevant_ahead(ranks, ahead):
    # Write the number of irrelevant documents ahead of each relevant one, #{j : r_j < i}.
    j = 0
    for i in range(len(ahead)):
        while j < len(ranks) and ranks[j] <= i:
            j += 1
        ahead[i] = j


@kernel
def _average_over_ties(s, order, counts, factor, out):
    start = 0
    while start < len(s):
        stop, total = start, 0.0
        while stop < len(s) and s[order[stop]] == s[order[start]]:
            total += counts[stop]
            stop += 1
        for k in range(start, stop):
            out[order[k]] = factor * total / (stop - start)
        start = stop
