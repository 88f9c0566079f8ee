"""A sum over documents along a line of scores: each document walks its own breakpoints."""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.sorting import sort_descending
from directrank.measures.positions import positions_naive


@kernel
def walk(scores, direction, indptr, n_read, weights, level, growth, sums, rank_sums, low, width, out):
    """Add a measure of ``scores + t · direction`` to bins of t.

    The value of a query is Σ (level + growth · i) · v(p) over the documents that are read, i counting them
    from the top and p the position, in expectation over documents that stay tied.

    Parameters
    ----------
    scores, direction : ndarray of shape (n_docs,), float64
    indptr, n_read, weights : ndarray
        Of the queries: boundaries, how many first documents are read, and the factor of the value.
    level, growth : ndarray of shape (n_docs,), float64
    sums, rank_sums : ndarray of shape (longest + 1,), float64
        Sums of v(p) and of p · v(p) over the first positions, from 0.
    low, width : float
        Where the first bin begins, and the width of each.
    out : ndarray of shape (2, n_bins + 1), float64
        Of each bin, the change of the value in it, and the integral of that change to the end of the bin. The
        last entry of the first row receives the value where the first bin begins.
    """
    n_bins, longest = out.shape[1] - 1, len(sums) - 1
    high = low + n_bins * width
    times, order, spare = np.empty(longest), np.empty(longest, np.int64), np.empty(longest, np.int64)
    jumps = np.empty((longest, 2), np.int64)
    for q in range(len(n_read)):
        first, stop, n_lead = indptr[q], indptr[q + 1], n_read[q]
        s, d = scores[first:stop], direction[first:stop]
        for i in range(n_lead if weights[q] > 0.0 else 0):
            n, above, tied, ahead, beside = _breakpoints(s, d, i, n_lead, low, high, times, jumps)
            sort_descending(times[:n], order[:n], spare[:n])
            a, b = level[first + i], growth[first + i]
            value = _term(a, b, above, tied, ahead, beside, sums, rank_sums)
            out[0, n_bins] += weights[q] * value
            for k in range(n):
                above += jumps[order[k], 0]
                ahead += jumps[order[k], 1]
                now = _term(a, b, above, tied, ahead, beside, sums, rank_sums)
                change, place = weights[q] * (now - value), (-times[order[k]] - low) / width
                at = min(np.int64(place), n_bins - 1)
                out[0, at] += change
                out[1, at] += change * (at + 1.0 - place) * width
                value = now


@kernel
def _breakpoints(s, d, i, n_lead, low, high, times, jumps):
    # Minus the times at which document i changes places with another one, and by how much the numbers of
    # documents above it, and of those that are read, change then; these numbers at the start, and how many
    # documents stay tied with it, itself included.
    n, above, tied, ahead, beside = 0, 0, 0, 0, 0
    for j in range(len(s)):
        slope, gap, read = d[j] - d[i], s[j] - s[i], np.int64(j < n_lead)
        if slope == 0.0:
            above += gap > 0.0
            ahead += read * np.int64(gap > 0.0)
            tied += gap == 0.0
            beside += read * np.int64(gap == 0.0)
            continue
        t = -gap / slope
        if (slope > 0.0) == (t <= low):
            above += 1
            ahead += read
        if t > low and t < high:
            sign = 1 if slope > 0.0 else -1
            times[n], jumps[n, 0], jumps[n, 1] = -t, sign, sign * read
            n += 1
    return n, above, tied, ahead, beside


@kernel
def _term(level, growth, above, tied, ahead, beside, sums, rank_sums):
    # The mean over the ranks of its block. Of the others in the block that are read, a share comes before.
    share = (beside - 1.0) / (tied - 1.0) if tied > 1 else 0.0
    reached, ranks = sums[above + tied] - sums[above], rank_sums[above + tied] - rank_sums[above]
    first = level + growth * (1.0 + ahead - share * (above + 1.0))
    return (first * reached + growth * share * ranks) / tied


def values_naive(measure, queries, scores, direction, sizes) -> np.ndarray:
    """Values of queries after steps of some sizes, one evaluation each, (n_sizes, n_queries), for tests."""
    moved = (positions_naive(queries, scores + t * direction) for t in sizes)
    return np.stack([measure.query_values(queries, each) for each in moved])
