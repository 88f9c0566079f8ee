"""Kernels of swap tables for measures that read every grade; see `directrank.measures.exchange.tables`."""

import numpy as np

from directrank.kernels.compile import kernel


@kernel
def err_swaps(place, indptr, below, start, stopping, reciprocal, norm, table):
    r"""Fill the table of expected reciprocal rank; `reciprocal` is 1/t at rank t from 1, 0 beyond the cutoff.

    Let u be the stopping probability at rank p and v that at a later rank q. A is the share of users who pass
    the ranks before p, M the share who pass the ranks between, and B what those ranks add. The swap changes
    the measure by A |u − v| |1/p − B − M/q|.
    """
    for q in range(len(indptr) - 1):
        first, last = indptr[q], indptr[q + 1]
        n = last - first
        at = np.empty(n, np.int64)
        for i in range(first, last):
            at[place[i]] = i
        reach = 1.0
        for p in range(n):
            u = stopping[at[p]]
            passed, added = 1.0, 0.0
            for t in range(p + 1, n):
                high, low = min(at[p], at[t]), max(at[p], at[t])
                v = stopping[at[t]]
                if low >= below[high]:
                    change = (u - v) * (reciprocal[p + 1] - added - passed * reciprocal[t + 1])
                    table[start[high] + low - below[high]] = reach * abs(change) / norm[q]
                added += passed * v * reciprocal[t + 1]
                passed *= 1.0 - v
            reach *= 1.0 - u


@kernel
def wpd_swaps(place, indptr, below, start, relevance, table):
    """Fill the table of the agreement with relevance.

    A document that moves up past others gains a right pair for each of lower relevance, and loses one for
    each of higher relevance.
    """
    for q in range(len(indptr) - 1):
        first, last = indptr[q], indptr[q + 1]
        n, pairs = last - first, start[last] - start[first]
        at, y, between = np.empty(n, np.int64), np.empty(n), np.zeros(n)
        for i in range(first, last):
            at[place[i]] = i
        for p in range(n):
            y[p] = relevance[at[p]]
        for p in range(n):
            for t in range(p):
                between[p] += np.sign(y[p] - y[t])
        for p in range(n):
            own = 0.0
            for t in range(p + 1, n):
                between[t] -= np.sign(y[t] - y[p])
                high, low = min(at[p], at[t]), max(at[p], at[t])
                if low >= below[high]:
                    change = np.sign(y[t] - y[p]) + between[t] - own
                    table[start[high] + low - below[high]] = abs(change) / pairs
                own += np.sign(y[p] - y[t])


@kernel
def gain_swaps(place, indptr, below, start, gain, discount, table):
    """Fill the table of a sum of gains times discounts; `discount` has the ranks of each query, (n_docs,)."""
    for q in range(len(indptr) - 1):
        first, last = indptr[q], indptr[q + 1]
        curve = discount[first:last]
        for i in range(first, last):
            others, lower = place[below[i] : last], gain[below[i] : last]
            cells, here = table[start[i] : start[i + 1]], curve[place[i]]
            for j in range(len(others)):
                cells[j] = (gain[i] - lower[j]) * abs(here - curve[others[j]])
