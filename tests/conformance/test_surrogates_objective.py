"""Every registered surrogate in an objective: weights, skipped queries, shards, the other oracles."""

import numpy as np
import pytest

from directrank.contracts import (
    QueryWeights,
    StepAlong,
    Targets,
    WindowStep,
)
from directrank.measures.positions import positions_of
from directrank.testing.checks import idle_queries, random_scores, some_queries
from directrank.testing.of_surrogates import objective_on, oracles_of, value
from surrogate_examples import differentiable, examples, per_query


@differentiable
def test_the_objective_is_the_mean_over_queries_that_can_train(surrogate):
    """That the others have no weight and no gradient is a check of the suite."""
    queries = idle_queries()
    objective = objective_on(surrogate, queries, normalise=False)
    scores = random_scores(queries, 13)
    if surrogate.measure is not None:
        assert objective.left_out[1:5].all()
        training = np.flatnonzero(~objective.left_out)
        alone = sum(
            value(
                surrogate,
                queries.part(q, q + 1),
                scores[queries.indptr[q] : queries.indptr[q + 1]],
                np.ones(1),
            )
            for q in training
        )
        assert objective.value_and_gradient(scores)[0] == pytest.approx(alone / len(training))


@differentiable
def test_single_queries_add_up(surrogate):
    queries = idle_queries()
    objective = objective_on(surrogate, queries, normalise=False)
    scores = random_scores(queries, 22)
    parts = objective.single_queries()
    assert [part.queries.start for part in parts] == np.flatnonzero(~objective.left_out).tolist()
    total = sum(part.oracles.value_and_gradient(scores[part.rows])[0] for part in parts)
    assert total == pytest.approx(objective.value_and_gradient(scores)[0], rel=1e-12)


@per_query
def test_query_values_are_the_measure(surrogate):
    queries = idle_queries()
    objective = objective_on(surrogate, queries)
    scores = np.round(random_scores(queries, 23))
    by_measure = surrogate.measure.query_values(queries, positions_of(queries, scores))
    np.testing.assert_array_equal(objective.query_values(scores), by_measure)
    np.testing.assert_array_equal(
        objective_on(surrogate, queries, 2**18, n_threads=3).query_values(scores), by_measure
    )


@examples(QueryWeights)
def test_query_weights_fall_with_the_measure(surrogate):
    queries = idle_queries()
    objective = objective_on(surrogate, queries)
    scores = random_scores(queries, 24)
    weights = objective.query_weights(scores)
    assert (weights[objective.left_out] == 0).all()
    teaching = ~objective.left_out
    assert (weights[teaching] > 0).all()
    values = objective.query_values(scores)[teaching]
    a, b = np.argmin(values), np.argmax(values)
    assert values[a] == values[b] or weights[teaching][a] > weights[teaching][b]


@examples(Targets)
def test_targets_minimise(surrogate):
    queries = some_queries(25)
    oracles = oracles_of(surrogate, queries)
    targets, weights = oracles.targets()
    assert targets.shape == weights.shape == (queries.n_docs,)
    assert (weights > 0).all()
    result, gradient = oracles.value_and_gradient(targets.astype(np.float64))
    assert np.abs(gradient).max() == 0
    assert result <= value(surrogate, queries, random_scores(queries, 26))


@examples(StepAlong)
def test_a_step_along_a_direction_keeps_its_word(surrogate):
    """The closed form guarantees no more than that the value falls; a search finds at least as much."""
    queries = some_queries(33, sizes=(8,) * 40)
    scores = random_scores(queries, 34, 0.3)
    direction = (np.random.default_rng(35).random(queries.n_docs) < 0.5).astype(float)
    for n_features in (4, 2**14):  # one shard, and many
        objective = objective_on(surrogate, queries, n_features)
        typed = scores.astype(objective.dtype)
        step = objective.step_along(typed, direction)
        start = objective.value(typed)
        moved = objective.value((typed + step.size * direction).astype(objective.dtype))
        assert start - moved >= step.decrease * (1 - 1e-3) - 1e-6
        assert step.decrease >= 0
        searched = objective.step_along(typed, 0.5 * direction)
        assert searched.decrease >= step.decrease * (1 - 1e-3) - 1e-6
        assert np.isnan(searched.gained)


@examples(WindowStep)
def test_a_step_to_the_best_average_is_that_of_many_values(surrogate):
    """Averages of the value over the window before and after, at even places in it."""
    queries = some_queries(33, sizes=(8,) * 12)
    scores, direction = random_scores(queries, 34, 0.3), random_scores(queries, 35)
    sampled = surrogate.half_width * np.linspace(-1.0, 1.0, 301)
    for n_features in (4, 2**14):  # one shard, and many
        objective = objective_on(surrogate, queries, n_features)
        step = objective.window_step_along(scores, direction)
        before, after = (
            np.mean([objective.value(scores + (at + t) * direction) for t in sampled])
            for at in (0.0, step.size)
        )
        assert step.decrease >= 0
        assert before - after == pytest.approx(step.decrease, abs=0.01)
