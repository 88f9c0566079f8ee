"""Hinges on pairs inside the compiled pass, and the plug-ins of all losses on runs of pairs."""

from typing import Any, NamedTuple

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.plugins import WIDTH, query_gradient, register_kernel
from directrank.surrogates.margins import HINGE, HUBER, LOGISTIC, SQUARED_HINGE, Margin
from directrank.surrogates.pairs.by_sorting import goes_by_sorting
from directrank.surrogates.pairs.kernels import four_winners, named_for
from directrank.surrogates.pairs.logistic import FAR, padded, plugin_of


class HuberPairs(NamedTuple):
    """Pairs with a Huber margin.

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
    width: float


class SquaredHingePairs(HuberPairs):
    """Pairs with a squared hinge."""


class HingePairs(HuberPairs):
    """Pairs with a hinge."""


# One kernel a margin, so that only the code of that margin is compiled.
def _gradient_of(margin):
    @inline_kernel
    @named_for(margin)
    def run_value(run, weight, plugin, row, n, typed):
        first, last = run[0] - row, run[1] - row - 1
        start, size = run[2] - row, padded(run[2] - row, run[3] - row, n)
        s, slopes, strength, total = typed[0], typed[1], plugin.strength, 0.0
        losers, changes = s[start : start + size], slopes[start : start + size]
        for four in range((last - first) // 4 + 1):
            # A winner past the last is the last with the strength 0.
            i = first + 4 * four
            a, b, c, d = i, min(i + 1, last), min(i + 2, last), min(i + 3, last)
            shares = (
                strength[row + a],
                strength[row + b] if b > a else 0.0,
                strength[row + c] if c > b else 0.0,
                strength[row + d] if d > c else 0.0,
            )
            x = (s[a], s[b], s[c], s[d])
            value, pulls = four_winners(margin, x, losers, changes, weight, shares, plugin.width)
            total += np.float64(value)
            slopes[a] -= pulls[0]
            slopes[b] -= pulls[1]
            slopes[c] -= pulls[2]
            slopes[d] -= pulls[3]
        return total

    @kernel
    @named_for(margin)
    def hinge_gradient(plugin, q, scores, scratch, gradient):
        s, slopes, n = scratch[0][0], scratch[0][1], len(scores)
        for j in range(n):
            s[j], slopes[j] = scores[j], 0
        for j in range(n, n + WIDTH):
            s[j], slopes[j] = FAR, 0
        total, row = -plugin.constants[q], plugin.indptr[q]
        for r in range(plugin.first_run[q], plugin.first_run[q + 1]):
            if plugin.is_long[r]:
                return np.nan
            total += run_value(plugin.runs[r], plugin.weights[r], plugin, row, n, scratch[0])
        for j in range(n):
            gradient[j] = slopes[j]
        return total

    return hinge_gradient


#: Plug-ins by the code of a margin.
HINGES = {HUBER: HuberPairs, SQUARED_HINGE: SquaredHingePairs, HINGE: HingePairs}
for _margin, _plugin in HINGES.items():
    register_kernel(query_gradient, _plugin)(_gradient_of(_margin))


def pairs_plugin(queries: Queries, runs, weights, strength, margin: Margin, constants) -> Any:
    """Return the plug-in of the sum of a margin over runs of pairs; see `BoundPairs`."""
    if margin.code == LOGISTIC:
        return plugin_of(queries, runs, weights)
    is_long = goes_by_sorting(runs[:, 1] - runs[:, 0], runs[:, 3] - runs[:, 2], margin)
    first_run = np.searchsorted(runs[:, 0], queries.indptr)
    return HINGES[margin.code](
        queries.indptr, max(queries.longest, 1), first_run, runs, weights, is_long, strength, constants,
        margin.width,
    )  # fmt: skip
