"""Every registered surrogate in an objective: weights, skipped queries, shards, the other oracles."""

import numpy as np
import pytest

from directrank.data.grouping import group_rows
from directrank.measures.positions import positions_of
from directrank.oracles import DocumentWeights, HessianVector, QueryWeights, StepAlong, Targets, WindowStep
from surrogate_examples import (
    bound,
    differentiable,
    examples,
    idle_queries,
    per_query,
    random_scores,
    some_queries,
    value,
    whole,
)


@differentiable
def test_queries_that_cannot_teach_have_no_gradient(surrogate):
    queries = idle_queries()
    objective = whole(surrogate, queries, normalise=False)
    scores = random_scores(queries, 13)
    gradient = objective.value_and_gradient(scores)[1]
    idle = np.repeat(objective.left_out, queries.sizes)
    assert (objective.left_out == surrogate.uninformative(queries)).all()
    assert (gradient[idle] == 0).all()
    assert (objective.weights[objective.left_out] == 0).all()
    assert objective.weights.sum() == pytest.approx(1.0)
    if surrogate.measure is not None:
        assert objective.left_out[1:5].all()
        teaching = np.flatnonzero(~objective.left_out)
        alone = sum(
            value(
                surrogate,
                queries.part(q, q + 1),
                scores[queries.indptr[q] : queries.indptr[q + 1]],
                np.ones(1),
            )
            for q in teaching
        )
        assert objective.value_and_gradient(scores)[0] == pytest.approx(alone / len(teaching))


@differentiable
def test_weight_zero_is_absence(surrogate):
    queries = some_queries(14, sizes=(6, 5, 7))
    scores = random_scores(queries, 15)
    result, gradient = bound(surrogate, queries, np.array([0.4, 0.0, 0.6])).value_and_gradient(scores)
    middle = slice(queries.indptr[1], queries.indptr[2])
    assert (gradient[middle] == 0).all()
    first, last = (
        bound(surrogate, queries.part(q, q + 1), np.array([w])).value_and_gradient(
            scores[queries.indptr[q] : queries.indptr[q + 1]]
        )
        for q, w in ((0, 0.4), (2, 0.6))
    )
    assert result == pytest.approx(first[0] + last[0], rel=1e-12)
    np.testing.assert_allclose(np.concatenate((first[1], last[1])), np.delete(gradient, middle), rtol=1e-12)


@differentiable
def test_weight_two_is_two_copies(surrogate):
    lists = [[2, 1, 0, 0], [0, 3, 0, 1, 0]]
    twice = group_rows(np.concatenate([*lists, lists[1]]).astype(float), np.repeat([0, 1, 2], [4, 5, 5]))[0]
    once = twice.part(0, 2)
    scores = random_scores(once, 16)
    weighted = whole(surrogate, once, weights=np.array([1.0, 2.0])).value_and_gradient(scores)
    copied = whole(surrogate, twice).value_and_gradient(np.concatenate((scores, scores[4:])))
    assert weighted[0] == pytest.approx(copied[0], rel=1e-12)
    summed = copied[1][:9] + np.concatenate((np.zeros(4), copied[1][9:]))
    np.testing.assert_allclose(weighted[1], summed, rtol=1e-11, atol=1e-14)


@differentiable
def test_is_additive_over_parts(surrogate):
    queries = some_queries(17)
    weights = np.linspace(0.1, 0.3, queries.n_queries)
    scores = random_scores(queries, 18)
    result, gradient = bound(surrogate, queries, weights).value_and_gradient(scores)
    pieces = []
    for first, last in ((0, 2), (2, 3), (3, 6)):
        rows = slice(queries.indptr[first], queries.indptr[last])
        part = bound(surrogate, queries.part(first, last), weights[first:last])
        pieces.append(part.value_and_gradient(scores[rows]))
    assert result == pytest.approx(sum(each for each, _ in pieces), rel=1e-12)
    np.testing.assert_array_equal(gradient, np.concatenate([each for _, each in pieces]))


@differentiable
def test_shards_and_threads_change_nothing(surrogate):
    queries = some_queries(19, sizes=(8,) * 40)
    one = whole(surrogate, queries)
    many = [whole(surrogate, queries, n_features=2**14, n_threads=threads) for threads in (1, 3)]
    assert len(one.shards) == 1
    assert len(many[0].shards) == 20  # 320 documents of 64 KiB each
    scores = random_scores(queries, 20)
    single = one.value_and_gradient(scores)
    serial, threaded = (each.value_and_gradient(scores) for each in many)
    assert serial[0] == pytest.approx(single[0], rel=1e-6)  # the value at zero scores is of another type
    np.testing.assert_allclose(serial[1], single[1], rtol=1e-6)
    assert serial[0] == threaded[0]
    np.testing.assert_array_equal(serial[1], threaded[1])


@differentiable
def test_is_one_at_zero_scores(surrogate):
    queries = some_queries(21)
    for n_features in (4, 2**16):
        objective = whole(surrogate, queries, n_features, weights=np.arange(1.0, queries.n_queries + 1))
        at_zero = objective.value_and_gradient(np.zeros(queries.n_docs, objective.dtype))[0]
        assert at_zero == pytest.approx(1.0, rel=1e-12)
        assert objective.dtype == (np.float64 if len(objective.shards) == 1 else np.float32)


@differentiable
def test_single_queries_add_up(surrogate):
    queries = idle_queries()
    objective = whole(surrogate, queries, normalise=False)
    scores = random_scores(queries, 22)
    parts = objective.single_queries()
    assert [part.queries.start for part in parts] == np.flatnonzero(~objective.left_out).tolist()
    total = sum(part.oracles.value_and_gradient(scores[part.rows])[0] for part in parts)
    assert total == pytest.approx(objective.value_and_gradient(scores)[0], rel=1e-12)


@per_query
def test_query_values_are_the_measure(surrogate):
    queries = idle_queries()
    objective = whole(surrogate, queries)
    scores = np.round(random_scores(queries, 23))
    by_measure = surrogate.measure.query_values(queries, positions_of(queries, scores))
    np.testing.assert_array_equal(objective.query_values(scores), by_measure)
    np.testing.assert_array_equal(
        whole(surrogate, queries, 2**18, n_threads=3).query_values(scores), by_measure
    )


@pytest.mark.parametrize("surrogate", examples(QueryWeights))
def test_query_weights_fall_with_the_measure(surrogate):
    queries = idle_queries()
    objective = whole(surrogate, queries)
    scores = random_scores(queries, 24)
    weights = objective.query_weights(scores)
    assert (weights[objective.left_out] == 0).all()
    teaching = ~objective.left_out
    assert (weights[teaching] > 0).all()
    values = objective.query_values(scores)[teaching]
    a, b = np.argmin(values), np.argmax(values)
    assert values[a] == values[b] or weights[teaching][a] > weights[teaching][b]


@pytest.mark.parametrize("surrogate", examples(Targets))
def test_targets_minimise(surrogate):
    queries = some_queries(25)
    oracles = bound(surrogate, queries)
    targets, weights = oracles.targets()
    assert targets.shape == weights.shape == (queries.n_docs,)
    assert (weights > 0).all()
    result, gradient = oracles.value_and_gradient(targets.astype(np.float64))
    assert np.abs(gradient).max() == 0
    assert result <= value(surrogate, queries, random_scores(queries, 26))


def test_hessian_vector_is_the_slope_of_the_gradient():
    for example in examples(HessianVector):
        surrogate = example.values[0]
        queries = some_queries(27, sizes=(5, 8))
        oracles = bound(surrogate, queries)
        scores, direction, other = (random_scores(queries, seed) for seed in (28, 29, 30))
        product = oracles.hessian_vector(scores, direction)
        ahead, behind = (oracles.value_and_gradient(scores + h * direction)[1] for h in (1e-6, -1e-6))
        size = np.abs(product).max()
        np.testing.assert_allclose(product, (ahead - behind) / 2e-6, rtol=0, atol=1e-6 * size)
        assert other @ product == pytest.approx(direction @ oracles.hessian_vector(scores, other), rel=1e-9)
        assert direction @ product >= 0 or not surrogate.is_convex


@pytest.mark.parametrize("surrogate", examples(DocumentWeights))
def test_weights_of_documents_are_finite_and_zero_where_queries_are_skipped(surrogate):
    queries = some_queries(31)
    weights = np.full(queries.n_queries, 0.2)
    weights[2] = 0.0
    oracles, scores = surrogate.bind(queries, weights), random_scores(queries, 32)
    value, result = oracles.document_weights(scores)
    assert result.shape == (queries.n_docs,)
    assert np.isfinite(result).all()
    assert (result[queries.indptr[2] : queries.indptr[3]] == 0).all()
    by_gradient = oracles.value_and_gradient(scores)
    assert value == by_gradient[0]
    np.testing.assert_array_equal(result, -by_gradient[1])


@pytest.mark.parametrize("surrogate", examples(StepAlong))
def test_a_step_along_a_direction_keeps_its_word(surrogate):
    """The closed form promises no more than the value falls; a search finds at least as much."""
    queries = some_queries(33, sizes=(8,) * 40)
    scores = random_scores(queries, 34, 0.3)
    direction = (np.random.default_rng(35).random(queries.n_docs) < 0.5).astype(float)
    for n_features in (4, 2**14):  # one shard, and many
        objective = whole(surrogate, queries, n_features)
        typed = scores.astype(objective.dtype)
        step = objective.step_along(typed, direction)
        start = objective.value(typed)
        moved = objective.value((typed + step.size * direction).astype(objective.dtype))
        assert start - moved >= step.decrease * (1 - 1e-3) - 1e-6
        assert step.decrease >= 0
        searched = objective.step_along(typed, 0.5 * direction)
        assert searched.decrease >= step.decrease * (1 - 1e-3) - 1e-6
        assert np.isnan(searched.gained)


@pytest.mark.parametrize("surrogate", examples(WindowStep))
def test_a_step_to_the_best_average_is_that_of_many_values(surrogate):
    """Averages of the value over the window before and after, at even places in it."""
    queries = some_queries(33, sizes=(8,) * 12)
    scores, direction = random_scores(queries, 34, 0.3), random_scores(queries, 35)
    sampled = surrogate.half_width * np.linspace(-1.0, 1.0, 301)
    for n_features in (4, 2**14):  # one shard, and many
        objective = whole(surrogate, queries, n_features)
        step = objective.window_step_along(scores, direction)
        before, after = (
            np.mean([objective.value(scores + (at + t) * direction) for t in sampled])
            for at in (0.0, step.size)
        )
        assert step.decrease >= 0
        assert before - after == pytest.approx(step.decrease, abs=0.01)
