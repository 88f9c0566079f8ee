"""Pair losses of boosting: by hand, against their definitions, and the theory of their steps."""

import math

import numpy as np
import pytest

from directrank.data.groups import QueryGroups
from directrank.features.shards import make_shards
from directrank.measures import NDCG
from directrank.surrogates import ExpectedMeasure, ExponentialPairs, Fidelity, Objective
from directrank.surrogates.pairs.runs import pair_counts
from directrank.surrogates.positions.expected import gained_and_lost
from directrank.surrogates.steps import MAX_STEP, ratio_step, searched_step
from naive import fidelity_naive, gained_and_lost_naive, potentials_naive


def collection(seed, sizes=(7, 12, 2, 25), grades=4, features=1):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.append(rng.integers(0, grades, n - 1), grades) for n in sizes])
    groups = QueryGroups(rng.normal(size=(len(y), features)), y, np.repeat(np.arange(len(sizes)), sizes))
    return groups, rng


def objective_of(surrogate, groups):
    return Objective(surrogate, groups.queries, groups.shards, normalise=False)


def blocks(queries):
    return [slice(a, b) for a, b in zip(queries.indptr[:-1], queries.indptr[1:], strict=True)]


def counted(y):
    return sum(a > b for a in y for b in y)


@pytest.mark.parametrize("surrogate", [ExponentialPairs, Fidelity])
@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_kernels_equal_definitions(surrogate, normalise, spread):
    naive = potentials_naive if surrogate is ExponentialPairs else fidelity_naive
    groups, rng = collection(0)
    scores = rng.normal(size=groups.n_docs) * spread
    value, gradient = objective_of(surrogate(normalise=normalise), groups).value_and_gradient(scores)
    total, by_definition = 0.0, []
    for block in blocks(groups.queries):
        y = groups.queries.relevance[block]
        share = 0.25 / (counted(y) if normalise else 1.0)
        loss, w = naive(scores[block], y)
        total += share * loss
        by_definition.append(share * w)
    assert value == pytest.approx(total, rel=1e-11)
    np.testing.assert_allclose(-gradient, np.concatenate(by_definition), rtol=1e-9, atol=1e-13)


def test_pairs_are_counted():
    groups, _ = collection(1)
    expected = [counted(groups.queries.relevance[block]) for block in blocks(groups.queries)]
    assert pair_counts(groups.queries).tolist() == expected


@pytest.mark.parametrize("surrogate", [ExponentialPairs(alpha="second"), Fidelity(line_search=False)])
def test_sums_along_a_direction(surrogate):
    """N − D is the agreement of weights and direction, as for NDCG_Boost."""
    for seed in range(10):
        groups, rng = collection(seed)
        scores, f = rng.normal(size=groups.n_docs), rng.integers(0, 2, groups.n_docs).astype(float)
        objective = objective_of(surrogate, groups)
        step, weights = objective.step_along(scores, f), -objective.value_and_gradient(scores)[1]
        assert step.gained - step.lost == pytest.approx(weights @ f, abs=1e-11)
        assert step.gained >= 0
        assert step.lost >= 0


def test_the_second_method_is_the_best_step_and_its_decrease_exact():
    """Z = W₀ + W₊ e^{−α} + W₋ e^{α} for h in {0, 1}."""
    for seed in range(20):
        groups, rng = collection(seed)
        scores, f = rng.normal(size=groups.n_docs), rng.integers(0, 2, groups.n_docs).astype(float)
        objective = objective_of(ExponentialPairs(alpha="second"), groups)
        step = objective.step_along(scores, f)
        before, after = (objective.value_and_gradient(scores + a * f)[0] for a in (0.0, step.size))
        assert before - after == pytest.approx(step.decrease, rel=1e-9)
        for other in (step.size - 0.01, step.size + 0.01):
            assert objective.value_and_gradient(scores + other * f)[0] > after


def test_the_third_method_keeps_its_promise():
    """α = ½ ln((1 + r)/(1 − r)) with r = Σ h π / Z, and then Z' ≤ Z √(1 − r²)."""
    for seed in range(20):
        groups, rng = collection(seed)
        scores, f = rng.normal(size=groups.n_docs), rng.integers(0, 2, groups.n_docs).astype(float)
        objective = objective_of(ExponentialPairs(), groups)
        z, gradient = objective.value_and_gradient(scores)
        r = -float(gradient @ f) / z
        step = objective.step_along(scores, f)
        assert step.size == pytest.approx(0.5 * math.log((1 + r) / (1 - r)))
        assert step.decrease == pytest.approx(z * (1 - math.sqrt(1 - r * r)))
        assert objective.value_and_gradient(scores + step.size * f)[0] <= z - step.decrease + 1e-12


def test_franks_closed_form_keeps_its_promise_and_the_search_does_better():
    for seed in range(20):
        groups, rng = collection(seed)
        scores, f = rng.normal(size=groups.n_docs), rng.integers(0, 2, groups.n_docs).astype(float)
        closed = objective_of(Fidelity(line_search=False), groups)
        step = closed.step_along(scores, f)
        assert step.size == pytest.approx(0.5 * math.log(step.gained / step.lost))
        before, after = (closed.value_and_gradient(scores + a * f)[0] for a in (0.0, step.size))
        assert after <= before - step.decrease + 1e-12
        searched = objective_of(Fidelity(), groups).step_along(scores, f)
        assert searched.decrease >= before - after - 1e-6
        assert searched.decrease == pytest.approx(
            before - closed.value_and_gradient(scores + searched.size * f)[0], abs=1e-12
        )


@pytest.mark.parametrize("surrogate", [ExponentialPairs(), Fidelity(), ExpectedMeasure(NDCG())])
def test_any_direction_is_searched(surrogate):
    groups, rng = collection(3)
    scores, direction = rng.normal(size=groups.n_docs), rng.normal(size=groups.n_docs)
    objective = objective_of(surrogate, groups)
    step = objective.step_along(scores, direction)
    before, after = (objective.value_and_gradient(scores + a * direction)[0] for a in (0.0, step.size))
    assert before - after == pytest.approx(step.decrease)
    assert step.decrease > 0
    slope = objective.value_and_gradient(scores)[1] @ direction
    assert (step.size > 0) == (slope < 0)


def test_steps_add_up_over_shards():
    groups, rng = collection(4, sizes=(40,) * 120, features=400)
    assert len(groups.shards) > 5
    scores, f = rng.normal(size=groups.n_docs), rng.integers(0, 2, groups.n_docs).astype(float)
    rows = make_shards(groups.queries.indptr, 1)
    assert len(rows) == 1
    for surrogate in (ExponentialPairs(), Fidelity(line_search=False), ExpectedMeasure(NDCG())):
        single, one, three = (
            Objective(surrogate, groups.queries, shards, n_threads=n_threads)
            for shards, n_threads in ((rows, 1), (groups.shards, 1), (groups.shards, 3))
        )
        assert one.step_along(scores, f) == three.step_along(scores, f)
        assert one.step_along(scores, f).size == pytest.approx(single.step_along(scores, f).size, rel=1e-9)
        assert one.value_and_gradient(scores)[0] == three.value_and_gradient(scores)[0]
    searching = [Objective(Fidelity(), groups.queries, groups.shards, n_threads=n) for n in (1, 3)]
    assert len({each.step_along(scores, f).size for each in searching}) == 1


@pytest.mark.parametrize(
    ("dtype", "spread"), [(np.float32, 5), (np.float32, 90), (np.float64, 100), (float, 900)]
)
def test_pair_sums_in_every_range(dtype, spread):
    rng = np.random.default_rng(5)
    F = rng.uniform(-spread / 2, spread / 2, 30).astype(dtype)
    rates, f = np.append(rng.random(12), np.zeros(18)), rng.integers(0, 2, 30).astype(float)
    sums = gained_and_lost(F, np.array([0, 30]), np.array([12]), rates, f)
    expected = gained_and_lost_naive(F.astype(float), rates, f)
    assert sums == pytest.approx(expected, rel=1e-5 if dtype == np.float32 else 1e-10)


def test_ratio_step_degenerates_by_name():
    assert ratio_step(0.0, 0.0, 0.1).size == 0.0
    assert ratio_step(2.0, 2.0, 0.1).size == 0.0
    assert ratio_step(1.0, 0.0, 0.5).size == pytest.approx(0.5 * math.log(1.5 / 0.5))
    assert ratio_step(1.0, 0.0, 1e-9).size == MAX_STEP
    assert ratio_step(0.0, 1.0, 1e-9).size == -MAX_STEP
    assert ratio_step(4.0, 1.0, 0.1).decrease == pytest.approx((2.0 - 1.0) ** 2)
    assert ratio_step(math.inf, 1.0, 0.1).size == 0.0


def test_search_finds_a_minimum_on_either_side():
    direction = np.array([0.0, 1.0])
    for minimum in (1.3, -0.7):
        step = searched_step(lambda size, at=minimum: (size - at) ** 2, direction)
        assert step.size == pytest.approx(minimum, abs=0.01)
        assert step.decrease == pytest.approx(minimum**2, abs=1e-3)
    assert searched_step(lambda size: size**2, direction).decrease == pytest.approx(0.0, abs=1e-6)
    assert searched_step(lambda size: -size, np.ones(4)).size == 0.0
