"""The curvature of every registered surrogate with a gradient: exact, or a bound, and positive."""

import numpy as np
import pytest

from directrank.apps.papers import NoisyNeighbours
from directrank.contracts import Curvature, Reweighable, ValueAndGradient
from directrank.surrogates import PolicyMeasure, SmoothedPositions
from directrank.surrogates.margins import Hinge, Huber, SquaredHinge
from directrank.surrogates.positions.smoothed_kernels import soft_positions
from directrank.testing.checks import idle_queries, random_scores, some_queries
from directrank.testing.of_surrogates import objective_on, oracles_of
from naive import backward_naive
from surrogate_examples import SURROGATES, differentiable, examples


def is_exact(surrogate):
    """Convex with a second derivative everywhere: that of the hinges jumps."""
    hinged = isinstance(getattr(surrogate, "margin", None), (Huber, SquaredHinge, Hinge))
    return surrogate.is_convex and surrogate.is_smooth and not hinged


def diagonal(gradient, scores, step=1e-5):
    """The diagonal of the second derivative, by differences of the gradient."""
    found = np.empty(len(scores))
    for i in range(len(scores)):
        moved = np.zeros(len(scores))
        moved[i] = step
        found[i] = (gradient(scores + moved)[i] - gradient(scores - moved)[i]) / (2 * step)
    return found


def gradient_of(surrogate, queries, weights, scores):
    """The gradient as a function of scores; of smooth positions, with the measure linear in them."""
    oracles = oracles_of(surrogate, queries, weights)
    if Reweighable in surrogate.offers:
        oracles.reweigh(scores)
    if not isinstance(surrogate, SmoothedPositions):
        return oracles, lambda s: oracles.value_and_gradient(s)[1]
    positions = soft_positions(scores, queries.indptr, oracles.n_read, surrogate.steepness)[0]
    slopes = surrogate.measure.position_gradient(queries, positions, surrogate.truncation)[1]
    inner = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
    slopes = np.where(inner < np.repeat(oracles.n_read, queries.sizes), slopes, 0.0)
    slopes = slopes * np.repeat(weights, queries.sizes)

    def linear(s):
        cuts = queries.indptr[1:-1]
        parts = zip(np.split(s, cuts), np.split(slopes, cuts), strict=True)
        return -np.concatenate([backward_naive(each, surrogate.steepness, c) for each, c in parts])

    return oracles, linear


def test_every_surrogate_with_a_gradient_has_a_curvature():
    assert [cls for cls in SURROGATES if (ValueAndGradient in cls.offers) != (Curvature in cls.offers)] == []


@pytest.mark.share(3)
@examples(Curvature)
def test_is_the_second_derivative_or_above_it(surrogate):
    for seed in range(5):
        queries, weights = some_queries(seed, sizes=(5, 8, 3)), np.array([0.2, 0.5, 0.3])
        scores = random_scores(queries, 60 + seed, 10.0 ** (seed / 2 - 1))
        oracles, gradient = gradient_of(surrogate, queries, weights, scores)
        curvature, second = oracles.derivatives(scores)[2], diagonal(gradient, scores)
        rounding = 1e-8 * max(1.0, np.abs(gradient(scores)).max())
        if is_exact(surrogate):
            np.testing.assert_allclose(curvature, second, rtol=1e-5, atol=rounding)
        assert (curvature >= np.abs(second) * (1 - 1e-5) - rounding).all()


@pytest.mark.share(4)
@differentiable
def test_is_positive_where_documents_can_train(surrogate):
    queries = idle_queries()
    objective = objective_on(surrogate, queries, normalise=False)
    trains = np.repeat(~objective.left_out, queries.sizes)
    for scores in (np.zeros(queries.n_docs), *(random_scores(queries, 61, each) for each in (0.1, 3.0))):
        for dtype in (np.float32, np.float64):
            value, gradient, curvature = objective.derivatives(scores.astype(dtype))
            np.testing.assert_equal((value, gradient), objective.value_and_gradient(scores.astype(dtype)))
            assert curvature.dtype == dtype
            assert np.isfinite(curvature).all()
            assert (curvature[~trains] == 0).all()
            assert (curvature[trains & (gradient != 0)] > 0).all()
            # Few pairs or rankings are drawn, and of 2, 1, 0 a measure may count the 2 alone.
            assert (
                isinstance(surrogate, NoisyNeighbours | PolicyMeasure) or (curvature[trains] > 0).mean() > 0.9
            )


@differentiable
def test_a_query_counts_with_its_weight_and_alone(surrogate):
    queries, weights = some_queries(62, sizes=(6, 5, 7)), np.array([0.4, 0.0, 0.6])
    scores = random_scores(queries, 63)
    together = oracles_of(surrogate, queries, weights).derivatives(scores)[2]
    for q, weight in enumerate(weights):
        rows = slice(queries.indptr[q], queries.indptr[q + 1])
        alone = oracles_of(surrogate, queries.part(q, q + 1), weights[q : q + 1]).derivatives(scores[rows])[2]
        once = oracles_of(surrogate, queries.part(q, q + 1), np.ones(1)).derivatives(scores[rows])[2]
        np.testing.assert_array_equal(together[rows], alone)
        np.testing.assert_allclose(alone, weight * once, rtol=1e-12)


@pytest.mark.share(4)
@differentiable
def test_float32_is_near_float64(surrogate):
    queries = some_queries(64, sizes=(30, 8, 120))
    oracles = oracles_of(surrogate, queries)
    for spread in (0.1, 1.0, 10.0):
        narrow = random_scores(queries, 65, spread).astype(np.float32)
        before = narrow.tobytes()
        wide = oracles.derivatives(narrow.astype(np.float64))[2]
        np.testing.assert_allclose(oracles.derivatives(narrow)[2], wide, rtol=0, atol=2e-5 * wide.max())
        assert narrow.tobytes() == before


@pytest.mark.share(3)
@differentiable
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_scores_give_numbers(surrogate, dtype):
    queries = some_queries(66)
    oracles = oracles_of(surrogate, queries)
    for spread in (1e-30, 1e2, 1e4, 1e6):
        curvature = oracles.derivatives(random_scores(queries, 67, spread).astype(dtype))[2]
        assert (curvature >= 0).all()  # and no NaN


@pytest.mark.share(3)
@differentiable
def test_shards_and_threads_change_nothing(surrogate):
    """The scale is that of value and gradient, so that quotients of curvature and gradient are steps."""
    queries = some_queries(68, sizes=(8,) * 40)
    scores = random_scores(queries, 69)
    objective = objective_on(surrogate, queries)
    single = objective.derivatives(scores)[2]
    plain = objective_on(surrogate, queries, normalise=False).derivatives(scores)[2]
    np.testing.assert_allclose(single, objective.scale * plain, rtol=1e-12)
    serial, threaded = (
        objective_on(surrogate, queries, 2**14, n_threads=threads).derivatives(scores)[2]
        for threads in (1, 3)
    )
    np.testing.assert_allclose(serial, single, rtol=1e-6)
    np.testing.assert_array_equal(serial, threaded)
