"""The quadratic programme inside cutting planes, by sequential minimal optimisation.

Minimise over w

    ½ |w|² + Σ_b cap_b max(0, max_{k in block b} offset_k + vector_k · w).

Its dual has one weight α_k ≥ 0 for each plane, Σ_{k in b} α_k ≤ cap_b, and w = −Σ α_k vector_k. Each step
moves weight inside one block from the lowest plane that has some to the highest plane, as far as the dual
rises; the plane 0 has the weight that the others leave. One block is the 1-slack form, a block for each query
the n-slack form, a block for each plane a sum of hinges.
"""

import numpy as np

from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.products import dot


def dual_value_naive(vectors, offsets, alpha) -> float:
    """The dual objective at weights α, for tests."""
    w = -alpha @ vectors
    return float(alpha @ offsets - 0.5 * w @ w)


@kernel
def solve_blocks(vectors, offsets, starts, caps, alpha, w, tolerance, max_sweeps):
    """Improve α and w in place until the relative duality gap is at most `tolerance`.

    Parameters
    ----------
    vectors : ndarray of shape (n_planes, n_features), float64
    offsets : ndarray of shape (n_planes,), float64
    starts : ndarray of shape (n_blocks + 1,), int64
        Block b owns the planes ``starts[b]:starts[b + 1]``.
    caps : ndarray of shape (n_blocks,), float64
    alpha : ndarray of shape (n_planes,), float64
        A feasible start, written.
    w : ndarray of shape (n_features,), float64
        −α @ vectors, written.
    tolerance : float
    max_sweeps : int

    Returns
    -------
    value, dual : float
        The objective at w and its lower bound.
    """
    heights = np.empty(len(offsets))
    value, dual = _certify(vectors, offsets, starts, caps, alpha, w, heights)
    for sweep in range(max_sweeps):
        if value - dual <= tolerance * abs(value):
            break
        for block in range(len(caps)):
            improve_block(vectors, offsets, starts[block], starts[block + 1], caps[block], alpha, w, heights)
        if sweep % 4 == 3 or sweep == max_sweeps - 1:
            value, dual = _certify(vectors, offsets, starts, caps, alpha, w, heights)
    return value, dual


@kernel
def _certify(vectors, offsets, starts, caps, alpha, w, heights):
    norm = dot(w, w)
    value, dual = 0.5 * norm, -0.5 * norm
    for block in range(len(caps)):
        top = 0.0
        for k in range(starts[block], starts[block + 1]):
            top = max(top, offsets[k] + dot(vectors[k], w))
            dual += alpha[k] * offsets[k]
        value += caps[block] * top
    return value, dual


@kernel
def improve_block(vectors, offsets, start, stop, cap, alpha, w, heights):
    """Improve the weights of one block and w in place; return the block's duality gap before.

    Arguments are those of `solve_blocks`; `heights`, of shape (n_planes,), is written.
    """
    gap, size = 0.0, 0.0
    for k in range(start, stop):
        size = max(size, abs(offsets[k]))
    # Heights that differ by rounding are equal and the first counts, so that the order of sums does not
    # matter.
    same = 1e-13 * size
    for trial in range(2 * (stop - start)):
        left, held = cap, 0.0
        # -1 is the plane 0. As a literal it would have `_move` compiled once more.
        high, low, top, bottom = np.int64(-1), np.int64(-1), 0.0, 1e300
        for k in range(start, stop):
            heights[k] = offsets[k] + dot(vectors[k], w)
            left -= alpha[k]
            held += alpha[k] * heights[k]
            if heights[k] > top + same:
                high, top = k, heights[k]
            if alpha[k] > 0.0 and heights[k] < bottom - same:
                low, bottom = k, heights[k]
        if trial == 0:
            gap = cap * top - held
        if left > 1e-12 * cap and bottom > -same:
            low, bottom = np.int64(-1), 0.0
        if high == low or not top - bottom > same:
            break
        _move(vectors, high, low, top - bottom, left, alpha, w)
    return gap


@inline_kernel
def _move(vectors, high, low, slope, left, alpha, w):
    # The plane 0 has the vector 0: factors of 0 and 1 need no branch inside the loops.
    a, x = vectors[max(high, 0)], 1.0 if high >= 0 else 0.0
    b, y = vectors[max(low, 0)], 1.0 if low >= 0 else 0.0
    curvature = 0.0
    for k in range(len(w)):
        curvature += (x * a[k] - y * b[k]) * (x * a[k] - y * b[k])
    most = alpha[low] if low >= 0 else left
    step = min(most, slope / curvature) if curvature > 0.0 else most
    for k in range(len(w)):
        w[k] -= step * (x * a[k] - y * b[k])
    if high >= 0:
        alpha[high] += step
    if low >= 0:
        alpha[low] = alpha[low] - step if step < most else 0.0
