"""Loss-augmented ranking for measures of two classes: the most violated ranking in exact form.

With the relevant scores p₁ ≥ … ≥ p_R and the irrelevant ones q₁ ≥ … ≥ q_N, a ranking is a sequence
0 ≤ r₁ ≤ … ≤ r_N ≤ R, r_j being the number of relevant documents ahead of the j-th irrelevant one (inside a
class descending order is best). The loss minus the margin of a ranking is then a sum over irrelevant
documents,

    Δ(π) − [F(π*) − F(π)] = Σ_j h_j(r_j),    h_j(r) = Σ_{i > r} u_i [v(i + j − 1) − v(i + j)] − c (p_i − q_j),

where u_i v(p) is what the i-th relevant document adds to the measure at position p (`RelevantTerms`) and c
the constant of the feature map. For a convex v the best r_j may be taken one by one and come out in order;
else a dynamic programme over j keeps the order, in long lists up to the cutoff.

References
----------
Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average precision",
SIGIR 2007.
"""

from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.plugins import cut_of_query, register_kernel

# Up to this length counting, which vectorises, is faster than merging.
LONGEST_COUNTED = 512

#: Cells of the table of the dynamic programme above which it is cut at the last rank that counts.
LONG = 1 << 21


class CutPlugin(NamedTuple):
    """What the search for the most violated rankings reads."""

    indptr: np.ndarray  # (n_queries + 1,)
    longest: int  # Documents of the longest query
    # (n_queries,): The relevant documents come first; a query without both classes gets zeros
    n_relevant: np.ndarray
    terms: np.ndarray  # (3, n_queries), float64: Level, growth and first of `RelevantTerms`
    curve: np.ndarray  # (longest + 1,), float64
    sums: np.ndarray  # (longest + 1,), float64: Cumulative sums of the curve
    constant: np.ndarray  # (n_queries,), float64: c
    out_of_reach: np.ndarray  # (n_queries,), float64: The loss 1 − E of the best ranking of each query


class ConvexCutPlugin(CutPlugin):
    """The same where the curve is convex."""


@kernel
def most_violated_rankings(plugin, scores, losses, direction):
    """Write loss and direction in scores of the most violated ranking of each query; see `two_class_cut`."""
    scratch = np.empty((4, plugin.longest + 2), np.int64), np.empty((4, plugin.longest + 2))
    for q in range(len(losses)):
        rows = slice(plugin.indptr[q], plugin.indptr[q + 1])
        losses[q] = cut_of_query(plugin, q, scores[rows], scratch, direction[rows])


def cut_by(search):
    """Return the kernel of a search: one each, so that only the code of that search is compiled."""

    def two_class_cut(plugin, q, scores, scratch, direction):
        """Return the loss 1 − E of the most violated ranking of query q, and write its direction.

        The direction is the derivative of Δ(π) − F(π*) + F(π). Documents of one class and one score share
        theirs, so that it does not depend on the order of rows.
        """
        loss, constant, curve = plugin.out_of_reach[q], plugin.constant[q], plugin.curve
        a, b, first = plugin.terms[0, q], plugin.terms[1, q], plugin.terms[2, q]
        R, n = plugin.n_relevant[q], len(scores)
        if R == 0 or n == R:
            for i in range(n):
                direction[i] = 0
            return loss
        integers, numbers = scratch
        order, ranks, counts = integers[0, :n], integers[1, : n - R], integers[2, :n]
        p, q, level, slope = numbers[0, : R + 1], numbers[1, : n - R], numbers[2], numbers[3]
        for half in range(2):
            start, stop = half * R, n if half else R
            sort_descending(scores[start:stop], order[start:stop], integers[3])
        p[0] = 0.0
        for i in range(R):
            p[i + 1] = p[i] + constant * np.float64(scores[order[i]])
        for j in range(n - R):
            q[j] = constant * np.float64(scores[R + order[R + j]])
        for t in range(n + 1):
            level[t] = a * curve[t] + b * ((t + 1) * curve[t] - plugin.sums[t])
            slope[t] = b * curve[t]
        search(p, q, level, slope, first, curve, ranks)
        _count_inversions(ranks, counts)
        for i in range(R):
            weight = a + b * (i + 1) + (first if i == 0 else 0.0)
            loss += weight * (curve[i + 1] - curve[i + 1 - counts[i]])
        for half in range(2):
            start, stop = half * R, n if half else R
            rows = slice(start, stop)
            _average_over_ties(scores[rows], order[rows], counts[rows], constant, direction[rows])
        return loss

    two_class_cut.__name__ = two_class_cut.__qualname__ = f"two_class_cut{search.__name__}"
    return kernel(two_class_cut)


@inline_kernel
def _best(j, low, high, p, qj, level, slope, first, curve):
    # Return the largest maximiser of h_j in low..high. Breaking all ties alike keeps the ranks in order.
    best, at = -np.inf, low
    x, y, z = level[j:], slope[j:], np.float64(j)
    for r in range(max(low, 1), high + 1):
        value = x[r] - z * y[r] + p[r] - r * qj
        if value >= best:
            best, at = value, r
    if low == 0 and x[0] - z * y[0] + first * (curve[j] - curve[j + 1]) > best:
        at = 0
    return at


@inline_kernel
def _one_by_one(p, q, level, slope, first, curve, ranks):
    # Every second rank is searched between its neighbours, which were found with twice the step.
    step = 1
    while 2 * step <= len(q):
        step *= 2
    while step > 0:
        for j in range(step - 1, len(q), 2 * step):
            low = ranks[j - step] if j >= step else 0
            high = ranks[j + step] if j + step < len(q) else len(p) - 1
            ranks[j] = _best(j + 1, low, high, p, q[j], level, slope, first, curve)
        step //= 2


def programme_from(long):
    """Return the search by a dynamic programme; with more than `long` cells it stops at the cutoff.

    Beyond the last rank that counts, each r_j has a best value of its own, and these come out in order: the
    programme needs the first irrelevant documents only, and one state for all r_j beyond the cutoff.
    """

    def programme(p, q, level, slope, first, curve, ranks):
        R, N = len(p) - 1, len(q)
        reach = _last_that_counts(curve) if long < (R + 1) * N else R + N
        states, steps = min(R, reach), min(N, reach)
        _fill_free_ranks(p, q, ranks)
        best = np.zeros(states + 1)
        back = np.empty((steps, states + 1), np.int32)
        for j in range(steps):
            top, at = -np.inf, 0
            for r in range(states + 1):
                if best[r] >= top:
                    top, at = best[r], r
                back[j, r] = at
                k = r if r < states else max(states, ranks[j])
                height = level[k + j + 1] - (j + 1) * slope[k + j + 1] + p[k] - k * q[j]
                best[r] = top + (height if r > 0 else height + first * (curve[j + 1] - curve[j + 2]))
        _add_free_ranks(best, p, q, ranks, steps)
        at = 0
        for r in range(states + 1):
            if best[r] >= best[at]:
                at = r
        for j in range(N - 1, -1, -1):
            ranks[j] = max(at, ranks[j]) if at == states or j >= steps else at
            at = back[j, at] if j < steps else at

    programme.__name__ = programme.__qualname__ = f"programme_from_{long}"
    return inline_kernel(programme)


@inline_kernel
def _last_that_counts(curve):
    last = len(curve) - 1
    while last > 1 and curve[last] == 0.0:
        last -= 1
    return last


@inline_kernel
def _fill_free_ranks(p, q, ranks):
    # The best r_j where no loss depends on it: behind all relevant documents of at least its score.
    free = 0
    for j in range(len(q)):
        while free + 1 < len(p) and p[free + 1] - p[free] >= q[j]:
            free += 1
        ranks[j] = free


@inline_kernel
def _add_free_ranks(best, p, q, ranks, first):
    # Add the margins of the documents from `first` on, whose ranks are the larger of r and their best one.
    rest, passed, total = 0.0, 0.0, 0.0
    for j in range(first, len(q)):
        rest += p[ranks[j]] - ranks[j] * q[j]
    j = first
    for r in range(len(best)):
        while j < len(q) and ranks[j] < r:
            rest -= p[ranks[j]] - ranks[j] * q[j]
            passed += 1.0
            total += q[j]
            j += 1
        best[r] += rest + passed * p[r] - r * total


@inline_kernel
def _count_inversions(ranks, counts):
    # Write minus the number of irrelevant documents ahead of each relevant one, #{j : r_j < i}, then the
    # number of relevant documents behind each irrelevant one.
    j, R = 0, len(counts) - len(ranks)
    for i in range(R):
        while j < len(ranks) and ranks[j] <= i:
            j += 1
        counts[i] = -j
    for j in range(len(ranks)):
        counts[R + j] = R - ranks[j]


@inline_kernel
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


register_kernel(cut_of_query, CutPlugin)(cut_by(programme_from(LONG)))
register_kernel(cut_of_query, ConvexCutPlugin)(cut_by(_one_by_one))


@inline_kernel
def sort_descending(s, order, spare):
    """Fill `order` with the indices of s by descending value, stably; `spare` is a scratch array."""
    if len(s) <= LONGEST_COUNTED:
        _count(s, order)
    else:
        _merge(s, order, spare)


@inline_kernel
def _count(s, order):
    for i in range(len(s)):
        ahead, value = 0, s[i]
        before, after = s[:i], s[i:]
        for j in range(len(before)):
            ahead += before[j] >= value
        for j in range(len(after)):
            ahead += after[j] > value
        order[ahead] = i


@inline_kernel
def _merge(s, order, spare):
    n = len(s)
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            a, b = low, middle
            for k in range(low, high):
                if a < middle and (b >= high or s[order[a]] >= s[order[b]]):
                    spare[k] = order[a]
                    a += 1
                else:
                    spare[k] = order[b]
                    b += 1
        for k in range(n):
            order[k] = spare[k]
        width *= 2
