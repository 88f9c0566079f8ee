"""The cuts that block-coordinate Frank-Wolfe stores for each query, and its steps among them.

A cut of query q bounds its risk from below, ``offset + vector · w``; the cut 0 is always one of them. The
weights α ≥ 0 of the cuts of a query sum to its cap at most, w = −Σ α vector, and the dual value is
Σ α offset − ½ |w|². Steps among stored cuts need no pass over the data.
"""

from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.products import dot
from directrank.solvers.cuts.simplex_qp import improve_block


class Cuts(NamedTuple):
    """Cuts of n queries, at most `most` of each, and the w that they make.

    Attributes
    ----------
    vectors : ndarray of shape (n · most, n_features), float64
        Query q owns the rows from ``q · most`` on, of which ``sizes[q]`` are in use.
    offsets, alpha, heights : ndarray of shape (n · most,), float64
        Heights are those at w when they were last computed.
    sizes : ndarray of shape (n,), int64
    caps : ndarray of shape (n,), float64
    w, mean : ndarray of shape (n_features,), float64
        The iterate, and the average of all, later ones with larger weights.
    steps : ndarray of shape (1,), float64
        Number of iterates in the average.
    """

    vectors: np.ndarray
    offsets: np.ndarray
    alpha: np.ndarray
    heights: np.ndarray
    sizes: np.ndarray
    caps: np.ndarray
    w: np.ndarray
    mean: np.ndarray
    steps: np.ndarray


def no_cuts(caps: np.ndarray, most: int, n_features: int) -> Cuts:
    """Return arrays for at most `most` cuts of each query, none in use; there are as many queries as caps."""
    n = len(caps) * most
    return Cuts(
        np.zeros((n, n_features)), np.zeros(n), np.zeros(n), np.zeros(n),
        np.zeros(len(caps), np.int64), caps, np.zeros(n_features), np.zeros(n_features), np.zeros(1),
    )  # fmt: skip


def reorder(cuts: Cuts, order: np.ndarray) -> None:
    """Put the queries in another order."""
    first = np.arange(len(order)) * (len(cuts.offsets) // len(order))
    # Only what is in use is copied, because most of the room is not at first.
    for k in range(int(cuts.sizes.max(initial=0))):
        for numbers in (cuts.vectors, cuts.offsets, cuts.alpha, cuts.heights):
            numbers[first + k] = numbers[first[order] + k]
    cuts.sizes[:], cuts.caps[:] = cuts.sizes[order], cuts.caps[order]


def dual_value(cuts: Cuts) -> float:
    """Return the dual value of the weights; w is recomputed from them, against rounding."""
    cuts.w[:] = -(cuts.alpha @ cuts.vectors)
    return float(cuts.alpha @ cuts.offsets - 0.5 * cuts.w @ cuts.w)


@inline_kernel
def take_cut(cuts, query, offset, vector):
    """Store a cut of a query if it is the highest at w; return the query's gap."""
    # The tuple is read once, because each access costs compilation.
    vectors, offsets, alpha, heights, sizes, w = (
        cuts.vectors, cuts.offsets, cuts.alpha, cuts.heights, cuts.sizes, cuts.w,
    )  # fmt: skip
    most = len(offsets) // len(sizes)
    start, height = query * most, offset + dot(vector, w)
    stop, top, held = start + sizes[query], 0.0, 0.0
    for k in range(start, stop):
        heights[k] = offsets[k] + dot(vectors[k], w)
        top = max(top, heights[k])
        held += alpha[k] * heights[k]
    if height > top + 1e-12 * (1.0 + abs(top)):
        row = stop
        if sizes[query] < most:
            sizes[query] += 1
        else:
            row = _free_row(vectors, offsets, alpha, heights, start, stop)
        offsets[row], alpha[row] = offset, 0.0
        for k in range(len(vector)):
            vectors[row, k] = vector[k]
    return cuts.caps[query] * max(top, height) - held


@inline_kernel
def _free_row(vectors, offsets, alpha, heights, start, stop):
    # Remove the lowest cut without weight; if all have some, make the two of least weight their weighted
    # mean.
    idle, light, lighter = -1, -1, -1
    for k in range(start, stop):
        if alpha[k] == 0.0 and (idle < 0 or heights[k] < heights[idle]):
            idle = k
        if lighter < 0 or alpha[k] < alpha[lighter]:
            light, lighter = lighter, k
        elif light < 0 or alpha[k] < alpha[light]:
            light = k
    if idle >= 0:
        return idle
    total = alpha[light] + alpha[lighter]
    share = alpha[lighter] / total
    for k in range(vectors.shape[1]):
        vectors[light, k] = (1.0 - share) * vectors[light, k] + share * vectors[lighter, k]
    offsets[light] = (1.0 - share) * offsets[light] + share * offsets[lighter]
    alpha[light] = total
    return lighter


@inline_kernel
def step_among_kept(cuts, query):
    """Step among the stored cuts of a query; return its gap before."""
    start = query * (len(cuts.offsets) // len(cuts.sizes))
    gap = improve_block(
        cuts.vectors, cuts.offsets, start, start + cuts.sizes[query], cuts.caps[query], cuts.alpha, cuts.w,
        cuts.heights,
    )  # fmt: skip
    steps, mean, w = cuts.steps, cuts.mean, cuts.w
    rate = 2.0 / (steps[0] + 2.0)
    steps[0] += 1.0
    for k in range(len(w)):
        mean[k] += rate * (w[k] - mean[k])
    return gap


@kernel
def optimise_kept_cuts(cuts, order, target, most_sweeps):
    """Step among the stored cuts until their gap is at most `target`; return the number of sweeps."""
    for sweep in range(most_sweeps):
        gap = 0.0
        for query in order:
            gap += step_among_kept(cuts, query)
        if gap <= target:
            return sweep + 1
    return most_sweeps
