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


def terms_of(margin: Margin) -> tuple[tuple[float, float], ...]:
    """Return the margin as a sum of factor · (c − t)₊², or (c − t)₊ for the hinge: pairs of c and factor."""
    h = margin.width
    return ((1.0 + h, 0.25 / h), (1.0 - h, -0.25 / h)) if h > 0 else ((1.0, 1.0),)


def sorted_run(scores, run, weight, strength, margin: Margin, gradient) -> float:
    """Return the value of one run, and add its derivative to `gradient`; pairs as in `PAIR_SUMS`."""
    won, lost = _descending(scores, run)
    middle = float(scores[run[0]])  # differences to it are small, and their squares lose no digits
    x, s = scores[won].astype(np.float64) - middle, scores[lost].astype(np.float64) - middle
    degree = 1 if isinstance(margin, Hinge) else 2
    total, terms = 0.0, []
    for c, factor in terms_of(margin):
        u, v = (2.0 * (x - c), 2.0 * s) if degree == 2 else (np.full(len(x), -1.0), np.zeros(len(s)))
        pull, push = _differences(x, s, c, factor * weight * strength[won], u, v)
        # A homogeneous function is the product of its argument and its derivative, over its degree.
        total += float((pull * (x - c)).sum() + (push * s).sum()) / degree
        terms.append((pull, push))
    _add(terms, won, lost, gradient)
    return total


def sorted_curvature(scores, direction, run, weight, strength, margin: Margin, out) -> None:
    """Add the second derivative of one run times `direction` to `out`."""
    won, lost = _descending(scores, run)
    x, u = scores[won].astype(np.float64), direction[won].astype(np.float64)
    s, v = scores[lost].astype(np.float64), direction[lost].astype(np.float64)
    a = 2.0 * weight * strength[won]
    _add([_differences(x, s, c, factor * a, u, v) for c, factor in terms_of(margin)], won, lost, out)


def _add(terms, won, lost, out) -> None:
    """Add the sums of terms in double precision, because those of the Huber hinge nearly cancel."""
    pulls, pushes = zip(*terms, strict=True)
    out[won] += np.sum(pulls, axis=0).astype(out.dtype)
    out[lost] += np.sum(pushes, axis=0).astype(out.dtype)


def _descending(scores, run) -> tuple[np.ndarray, np.ndarray]:
    won = run[0] + np.argsort(-scores[run[0] : run[1]])
    lost = run[2] + np.argsort(-scores[run[2] : run[3]])
    return won, lost


@kernel
def _differences(x, s, c, a, u, v):
    # Return a_i Σ_j (u_i − v_j) of each winner, and Σ_i a_i (v_j − u_i) of each loser, over s_j > x_i − c.
    pull, push = np.empty(len(x)), np.empty(len(s))
    met, ones, firsts = 0, 0.0, 0.0
    for i in range(len(x)):
        while met < len(s) and s[met] > x[i] - c:
            ones += 1.0
            firsts += v[met]
            met += 1
        pull[i] = a[i] * (ones * u[i] - firsts)
    met, ones, firsts = len(x) - 1, 0.0, 0.0
    for j in range(len(s) - 1, -1, -1):
        while met >= 0 and s[j] > x[met] - c:
            ones += a[met]
            firsts += a[met] * u[met]
            met -= 1
        push[j] = ones * v[j] - firsts
    return pull, push
