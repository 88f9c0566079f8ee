r"""Losses on the pairs of long lists: after sorting, prefix sums in place of pairs.

The smooth hinges are sums of :math:`(c - s_i + s_j)_+^2`: the squared hinge with c = 1, and the Huber hinge
as the difference of two, c = 1 + h and c = 1 − h, over 4h. In sorted order the losers with a positive term
are a prefix for each winner, and only their sums of 1 and s are needed.
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
    h = margin.width
    return ((1.0 + h, 0.25 / h), (1.0 - h, -0.25 / h)) if h > 0 else ((1.0, 1.0),)


def sorted_run(scores, run, weight, strength, margin: Margin, gradient) -> float:
    """Return the value of one run, and add its derivative to `gradient`; pairs as in `PAIR_SUMS`."""
    won, lost = _descending(scores, run)
    middle = float(scores[run[0]])  # differences to it are small, and their squares lose no digits
    x, s = scores[won].astype(np.float64) - middle, scores[lost].astype(np.float64) - middle
    a, pull, push = weight * strength[won], np.zeros(len(won)), np.zeros(len(lost))
    if isinstance(margin, Hinge):
        total = _differences(x, s, 1.0, a, np.full(len(x), -1.0), np.zeros(len(s)), pull, push)
    else:
        # Of a square the product of scores and derivative is twice the value.
        terms = ((c, 2.0 * factor * a) for c, factor in squares_of(margin))
        total = 0.5 * sum(_differences(x, s, c, each, x - c, s, pull, push) for c, each in terms)
    gradient[won] += pull.astype(gradient.dtype)
    gradient[lost] += push.astype(gradient.dtype)
    return total


def sorted_hessian(scores, direction, run, weight, strength, margin: Margin, out) -> None:
    """Add the second derivative of one run times `direction` to `out`."""
    won, lost = _descending(scores, run)
    x, u = scores[won].astype(np.float64), direction[won].astype(np.float64)
    s, v = scores[lost].astype(np.float64), direction[lost].astype(np.float64)
    a, pull, push = 2.0 * weight * strength[won], np.zeros(len(won)), np.zeros(len(lost))
    for c, factor in squares_of(margin):
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
