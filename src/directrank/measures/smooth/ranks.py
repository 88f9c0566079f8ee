"""Documents sorted by the whole part of their fractional position, in linear time."""

import numpy as np

from directrank.kernels.compile import kernel


@kernel
def rank_of(position, ranks):
    """Return the whole part of a position, in range(ranks) even for NaN, which must not become an index."""
    return min(max(np.int64(position), 0), ranks - 1)


@kernel
def sort_by_rank(p, order, begin):
    """Fill `order` with documents by rank; rank t has ``order[begin[t]:begin[t + 1]]``.

    `begin`, with one entry more than there are ranks, must hold zeros.
    """
    ranks = len(begin) - 1
    for i in range(len(p)):
        begin[rank_of(p[i], ranks) + 1] += 1
    for t in range(1, len(begin)):
        begin[t] += begin[t - 1]
    for i in range(len(p)):
        rank = rank_of(p[i], ranks)
        order[begin[rank]] = i
        begin[rank] += 1
    for t in range(ranks, 0, -1):
        begin[t] = begin[t - 1]
    begin[0] = 0
