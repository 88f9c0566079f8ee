"""Every registered surrogate is a member of its family: traits, oracles, weights, additivity.

A new surrogate earns all of this by one entry in `EXAMPLES`. The traits of a surrogate stand in its docstring
and in its class attributes; both are compared with what its numbers do.
"""

import re
from itertools import pairwise

import numpy as np
import pytest

from directrank.contracts import ORACLES, Surrogate
from directrank.data.grouping import group_rows
from directrank.data.shards import make_shards
from directrank.measures import MEASURES, parse_measure
from directrank.measures.positions import positions_of
from directrank.surrogates import SURROGATES, Objective
from oracles import slope


def measures():
    """Every measure with values in [0, 1], whole and, where it takes one, with a cutoff."""
    names = []
    for measure in MEASURES:
        word = measure.bare_name + ("(max=4)" if measure.bare_name.endswith("ERR") else "")
        if measure.cutoff_is != "required":
            names.append(word)
        if measure.cutoff_is != "none":
            names.append(f"{word}@3")
    return [parse_measure(name) for name in names if not name.startswith("DCG")]


def accepted(make):
    """The surrogate of every measure that it does not refuse by type."""
    taken = []
    for measure in measures():
        try:
            taken.append(make(measure))
        except TypeError:
            continue
    return taken


#: How to construct each surrogate: class name → function from the class to examples of it.
EXAMPLES = {
    "SquaredError": lambda cls: [cls()],
    "TypeOneBound": lambda cls: accepted(cls),
    "SmoothedPositions": lambda cls: accepted(lambda measure: cls(measure, steepness=3.0, truncation=0.7)),
}


def examples(offering=None):
    offered = [cls for cls in SURROGATES if offering is None or offering in cls.offers]
    return [
        pytest.param(surrogate, id=surrogate.name)
        for cls in offered
        for surrogate in EXAMPLES.get(cls.__name__, lambda cls: [])(cls)
    ]


every = pytest.mark.parametrize("surrogate", examples())
differentiable = pytest.mark.parametrize("surrogate", examples("value_and_gradient"))
per_query = pytest.mark.parametrize("surrogate", examples("query_values"))


def some_queries(seed, sizes=(6, 9, 4, 7, 12, 5), grades=5):
    """Queries with all the grades there are room for, each with relevant and irrelevant documents."""
    rng = np.random.default_rng(seed)
    relevance = np.concatenate([np.append(rng.integers(0, grades, n - 2), [0, 2]) for n in sizes])
    return group_rows(relevance.astype(float), np.repeat(np.arange(len(sizes)), sizes))[0]


def idle_queries():
    """One document, no relevant document, all of one grade, all relevant: between two that can teach."""
    lists = ([2, 1, 0, 0, 1, 3], [1], [0], [0, 0, 0], [2, 2], [1, 2, 4], [0, 1, 0, 2, 0])
    qid = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    return group_rows(np.concatenate(lists).astype(float), qid)[0]


def random_scores(queries, seed, spread=1.0):
    return np.random.default_rng(seed).normal(size=queries.n_docs) * spread


def bound(surrogate, queries, weights=None):
    weights = np.full(queries.n_queries, 1.0 / queries.n_queries) if weights is None else weights
    return surrogate.bind(queries, weights)


def value(surrogate, queries, scores, weights=None):
    oracles = bound(surrogate, queries, weights)
    if "value_and_gradient" in surrogate.offers:
        return oracles.value_and_gradient(scores)[0]
    return oracles.value(scores)


def loss_of(surrogate, queries, scores):
    """1 − E of each query, in expectation over ties."""
    return 1.0 - surrogate.measure.query_values(queries, positions_of(queries, scores))


def whole(surrogate, queries, n_features=4, **options):
    return Objective(surrogate, queries, make_shards(queries.indptr, n_features), **options)


@pytest.mark.parametrize("cls", SURROGATES)
def test_has_examples(cls):
    assert EXAMPLES.get(cls.__name__, lambda cls: [])(cls), (
        f"{cls.__name__} is registered but never tested: add to EXAMPLES in {__file__} how to construct it, "
        f'such as "{cls.__name__}": lambda cls: accepted(cls)'
    )


@every
def test_speaks_the_contract(surrogate):
    assert isinstance(surrogate, Surrogate)
    assert surrogate.offers <= ORACLES.keys()
    oracles = bound(surrogate, some_queries(0))
    assert {name for name in ORACLES if callable(getattr(oracles, name, None))} == surrogate.offers
    assert surrogate.name.startswith(type(surrogate).__name__)
    if hasattr(surrogate, "measure"):
        assert surrogate.measure.name in surrogate.name


@pytest.mark.parametrize("cls", SURROGATES)
def test_the_docstring_states_the_traits_of_the_class(cls):
    traits = dict(re.findall(r"(bound|convex|smooth|shift-invariant)[^:.]*:\s+(yes|no)", cls.__doc__))
    assert traits.keys() == {"bound", "convex", "smooth", "shift-invariant"}
    declared = {"bound": cls.is_bound, "convex": cls.is_convex, "smooth": cls.is_smooth}
    assert {name: traits[name] == "yes" for name in declared} == declared


@every
def test_bound(surrogate):
    """A bound lies above 1 − E everywhere; what is no bound lies below it somewhere."""
    if not hasattr(surrogate, "measure"):
        assert not surrogate.is_bound, "a bound needs `measure`, the measure that it bounds"
        return
    slacks = []
    for seed in range(60):
        queries = some_queries(seed, sizes=(3, 5, 8))
        spread = 10.0 ** np.random.default_rng(seed).uniform(-2, 2)
        scores = np.round(random_scores(queries, seed, spread), 1)  # some ties
        loss = loss_of(surrogate, queries, scores)
        for q in range(queries.n_queries):
            one = queries.part(q, q + 1)
            block = scores[queries.indptr[q] : queries.indptr[q + 1]]
            if not surrogate.constant(one)[0]:
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
        if surrogate.is_convex and "value_and_gradient" in surrogate.offers:
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
    assert (jump(interval) < 1e-6 * np.abs(gradient(0.0)).max()) == surrogate.is_smooth


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


@differentiable
def test_queries_that_cannot_teach_have_no_gradient(surrogate):
    queries = idle_queries()
    objective = whole(surrogate, queries, normalise=False)
    scores = random_scores(queries, 13)
    gradient = objective.value_and_gradient(scores)[1]
    idle = np.repeat(objective.left_out, queries.sizes)
    assert (objective.left_out == surrogate.constant(queries)).all()
    assert (gradient[idle] == 0).all()
    assert (objective.weights[objective.left_out] == 0).all()
    assert objective.weights.sum() == pytest.approx(1.0)
    if hasattr(surrogate, "measure"):
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


@pytest.mark.parametrize("surrogate", examples("query_weights"))
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


@pytest.mark.parametrize("surrogate", examples("targets"))
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
    for example in examples("hessian_vector"):
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


@pytest.mark.parametrize("oracle", ["diagonal_curvature", "document_weights"])
def test_weights_of_documents_are_finite_and_absent_where_queries_are(oracle):
    for example in examples(oracle):
        surrogate = example.values[0]
        queries = some_queries(31)
        weights = np.full(queries.n_queries, 0.2)
        weights[2] = 0.0
        result = getattr(surrogate.bind(queries, weights), oracle)(random_scores(queries, 32))
        assert result.shape == (queries.n_docs,), surrogate.name
        assert np.isfinite(result).all(), surrogate.name
        assert (result[queries.indptr[2] : queries.indptr[3]] == 0).all(), surrogate.name
        assert oracle == "document_weights" or (result >= 0).all(), surrogate.name
