"""Every registered surrogate is a member of its family: traits, contract, gradients.

A new surrogate earns all of this by one entry in `EXAMPLES` of surrogate_examples.py. The traits of a
surrogate are in its docstring and in its class attributes; both are compared with its numbers.
"""

import re
from itertools import pairwise

import numpy as np
import pytest

from directrank.contracts import Surrogate
from directrank.oracles import ValueAndGradient
from directrank.surrogates import SURROGATES, CosineDistance
from oracles import slope
from surrogate_examples import (
    ORACLES,
    bound,
    differentiable,
    every,
    examples_of,
    loss_of,
    random_scores,
    some_queries,
    value,
)


@pytest.mark.parametrize("cls", SURROGATES)
def test_has_examples(cls):
    assert examples_of(cls)


def test_a_surrogate_without_examples_fails_and_is_told_where_they_go():
    class Nameless(SURROGATES[0]):
        pass

    with pytest.raises(LookupError, match=r"Nameless is registered but never tested.*surrogate_examples\.py"):
        examples_of(Nameless)


@every
def test_speaks_the_contract(surrogate):
    assert isinstance(surrogate, Surrogate)
    assert surrogate.offers <= type(surrogate).offers
    oracles = bound(surrogate, some_queries(0))
    assert all(isinstance(oracles, oracle) for oracle in surrogate.offers)
    assert surrogate.name.startswith(type(surrogate).__name__)
    if surrogate.measure is not None:
        assert surrogate.measure.name in surrogate.name


@pytest.mark.parametrize("cls", SURROGATES)
def test_offers_what_its_bound_form_has(cls):
    """No oracle is left undeclared: the class names all that the bound surrogates have."""
    queries = some_queries(0)
    has = {
        oracle for each in examples_of(cls) for oracle in ORACLES if isinstance(bound(each, queries), oracle)
    }
    assert has == cls.offers


@pytest.mark.parametrize("cls", SURROGATES)
def test_the_docstring_states_the_traits_of_the_class(cls):
    traits = dict(re.findall(r"(bound|convex|smooth|shift-invariant)[^:.]*:\s+(yes|no)", cls.__doc__))
    assert traits.keys() == {"bound", "convex", "smooth", "shift-invariant"}
    declared = {"bound": cls.is_bound, "convex": cls.is_convex, "smooth": cls.is_smooth}
    assert {name: traits[name] == "yes" for name in declared} == declared


@every
def test_bound(surrogate):
    """A bound lies above 1 − E everywhere; what is no bound lies below it somewhere."""
    if surrogate.measure is None:
        assert not surrogate.is_bound, "a bound needs `measure`, the measure that it bounds"
        return
    slacks = []
    for seed in range(60):
        queries = some_queries(seed, sizes=(2, 3, 5, 8))
        spread = 10.0 ** np.random.default_rng(seed).uniform(-2, 2)
        scores = np.round(random_scores(queries, seed, spread), 1)  # some ties
        loss = loss_of(surrogate, queries, scores)
        for q in range(queries.n_queries):
            one = queries.part(q, q + 1)
            block = scores[queries.indptr[q] : queries.indptr[q + 1]]
            if not surrogate.uninformative(one)[0]:
                slacks.append(value(surrogate, one, block, np.ones(1)) - loss[q])
    assert (min(slacks) >= -1e-12) == surrogate.is_bound


@every
def test_convex(surrogate):
    """Chords lie above a convex surrogate and its gradients support it; elsewhere some chord lies below."""
    worst = np.inf
    for seed in range(80):
        queries = some_queries(seed % 7, sizes=(3, 6))
        weights = np.full(queries.n_queries, 0.5)
        a, b = (random_scores(queries, 1000 * k + seed, 10.0 ** (seed % 4 - 1)) for k in (1, 2))
        middle, ends = value(surrogate, queries, (a + b) / 2, weights), value(surrogate, queries, a, weights)
        ends = (ends + value(surrogate, queries, b, weights)) / 2
        worst = min(worst, (ends - middle) / max(1.0, abs(ends)))
        if surrogate.is_convex and ValueAndGradient in surrogate.offers:
            at_a, gradient = bound(surrogate, queries, weights).value_and_gradient(a)
            at_b = value(surrogate, queries, b, weights)
            assert at_b >= at_a + gradient @ (b - a) - 1e-9 * max(1.0, abs(at_a), abs(at_b))
    assert (worst >= -1e-10) == surrogate.is_convex


@differentiable
def test_smooth(surrogate):
    """Halving the interval of the largest jump of the gradient leaves no jump if it is smooth."""
    queries = some_queries(1, sizes=(5, 7))
    oracles = bound(surrogate, queries)
    start, direction = random_scores(queries, 2), random_scores(queries, 3)

    def gradient(t):
        return oracles.value_and_gradient(start + t * direction)[1]

    def jump(ends):
        return np.abs(gradient(ends[1]) - gradient(ends[0])).max()

    grid = np.linspace(-3, 3, 300)
    interval = max(pairwise(grid), key=jump)
    for _ in range(30):
        middle = sum(interval) / 2
        interval = max((interval[0], middle), (middle, interval[1]), key=jump)
    size = max(np.abs(gradient(t)).max() for t in (0.0, interval[0]))  # exponential losses grow on the way
    assert (jump(interval) < 1e-6 * size) == surrogate.is_smooth


@every
def test_shift_invariant(surrogate):
    queries = some_queries(3)
    shift = np.repeat(np.arange(1.0, queries.n_queries + 1), queries.sizes)  # another one for each query
    scores = random_scores(queries, 4)
    before, after = value(surrogate, queries, scores), value(surrogate, queries, scores + shift)
    declared = re.search(r"shift-invariant[^:.]*:\s+(yes|no)", type(surrogate).__doc__)[1] == "yes"
    assert (after == pytest.approx(before, rel=1e-11)) == declared


@differentiable
def test_gradient_equals_differences(surrogate):
    for seed in range(6):
        queries = some_queries(seed, sizes=(5, 8, 3))
        weights = np.array([0.2, 0.5, 0.3])
        oracles = bound(surrogate, queries, weights)
        scores = random_scores(queries, 50 + seed)
        gradient = oracles.value_and_gradient(scores)[1]
        by_differences = slope(lambda s, of=oracles: of.value_and_gradient(s)[0], scores, step=3e-4)
        np.testing.assert_allclose(gradient, by_differences, rtol=0, atol=1e-8 * np.abs(gradient).max())


@differentiable
def test_the_gradient_sees_distant_and_tied_scores(surrogate):
    queries = some_queries(5, sizes=(6, 6))
    for scores in (np.zeros(12), np.tile([0.0, 1.0, 1.0, 2.0, 2.0, 2.0], 2), 4.0 * random_scores(queries, 6)):
        if isinstance(surrogate, CosineDistance) and not scores.any():
            continue  # zero scores have no angle
        if not surrogate.is_smooth:
            scores = scores + 1e-2 * random_scores(queries, 7)
        oracles = bound(surrogate, queries)
        gradient = oracles.value_and_gradient(scores)[1]
        by_differences = slope(lambda s, of=oracles: of.value_and_gradient(s)[0], scores, step=3e-4)
        np.testing.assert_allclose(gradient, by_differences, rtol=0, atol=1e-8 * np.abs(gradient).max())


@differentiable
def test_float32_is_near_float64(surrogate):
    queries = some_queries(7, sizes=(30, 8, 120))
    oracles = bound(surrogate, queries)
    for spread in (0.1, 1.0, 10.0):
        narrow = random_scores(queries, 8, spread).astype(np.float32)
        value32, gradient32 = oracles.value_and_gradient(narrow)
        value64, gradient64 = oracles.value_and_gradient(narrow.astype(np.float64))
        assert (gradient32.dtype, gradient64.dtype) == (np.float32, np.float64)
        assert value32 == pytest.approx(value64, rel=1e-5)
        np.testing.assert_allclose(gradient32, gradient64, rtol=0, atol=2e-5 * np.abs(gradient64).max())


@differentiable
def test_does_not_write_into_scores(surrogate):
    queries = some_queries(9)
    scores = random_scores(queries, 10)
    scores.flags.writeable = False
    bound(surrogate, queries).value_and_gradient(scores)


@differentiable
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_scores_give_numbers(surrogate, dtype):
    queries = some_queries(11)
    oracles = bound(surrogate, queries)
    for spread in (1e-30, 1e2, 1e4, 1e6):
        result, gradient = oracles.value_and_gradient(random_scores(queries, 12, spread).astype(dtype))
        assert not np.isnan(result)
        assert not np.isnan(gradient).any()
