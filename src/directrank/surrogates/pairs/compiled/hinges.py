"""Hinges on pairs inside the compiled pass, and the plug-ins of all losses on runs of pairs."""

from typing import Any, NamedTuple

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, query_gradient, register_kernel
from directrank.surrogates.margins import HINGE, HUBER, LOGISTIC, SQUARED_HINGE, Margin
from directrank.surrogates.pairs.by_sorting import goes_by_sorting
from directrank.surrogates.pairs.compiled.logistic import FAR, padded, plugin_of
from directrank.surrogates.pairs.kernels import four_winners


class HingePairs(NamedTuple):
    """What `hinge_gradient` reads.

    Attributes
    ----------
    indptr : ndarray of shape (n_queries + 1,)
    longest : int
    first_run : ndarray of shape (n_queries + 1,), int64
        Query q has the runs ``first_run[q]:first_run[q + 1]``.
    runs : ndarray of shape (n_runs, 4), int64
        See `directrank.surrogates.pairs.runs`.
    weights : ndarray of shape (n_runs,), float64
    is_long : ndarray of shape (n_runs,), bool
        Runs that sorting computes faster than a loop over their pairs.
    strength : ndarray of shape (n_docs,), float64
        Of each winner.
    constants : ndarray of shape (n_queries,), float64
        What is taken from the value of each query.
    margin : int
        The code of the margin.
    width : float
    """

    indptr: np.ndarray
    longest: int
    first_run: np.ndarray
    runs: np.ndarray
    weights: np.ndarray
    is_long: np.ndarray
    strength: np.ndarray
    constants: np.ndarray
    margin: int
    width: float


# The margin is a constant in each call, so that loops have no branch.
@kernel
def _four_of(plugin, x, losers, changes, weight, shares):
    if plugin.margin == HUBER:
        return four_winners(HUBER, x, losers, changes, weight, shares, plugin.width)
    if plugin.margin == SQUARED_HINGE:
        return four_winners(SQUARED_HINGE, x, losers, changes, weight, shares, plugin.width)
    return four_winners(HINGE, x, losers, changes, weight, shares, plugin.width)


@kernel
def _run_value(plugin, run, weight, row, n, typed):
    first, last = run[0] - row, run[1] - row - 1
    start, size = run[2] - row, padded(run[2] - row, run[3] - row, n)
    s, slopes, strength, total = typed[0], typed[1], plugin.strength, 0.0
    for four in range((last - first) // 4 + 1):
        # A winner past the last is the last with the strength 0.
        a = first + 4 * four
        b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
        shares = (
            strength[row + a],
            strength[row + b] if b > a else 0.0,
            strength[row + c] if c > b else 0.0,
            strength[row + d] if d > c else 0.0,
        )
        losers, changes = s[start : start + size], slopes[start : start + size]
        value, pulls = _four_of(plugin, (s[a], s[b], s[c], s[d]), losers, changes, weight, shares)
        total += np.float64(value)
        slopes[a] -= pulls[0]
        slopes[b] -= pulls[1]
        slopes[c] -= pulls[2]
        slopes[d] -= pulls[3]
    return total


@register_kernel(query_gradient, HingePairs)
@kernel
def hinge_gradient(plugin, q, scores, scratch, gradient):
    """Return the weighted value of query q and write its gradient; NaN where sorting is faster."""
    s, slopes, n = scratch[0][0], scratch[0][1], len(scores)
    for j in range(n):
        s[j], slopes[j] = scores[j], 0
    for j in range(n, n + WIDTH):
        s[j], slopes[j] = FAR, 0
    total, row = -plugin.constants[q], plugin.indptr[q]
    for r in range(plugin.first_run[q], plugin.first_run[q + 1]):
        if plugin.is_long[r]:
            return np.nan
        total += _run_value(plugin, plugin.runs[r], plugin.weights[r], row, n, scratch[0])
    for j in range(n):
        gradient[j] = slopes[j]
    return total


def pairs_plugin(queries: Queries, runs, weights, strength, margin: Margin, constants) -> Any:
    """Return the plug-in of the sum of a margin over runs of pairs; see `BoundPairs`."""
    if margin.code == LOGISTIC:
        return plugin_of(queries, runs, weights)
    is_long = goes_by_sorting(runs[:, 1] - runs[:, 0], runs[:, 3] - runs[:, 2], margin)
    first_run = np.searchsorted(runs[:, 0], queries.indptr)
    return HingePairs(
        queries.indptr, max(queries.longest, 1), first_run, runs, weights, is_long, strength, constants,
        margin.code, margin.width,
    )  # fmt: skip
