"""Planes below convex risks: the store of all solvers that collect cuts, and the problem of each round.

Minimise over w

    ½ |w|² + Σ_b cap_b max(0, max_{k in block b} offset_k + vector_k · w).

Its dual has one weight α_k ≥ 0 for each plane, Σ_{k in b} α_k ≤ cap_b, and w = −Σ α_k vector_k. A step of
sequential minimal optimisation moves weight inside one block from the lowest plane that has some to the
highest plane, as far as the dual rises; the plane 0 has the weight that the others leave. One block is the
1-slack form, a block for each query the n-slack form, a block for each plane a sum of hinges.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import inline_kernel, kernel

#: How far beyond the best point, towards the minimum of the model, the next plane touches the risk.
BEYOND = 0.1
#: Share of a solver's tolerance to which the model is minimised.
SHARE_OF_TOLERANCE = 0.1
#: The most planes of `minimise_risk`, and points of `minimise_on_line`.
MOST_PLANES, MOST_POINTS = 300, 40
#: Rounds without weight after which a plane of the model is removed.
IDLE = 50


class Planes(NamedTuple):
    """Planes in blocks, their dual weights and the w that they make.

    Attributes
    ----------
    vectors : ndarray of shape (n_planes, n_features), float64
    offsets, alpha, heights : ndarray of shape (n_planes,), float64
        The height of a plane is that at the w for which it was last computed.
    starts, sizes : ndarray of shape (n_blocks,), int64
        Block b owns the planes from ``starts[b]`` on, of which ``sizes[b]`` are in use.
    caps : ndarray of shape (n_blocks,), float64
    w : ndarray of shape (n_features,), float64
    """

    vectors: np.ndarray
    offsets: np.ndarray
    alpha: np.ndarray
    heights: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    caps: np.ndarray
    w: np.ndarray


def planes_in_blocks(vectors, offsets, starts, caps, alpha) -> Planes:
    """Return planes at a feasible α; block b owns those from ``starts[b]`` up to ``starts[b + 1]``."""
    return Planes(
        vectors, offsets, alpha, np.empty(len(offsets)), starts[:-1], np.diff(starts), caps, -alpha @ vectors
    )


def dual_value(planes: Planes) -> float:
    """Return the dual value of the weights; w is recomputed from them, against rounding."""
    planes.w[:] = -(planes.alpha @ planes.vectors)
    return float(planes.alpha @ planes.offsets - 0.5 * planes.w @ planes.w)


@kernel
def solve(planes, tolerance, max_sweeps):
    """Improve α and w in place up to a relative duality gap; return the objective and its lower bound."""
    value, dual = _certify(planes)
    for sweep in range(max_sweeps):
        if value - dual <= tolerance * abs(value):
            break
        for block in range(len(planes.caps)):
            improve_block(planes, block)
        if sweep % 4 == 3 or sweep == max_sweeps - 1:
            value, dual = _certify(planes)
    return value, dual


@kernel
def _certify(planes):
    vectors, offsets, alpha, w = planes.vectors, planes.offsets, planes.alpha, planes.w
    norm = dot(w, w)
    value, dual = 0.5 * norm, -0.5 * norm
    for block in range(len(planes.caps)):
        top, start = 0.0, planes.starts[block]
        for k in range(start, start + planes.sizes[block]):
            top = max(top, offsets[k] + dot(vectors[k], w))
            dual += alpha[k] * offsets[k]
        value += planes.caps[block] * top
    return value, dual


@kernel
def improve_block(planes, block):
    """Improve the weights of one block and w in place; return the block's duality gap before."""
    # The tuple is read once, because each access costs compilation.
    vectors, offsets, alpha, heights, w = (
        planes.vectors, planes.offsets, planes.alpha, planes.heights, planes.w,
    )  # fmt: skip
    start, cap = planes.starts[block], planes.caps[block]
    stop = start + planes.sizes[block]
    gap, size = 0.0, 0.0
    for k in range(start, stop):
        size = max(size, abs(offsets[k]))
    # Heights that differ by rounding are equal and the first counts, so that the order of sums does not
    # matter.
    same = 1e-13 * size
    for trial in range(2 * (stop - start)):
        free, attained = cap, 0.0
        # -1 is the plane 0. As a literal it would have `_move` compiled once more.
        high, low, top, bottom = np.int64(-1), np.int64(-1), 0.0, 1e300
        for k in range(start, stop):
            heights[k] = offsets[k] + dot(vectors[k], w)
            free -= alpha[k]
            attained += alpha[k] * heights[k]
            if heights[k] > top + same:
                high, top = k, heights[k]
            if alpha[k] > 0.0 and heights[k] < bottom - same:
                low, bottom = k, heights[k]
        if trial == 0:
            gap = cap * top - attained
        if free > 1e-12 * cap and bottom > -same:
            low, bottom = np.int64(-1), 0.0
        if high == low or not top - bottom > same:
            break
        _move(vectors, high, low, top - bottom, free, alpha, w)
    return gap


@inline_kernel
def _move(vectors, high, low, slope, free, alpha, w):
    # The plane 0 has the vector 0: factors of 0 and 1 need no branch inside the loops.
    a, x = vectors[max(high, 0)], 1.0 if high >= 0 else 0.0
    b, y = vectors[max(low, 0)], 1.0 if low >= 0 else 0.0
    curvature = 0.0
    for k in range(len(w)):
        curvature += (x * a[k] - y * b[k]) * (x * a[k] - y * b[k])
    most = alpha[low] if low >= 0 else free
    step = min(most, slope / curvature) if curvature > 0.0 else most
    for k in range(len(w)):
        w[k] -= step * (x * a[k] - y * b[k])
    if high >= 0:
        alpha[high] += step
    if low >= 0:
        alpha[low] = alpha[low] - step if step < most else 0.0


class Model:
    """½ |w|² + C · the largest of some planes (or 0): a model of an objective, from below."""

    def __init__(self, n_features: int, C: float):
        self.C, self.unused = np.array([C]), np.empty(0, np.int64)
        self.planes = self._of(np.empty((0, n_features)), np.empty(0), np.empty(0))

    def add(self, vector: np.ndarray, offset: float) -> None:
        """Add a plane, and remove those without weight for `IDLE` rounds."""
        used, old = self.unused < IDLE, self.planes
        self.unused = np.append(self.unused[used], 0)
        self.planes = self._of(
            np.vstack((old.vectors[used], vector)),
            np.append(old.offsets[used], offset),
            np.append(old.alpha[used], 0.0),
        )

    def minimise(self, tolerance: float) -> tuple[np.ndarray, float]:
        """Return the minimiser of the model and a lower bound of its minimum."""
        bound = solve(self.planes, SHARE_OF_TOLERANCE * tolerance, 2000)[1]
        self.unused = np.where(self.planes.alpha > 0, 0, self.unused + 1)
        return self.planes.w, bound

    def _of(self, vectors: np.ndarray, offsets: np.ndarray, alpha: np.ndarray) -> Planes:
        return planes_in_blocks(vectors, offsets, np.array([0, len(offsets)]), self.C, alpha)


def minimise_risk(risk, start: np.ndarray, tolerance: float):
    """Minimise ½ |w|² + risk(w) for a convex risk ≥ 0 that is cheap to evaluate, with its derivative.

    Return w, the value and a lower bound; the tolerance is a duality gap relative to the value.
    """
    best, model = np.array(start), Model(len(start), 1.0)
    value, point = np.inf, best
    bound = 0.0
    for _ in range(MOST_PLANES):
        height, slope = risk(point)
        model.add(slope, height - float(slope @ point))
        value = min(value, 0.5 * float(best @ best) + risk(best)[0])
        w, bound = model.minimise(tolerance)
        if value - bound <= tolerance * value:
            break
        move = w - best

        def along(t: float, best=best, move=move) -> tuple[float, float]:
            here = best + t * move
            height, slope = risk(here)
            return 0.5 * float(here @ here) + height, float((here + slope) @ move)

        t, value = minimise_on_line(along)
        best = best + t * move
        point = best + BEYOND * (w - best)
    return best, value, bound


def minimise_on_line(
    along: Callable[[float], tuple[float, float]], tolerance: float = 1e-6
) -> tuple[float, float]:
    """Minimise a convex function of t ≥ 0 that returns value and slope; return the best t and its value.

    The bracket is cut where the tangents of its ends meet, or in the middle when that does not shrink it.
    """
    low, (value, slope) = 0.0, along(0.0)
    best = (value, 0.0)
    if slope >= 0:
        return 0.0, value
    low_value, low_slope = value, slope
    high = 1.0
    high_value, high_slope = along(high)
    while high_slope < 0 and high < 1e6:
        best = min(best, (high_value, high))
        low, low_value, low_slope = high, high_value, high_slope
        high *= 2.0
        high_value, high_slope = along(high)
    best = min(best, (high_value, high))
    for step in range(MOST_POINTS):
        meet = (high_value - low_value + low_slope * low - high_slope * high) / (low_slope - high_slope)
        below = low_value + low_slope * (meet - low)
        if best[0] - below <= tolerance * abs(best[0]) or high - low <= 1e-12 * high:
            break
        t = 0.5 * (low + high) if step % 3 == 2 or not low < meet < high else meet
        value, slope = along(t)
        best = min(best, (value, t))
        if slope < 0:
            low, low_value, low_slope = t, value, slope
        else:
            high, high_value, high_slope = t, value, slope
    return best[1], best[0]


def visiting_order(losses: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Order queries by their first cuts, at zero scores: the order of rows in the data does not matter."""
    return np.lexsort((*vectors.T[::-1], np.round(losses, 9)))


@inline_kernel
def dot(a, b):
    """Return the scalar product of two vectors."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total
