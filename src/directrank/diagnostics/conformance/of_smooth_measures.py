"""What measures promise that have a value at fractional positions."""

import numpy as np

from directrank.data.grouping import group_rows
from directrank.diagnostics.conformance.promises import Promise, need
from directrank.diagnostics.conformance.samples import collection, slope
from directrank.measures.capabilities import PositionDifferentiable
from directrank.measures.positions import positions_of

TRUNCATIONS = (0.5, 1.0, 10.0)


def _within(found: np.ndarray, expected: np.ndarray, size: float, problem: str) -> None:
    distance = np.abs(found - expected).max()
    need(distance <= size, f"{problem} (by {distance:.2g})")


def tends_to_the_measure(measure: PositionDifferentiable) -> None:
    """Tends to the measure at whole positions as truncation becomes steep."""
    queries, _, _ = collection()
    strict = np.random.default_rng(4).permutation(queries.n_docs).astype(float)
    positions = positions_of(queries, strict)
    hard = measure.query_values(queries, positions)
    soft, _ = measure.position_gradient(queries, positions.above + 1.0, 200.0)
    _within(soft, hard, 1e-12 * max(1.0, hard.max()), "the smooth value is another one")


def position_gradient_is_the_difference_quotient(measure: PositionDifferentiable) -> None:
    """Has a position gradient that equals differences."""
    queries, _, _ = collection(seed=5, n_queries=8, max_docs=6)
    positions = 1.5 + np.random.default_rng(6).random(queries.n_docs) * 5
    for truncation in TRUNCATIONS:
        found = measure.position_gradient(queries, positions, truncation)[1]
        expected = slope(
            lambda p, at=truncation: measure.position_gradient(queries, p, at)[0].sum(),
            positions,
            step=1e-3 / max(1.0, truncation),
        )
        size = 2e-9 * max(1.0, np.abs(expected).max())
        _within(found, expected, size, "the gradient differs from differences")


def position_gradient_is_zero_elsewhere(measure: PositionDifferentiable) -> None:
    """Has no position gradient beyond the first `n_read` documents."""
    queries, scores, _ = collection()
    positions = positions_of(queries, scores).above + 1.0
    _, gradient = measure.position_gradient(queries, positions, 1.0)
    place = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
    beyond = place >= np.repeat(measure.n_read(queries), queries.sizes)
    need(not gradient[beyond].any(), "there is a gradient where positions are not read")


def position_gradient_keeps_the_type(measure: PositionDifferentiable) -> None:
    """Has a position gradient of the type of the positions, in float32 near float64."""
    queries, _, _ = collection()
    positions = 1 + np.random.default_rng(7).random(queries.n_docs) * 8
    wide, slopes = measure.position_gradient(queries, positions, 1.0)
    narrow, narrow_slopes = measure.position_gradient(queries, positions.astype(np.float32), 1.0)
    need((narrow.dtype, narrow_slopes.dtype) == (np.float64, np.float32), "the types are other ones")
    size = 1e-6 * max(1.0, np.abs(wide).max())
    _within(narrow, wide, size, "the values differ in float32")
    _within(narrow_slopes, slopes, size, "the gradients differ in float32")


def position_gradient_is_finite(measure: PositionDifferentiable) -> None:
    """Has a finite position gradient at any steepness."""
    queries, _ = group_rows(np.tile([2.0, 1.0, 0.0], 300), np.zeros(900))
    order = np.random.default_rng(8).permutation(900)
    for kind in (np.float32, np.float64):
        for truncation in (1e-3, 1.0, 1e2, 1e4):
            for p in (order.astype(kind) + kind(1), np.full(900, 450.5, kind)):
                found, gradient = measure.position_gradient(queries, p, truncation)
                finite = np.isfinite(found).all() and np.isfinite(gradient).all()
                need(finite, f"not finite at truncation {truncation:g} in {kind.__name__}")


PROMISES: tuple[Promise, ...] = (
    tends_to_the_measure,
    position_gradient_is_the_difference_quotient,
    position_gradient_is_zero_elsewhere,
    position_gradient_keeps_the_type,
    position_gradient_is_finite,
)
