r"""Hinges on pairs of documents: :math:`\sum_r w_r \sum_{i, j} a_i \varphi(s_i - s_j)` over runs r of pairs.

One vectorised loop over the losers of a winner computes the value and adds the slope to both sides; documents
need no sorting by score. The pairs of long lists are instead computed by prefix sums: the smooth
hinges are sums of :math:`(c - s_i + s_j)_+^2`, and in sorted order the losers with a positive term are a
prefix for each winner, of which only the sums of 1 and s are needed.
"""

from typing import NamedTuple

import numpy as np

from directrank.contracts import KernelPlugin
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, query_gradient, register_kernel
from directrank.surrogates.margins import Logistic, Margin, parabola, terms
from directrank.surrogates.pairs.runs import FAR, add_hessian, padded

#: Pairs for each document of a run above which sorting is faster than the loop over pairs.
PAIRS_PER_DOCUMENT = 600.0


class HingePairs(NamedTuple):
    """What `hinge_gradient` reads."""

    indptr: np.ndarray  # (n_queries + 1,)
    longest: int
    first_run: np.ndarray  # (n_queries + 1,), int64: Query q has the runs ``first_run[q]:first_run[q + 1]``
    runs: np.ndarray  # (n_runs, 4), int64: See `directrank.surrogates.pairs.runs`
    weights: np.ndarray  # (n_runs,), float64
    is_long: np.ndarray  # (n_runs,), bool: Runs that sorting computes faster than a loop over their pairs
    strength: np.ndarray  # (n_docs,), float64: a, of each winner
    constants: np.ndarray  # (n_queries,), float64: What is taken from the value of each query
    form: KernelPlugin  # Of the margin; see `directrank.surrogates.margins`


class HingeOracles:
    """The oracles of a hinge on runs of pairs.

    `strength` is a of each document, 1 by default; `constants` are what pairs of a document with itself add
    to the sum of each query. The curvature that a pair adds to both documents is that of the flattest
    parabola that touches the margin and lies nowhere below it: the second derivative is 0 where a hinge is
    linear, so that the quotient of the derivative and it would have no limit.
    """

    def __init__(self, runs, weights, margin: Margin, queries: Queries, strength=None, constants=None):
        self.margin, self.form, self.runs, self.weights = margin, margin.form, runs, weights
        self.strength = np.ones(queries.n_docs) if strength is None else strength
        by_sorting = goes_by_sorting(runs[:, 1] - runs[:, 0], runs[:, 3] - runs[:, 2], margin)
        constants = np.zeros(queries.n_queries) if constants is None else constants
        self.pairs = self.short = HingePairs(
            queries.indptr, max(queries.longest, 1), np.searchsorted(runs[:, 0], queries.indptr), runs,
            weights, by_sorting, self.strength, constants, self.form,
        )  # fmt: skip
        self.long = list(zip(runs[by_sorting], weights[by_sorting], strict=True))
        if self.long:
            runs, weights, is_long = (array[~by_sorting] for array in (runs, weights, by_sorting))
            first_run = np.searchsorted(runs[:, 0], queries.indptr)
            self.short = self.pairs._replace(first_run=first_run, runs=runs, weights=weights, is_long=is_long)

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over pairs and its derivative with respect to each score."""
        gradient, room = np.empty_like(scores), -(-self.short.longest // WIDTH) * WIDTH + WIDTH
        scratch = np.empty((4, room), scores.dtype), np.empty(room)
        total = float(sum_over_queries(self.short, scores, scratch, gradient))
        for run, weight in self.long:
            total += sorted_run(scores, run, weight, self.strength, self.margin, gradient)
        return total, gradient

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient and curvature; see `directrank.contracts.Curvature`."""
        out = np.zeros_like(scores)
        add_curvatures(self.form, self.strength, scores, self.runs, self.weights, out)
        return *self.value_and_gradient(scores), out

    def gradient_plugin(self) -> HingePairs:
        """Return what `directrank.kernels.plugins.query_gradient` reads."""
        return self.pairs


@kernel
def sum_over_queries(plugin, scores, scratch, gradient):
    """Return the sum of `query_gradient` over all queries of a plug-in, and write the gradients."""
    total = 0.0
    for q in range(len(plugin.indptr) - 1):
        rows = slice(plugin.indptr[q], plugin.indptr[q + 1])
        total += query_gradient(plugin, q, scores[rows], scratch, gradient[rows])
    return total


@kernel
def add_curvatures(form, strength, scores, runs, weights, out):
    """Add the curvature at each score to `out`."""
    for r in range(len(runs)):
        start, stop = runs[r, 2], runs[r, 3]
        for i in range(runs[r, 0], runs[r, 1]):
            w = weights[r] * strength[i]
            # A document forms no pair with itself: losers before it, and losers after it.
            before, after = slice(start, min(max(i, start), stop)), slice(max(min(i + 1, stop), start), stop)
            total = spread(form, scores[i], w, scores[before], out[before])
            total += spread(form, scores[i], w, scores[after], out[after])
            out[i] += total


@kernel
def spread(form, x, weight, s, curved):
    """Add to losers the curvature of their pairs with a winner of score x; return its sum."""
    real = s.dtype.type
    total = real(0)
    for j in range(len(s)):
        c = real(parabola(form, x, s[j], weight, real))
        curved[j] += c
        total += c
    return total


class SmoothHingeOracles(HingeOracles):
    """The oracles of a hinge whose corner is rounded, with its second derivative."""

    def hessian_vector(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the second derivative at `scores` times `direction`, shape (n_docs,)."""
        out = np.zeros_like(scores)
        add_hessian(self.form, self.strength, scores, direction, self.short.runs, self.short.weights, out)
        for run, weight in self.long:
            sorted_hessian(scores, direction, run, weight, self.strength, self.margin, out)
        return out


@kernel
def one_winner(form, x, losers, slopes, weight):
    """Return the weighted value of a winner's pairs and minus its slope; add the losers' slopes."""
    real = losers.dtype.type
    w, total, pull = real(form.factor * weight), real(0), real(0)
    for j in range(len(losers)):
        c, h = terms(form, x, losers[j], real)
        slope = w * c
        total += slope * h
        slopes[j] += slope
        pull += slope
    return real(form.scale) * total, pull


@kernel
def _value_of_run(plugin, run, weight, row, n, typed):
    start, size = run[2] - row, padded(run[2] - row, run[3] - row, n)
    s, slopes, losers, total = typed[0], typed[1], slice(start, start + size), 0.0
    for i in range(run[0] - row, run[1] - row):
        share = weight * plugin.strength[row + i]
        value, pull = one_winner(plugin.form, s[i], s[losers], slopes[losers], share)
        total += np.float64(value)
        # The slope is read only now: the call has added to it where winners are losers too.
        slopes[i] -= pull
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
        total += _value_of_run(plugin, plugin.runs[r], plugin.weights[r], row, n, scratch[0])
    for j in range(n):
        gradient[j] = slopes[j]
    return total


def goes_by_sorting(winners: np.ndarray, losers: np.ndarray, margin: Margin) -> np.ndarray:
    """Say which runs, of so many winners and losers, are computed by prefix sums, bool (n_runs,)."""
    if isinstance(margin, Logistic):
        return np.zeros(len(winners), np.bool_)
    return winners * losers > PAIRS_PER_DOCUMENT * (winners + losers)


def sorted_run(scores, run, weight, strength, margin: Margin, gradient) -> float:
    """Return the value of one run, and add its derivative; pair (i, j) weighs ``weight * strength[i]``."""
    won, lost = _descending(scores, run)
    middle = float(scores[run[0]])  # differences to it are small, and their squares lose no digits
    x, s = scores[won].astype(np.float64) - middle, scores[lost].astype(np.float64) - middle
    a, pull, push = weight * strength[won], np.zeros(len(won)), np.zeros(len(lost))
    if not margin.squares:  # the hinge
        total = _differences(x, s, 1.0, a, np.full(len(x), -1.0), np.zeros(len(s)), pull, push)
    else:
        # Of a square the product of scores and derivative is twice the value.
        terms = ((c, 2.0 * factor * a) for c, factor in margin.squares)
        total = 0.5 * sum(_differences(x, s, c, times, x - c, s, pull, push) for c, times in terms)
    gradient[won] += pull.astype(gradient.dtype)
    gradient[lost] += push.astype(gradient.dtype)
    return total


def sorted_hessian(scores, direction, run, weight, strength, margin: Margin, out) -> None:
    """Add the second derivative of one run times `direction` to `out`."""
    won, lost = _descending(scores, run)
    x, u = scores[won].astype(np.float64), direction[won].astype(np.float64)
    s, v = scores[lost].astype(np.float64), direction[lost].astype(np.float64)
    a, pull, push = 2.0 * weight * strength[won], np.zeros(len(won)), np.zeros(len(lost))
    for c, factor in margin.squares:
        _differences(x, s, c, factor * a, u, v, pull, push)
    out[won] += pull.astype(out.dtype)
    out[lost] += push.astype(out.dtype)


def _descending(scores, run) -> tuple[np.ndarray, np.ndarray]:
    won = run[0] + np.argsort(-scores[run[0] : run[1]])
    lost = run[2] + np.argsort(-scores[run[2] : run[3]])
    return won, lost


@kernel
def _differences(x, s, c, a, u, v, pull, push):
    # Over the pairs with s_j > x_i − c, add a_i Σ_j (u_i − v_j) to the winner and Σ_i a_i (v_j − u_i) to the
    # loser. Return the sum of what is added times x − c and s.
    total, met, ones, firsts = 0.0, 0, 0.0, 0.0
    for i in range(len(x)):
        while met < len(s) and s[met] > x[i] - c:
            ones += 1.0
            firsts += v[met]
            met += 1
        added = a[i] * (ones * u[i] - firsts)
        pull[i] += added
        total += added * (x[i] - c)
    met, ones, firsts = len(x) - 1, 0.0, 0.0
    for j in range(len(s) - 1, -1, -1):
        while met >= 0 and s[j] > x[met] - c:
            ones += a[met]
            firsts += a[met] * u[met]
            met -= 1
        added = ones * v[j] - firsts
        push[j] += added
        total += added * s[j]
    return total
