"""The cuts that block-coordinate Frank-Wolfe keeps of each query, and its steps among them.

A cut of query q bounds its risk from below, ``offset + vector · w``; the cut 0 always stands among them. The
weights α ≥ 0 of the cuts of a query sum to its cap at most, w = −Σ α vector, and the dual value is
Σ α offset − ½ |w|². Steps among cuts that are kept cost no pass over the data.
"""

from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.solvers.cuts.simplex_qp import dot, improve_block


class Cuts(NamedTuple):
    """Cuts of n queries with room for some each, and the w that they make.

    Attributes
    ----------
    vectors : ndarray of shape (n · room, n_features), float64
        Query q owns the rows from ``q · room`` on, of which ``sizes[q]`` are in use.
    offsets, alpha, heights : ndarray of shape (n · room,), float64
        Heights are those at w when they were last looked at.
    sizes : ndarray of shape (n,), int64
    caps : ndarray of shape (n,), float64
    w, mean : ndarray of shape (n_features,), float64
        The iterate, and the average of all, later ones weighing more.
    steps : ndarray of shape (1,), float64
        How many went into the average.
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


def no_cuts(caps: np.ndarray, room: int, n_features: int) -> Cuts:
    """Return empty room for the cuts of as many queries as there are caps."""
    places = len(caps) * room
    return Cuts(
        np.zeros((places, n_features)), np.zeros(places), np.zeros(places), np.zeros(places),
        np.zeros(len(caps), np.int64), caps, np.zeros(n_features), np.zeros(n_features), np.zeros(1),
    )  # fmt: skip


def reordered(cuts: Cuts, order: np.ndarray) -> Cuts:
    """Return the cuts with the queries in another order."""
    places = np.arange(len(cuts.offsets)).reshape(len(order), -1)[order].ravel()
    by_place = {name: getattr(cuts, name)[places] for name in ("vectors", "offsets", "alpha", "heights")}
    return cuts._replace(**by_place, sizes=cuts.sizes[order], caps=cuts.caps[order])


def dual_value(cuts: Cuts) -> float:
    """Return the dual value of the weights; w is made of them anew, against rounding."""
    cuts.w[:] = -(cuts.alpha @ cuts.vectors)
    return float(cuts.alpha @ cuts.offsets - 0.5 * cuts.w @ cuts.w)


@kernel
def take_cut(cuts, query, offset, vector, moving):
    """Keep a cut if it tells something new at w, and step if asked to; return the query's gap before."""
    # Each look into the tuple costs compilation.
    vectors, offsets, alpha, heights, sizes, w = (
        cuts.vectors, cuts.offsets, cuts.alpha, cuts.heights, cuts.sizes, cuts.w,
    )  # fmt: skip
    room = len(offsets) // len(sizes)
    start, height = query * room, offset + dot(vector, w)
    stop, top, held = start + sizes[query], 0.0, 0.0
    for k in range(start, stop):
        heights[k] = offsets[k] + dot(vectors[k], w)
        top = max(top, heights[k])
        held += alpha[k] * heights[k]
    if height > top + 1e-12 * (1.0 + abs(top)):
        place = stop
        if sizes[query] < room:
            sizes[query] += 1
        else:
            place = _vacate(vectors, offsets, alpha, heights, start, stop)
        offsets[place], alpha[place] = offset, 0.0
        for k in range(len(vector)):
            vectors[place, k] = vector[k]
    if moving:
        _step(cuts, query, start)
    return cuts.caps[query] * max(top, height) - held


@kernel
def _vacate(vectors, offsets, alpha, heights, start, stop):
    # The lowest cut without weight goes; if all have some, the two lightest become their weighted mean.
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


@kernel
def _step(cuts, query, start):
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
def settle(cuts, order, target, most):
    """Step among the cuts that are kept until their gap is at most `target`; return the sweeps made."""
    room = len(cuts.offsets) // len(cuts.sizes)
    for sweep in range(most):
        gap = 0.0
        for query in order:
            gap += _step(cuts, query, query * room)
        if gap <= target:
            return sweep + 1
    return most
