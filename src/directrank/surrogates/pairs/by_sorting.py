r"""Losses on the pairs of long lists: after sorting, prefix sums in place of pairs.

The smooth hinges are sums of :math:`(c - s_i + s_j)_+^2`: the squared hinge with c = 1, and the Huber hinge
as the difference of two, c = 1 + h and c = 1 − h, over 4h. In sorted order the losers with a positive term
are a suffix for each winner, and only their sums of 1, s and s² are needed; of 1 and s for the hinge itself.
"""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.surrogates.margins import Hinge, Huber, Margin, SquaredHinge

#: Pairs for each document of a run above which sorting is faster than the loop over pairs.
PAIRS_PER_DOCUMENT = 600.0


def goes_by_sorting(winners: np.ndarray, losers: np.ndarray, margin: Margin) -> np.ndarray:
    """Say which runs, of so many winners and losers, are computed by prefix sums, bool (n_runs,)."""
    if not isinstance(margin, (Huber, SquaredHinge, Hinge)):
        return np.zeros(len(winners), np.bool_)
    return winners * losers > PAIRS_PER_DOCUMENT * (winners + losers)


def squares_of(margin: Margin) -> tuple[tuple[float, float], ...]:
    """Return the margin as a sum of factor · (c − t)₊²: pairs of c and factor."""
    if isinstance(margin, SquaredHinge):
        return ((1.0, 1.0),)
    h = margin.width
    return ((1.0 + h, 0.25 / h), (1.0 - h, -0.25 / h))


def sorted_run(scores, run, weight, strength, margin: Margin, gradient) -> float:
    """Return the value of one run, and add its derivative to `gradient`; pairs as in `PAIR_SUMS`."""
    won, lost = _descending(scores, run)
    middle = float(scores[run[0]])  # differences to it are small, and their squares lose no digits
    x, s = scores[won].astype(np.float64) - middle, scores[lost].astype(np.float64) - middle
    a, pull, push = weight * strength[won], np.zeros(len(won)), np.zeros(len(lost))
    if isinstance(margin, Hinge):
        total = _ramps(x, a, s, pull, push)
    else:
        total = sum(factor * _squares(x, a, s, c, factor, pull, push) for c, factor in squares_of(margin))
    gradient[won] += pull.astype(gradient.dtype)
    gradient[lost] += push.astype(gradient.dtype)
    return total


def sorted_curvature(scores, direction, run, weight, strength, margin: Margin, out) -> None:
    """Add the second derivative of one run times `direction` to `out`."""
    won, lost = _descending(scores, run)
    x, s = scores[won].astype(np.float64), scores[lost].astype(np.float64)
    vx, v = direction[won].astype(np.float64), direction[lost].astype(np.float64)
    a, pull, push = weight * strength[won], np.zeros(len(won)), np.zeros(len(lost))
    for c, factor in squares_of(margin):
        _curvature(x, vx, a, s, v, c, factor, pull, push)
    out[won] += pull.astype(out.dtype)
    out[lost] += push.astype(out.dtype)


def _descending(scores, run) -> tuple[np.ndarray, np.ndarray]:
    won = run[0] + np.argsort(-scores[run[0] : run[1]])
    lost = run[2] + np.argsort(-scores[run[2] : run[3]])
    return won, lost


@kernel
def _squares(x, a, s, c, factor, pull, push):
    value, met, ones, firsts, seconds = 0.0, 0, 0.0, 0.0, 0.0
    for i in range(len(x)):
        while met < len(s) and s[met] > x[i] - c:
            ones += 1.0
            firsts += s[met]
            seconds += s[met] * s[met]
            met += 1
        d = c - x[i]
        value += a[i] * (ones * d * d + 2.0 * d * firsts + seconds)
        pull[i] -= 2.0 * factor * a[i] * (ones * d + firsts)
    met, ones, firsts = len(x) - 1, 0.0, 0.0
    for j in range(len(s) - 1, -1, -1):
        while met >= 0 and s[j] > x[met] - c:
            ones += a[met]
            firsts += a[met] * x[met]
            met -= 1
        push[j] += 2.0 * factor * ((c + s[j]) * ones - firsts)
    return value


@kernel
def _ramps(x, a, s, pull, push):
    value, met, ones, firsts = 0.0, 0, 0.0, 0.0
    for i in range(len(x)):
        while met < len(s) and s[met] > x[i] - 1.0:
            ones += 1.0
            firsts += s[met]
            met += 1
        value += a[i] * (ones * (1.0 - x[i]) + firsts)
        pull[i] -= a[i] * ones
    met, ones = len(x) - 1, 0.0
    for j in range(len(s) - 1, -1, -1):
        while met >= 0 and s[j] > x[met] - 1.0:
            ones += a[met]
            met -= 1
        push[j] += ones
    return value


@kernel
def _curvature(x, vx, a, s, v, c, factor, pull, push):
    met, ones, firsts = 0, 0.0, 0.0
    for i in range(len(x)):
        while met < len(s) and s[met] > x[i] - c:
            ones += 1.0
            firsts += v[met]
            met += 1
        pull[i] += 2.0 * factor * a[i] * (ones * vx[i] - firsts)
    met, ones, firsts = len(x) - 1, 0.0, 0.0
    for j in range(len(s) - 1, -1, -1):
        while met >= 0 and s[j] > x[met] - c:
            ones += a[met]
            firsts += a[met] * vx[met]
            met -= 1
        push[j] += 2.0 * factor * (ones * v[j] - firsts)
