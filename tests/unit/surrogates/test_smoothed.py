"""Smooth positions: kernels against their naive twins in all three forms, and values by hand."""

from itertools import pairwise

import numpy as np
import pytest

from directrank.data.grouping import group_rows
from directrank.kernels.vector_math import FLOAT32_RANGE, FLOAT64_RANGE, exponential
from directrank.measures import AP, NDCG, P
from directrank.surrogates import SmoothedPositions
from directrank.surrogates.positions.smoothed_kernels import backward, soft_positions
from naive import backward_naive, soft_positions_naive

FORMS = {  # steepness × score range, and the types that meet it by quotients in their own type
    "narrow": (20.0, {np.float32, np.float64}),
    "nearly float32": (FLOAT32_RANGE * 0.999, {np.float32, np.float64}),
    "beyond float32": (FLOAT32_RANGE * 1.001, {np.float64}),
    "nearly float64": (FLOAT64_RANGE * 0.999, {np.float64}),
    "beyond float64": (FLOAT64_RANGE * 1.001, set()),
    "extreme": (1e10, set()),
}


def ragged(spread, dtype, seed=0, steepness=10.0):
    """Queries of 1 to 40 documents whose scores have a range of `spread` / `steepness`, with ties."""
    rng = np.random.default_rng(seed)
    sizes = np.array([1, 2, 3, 8, 17, 40])
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    scores = np.empty(indptr[-1], dtype)
    for start, stop in pairwise(indptr):
        block = np.round(rng.random(stop - start), 2)
        block[0], block[-1] = 0.0, 1.0
        scores[start:stop] = (block * spread / steepness + 5.0).astype(dtype)
    leading = np.array([1, 1, 3, 0, 5, 40])
    return scores, indptr, leading, steepness


def test_the_power_is_the_exponential():
    # Ten squarings multiply the rounding by 1,024; where the series ends early, the power is next to nothing.
    for largest, tolerance in ((40, 5e-13), (300, 2e-12), (700, 1e-7)):
        z = np.concatenate((np.linspace(-largest, largest, 2001), [0.0, 1e-300, -1e-17]))
        np.testing.assert_allclose([exponential(x) for x in z], np.exp(z), rtol=tolerance)
    assert exponential(0.0) == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
def test_positions_equal_their_definition(form, dtype):
    scores, indptr, leading, alpha = ragged(FORMS[form][0], dtype)
    positions, _ = soft_positions(scores, indptr, leading, alpha)
    assert positions.dtype == dtype
    for q, lead in enumerate(leading):
        start, stop = indptr[q], indptr[q + 1]
        naive = soft_positions_naive(scores[start:stop].astype(np.float64), alpha)[:lead]
        tolerance = 2e-6 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(positions[start : start + lead], naive, rtol=tolerance)
        assert (positions[start + lead : stop] == 1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
def test_slopes_equal_their_definition(form, dtype):
    scores, indptr, leading, alpha = ragged(FORMS[form][0], dtype, seed=1)
    rng = np.random.default_rng(2)
    slopes = rng.normal(size=len(scores)).astype(dtype)
    weights = rng.random(len(leading))
    gradient = np.full(len(scores), 0.25, dtype)  # what is there is added to
    _, powers = soft_positions(scores, indptr, leading, alpha)
    backward(scores, powers, indptr, alpha, slopes, weights, gradient)
    for q, lead in enumerate(leading):
        start, stop = indptr[q], indptr[q + 1]
        u = np.zeros(stop - start)
        u[:lead] = slopes[start : start + lead]
        naive = -weights[q] * backward_naive(scores[start:stop].astype(np.float64), alpha, u)
        size = np.abs(naive).max() + 1.0
        tolerance = (2e-6 if dtype == np.float32 else 1e-12) * size
        np.testing.assert_allclose(gradient[start:stop] - 0.25, naive, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("steepness", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("measure", [NDCG(), NDCG(3), AP(), AP(3), P(3)], ids=lambda each: each.name)
def test_extreme_scores(measure, steepness, dtype):
    rng = np.random.default_rng(4)
    relevance = np.append(rng.integers(0, 4, 18), [0, 3]).astype(float)
    queries, _ = group_rows(relevance, np.repeat([0, 1], 10))
    oracles = SmoothedPositions(measure, steepness=steepness, truncation=100.0).on(queries, np.full(2, 0.5))
    for spread in (0.0, 1e-30, 1.0, 1e6):
        value, gradient = oracles.value_and_gradient((spread * rng.normal(size=20)).astype(dtype))
        assert -1e-6 <= value <= 1 + 1e-6
        assert np.isfinite(gradient).all()
