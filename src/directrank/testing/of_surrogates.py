"""Checks of surrogates: their value, their gradient, and what they declare."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from directrank.contracts import ORACLES, Oracles, Surrogate, Value, ValueAndGradient
from directrank.data.grouping import group_rows
from directrank.data.queries import Queries
from directrank.features.shards import make_shards
from directrank.measures.positions import positions_of
from directrank.surrogates import Objective
from directrank.testing.checks import (
    Check,
    idle_queries,
    need,
    random_scores,
    slope,
    some_queries,
)

ROUNDING = 1e-12


def oracles_of(surrogate: Surrogate, queries: Queries, weights: np.ndarray | None = None) -> Oracles:
    """Return the oracles of a surrogate on some queries, of equal weights by default."""
    weights = np.full(queries.n_queries, 1.0 / queries.n_queries) if weights is None else weights
    return surrogate.on(queries, weights)


def value(
    surrogate: Surrogate, queries: Queries, scores: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Return the weighted sum over queries."""
    oracles = oracles_of(surrogate, queries, weights)
    if ValueAndGradient in surrogate.offers:
        return oracles.value_and_gradient(scores)[0]
    return oracles.value(scores)


def loss_of(surrogate: Surrogate, queries: Queries, scores: np.ndarray) -> np.ndarray:
    """Return 1 − E of each query, in expectation over ties."""
    return 1.0 - surrogate.measure.query_values(queries, positions_of(queries, scores))


def least_slack(surrogate: Surrogate) -> float:
    """Return the least difference to 1 − E that was found; a bound has none below 0."""
    slacks = []
    for seed in range(60):
        queries = some_queries(seed, sizes=(2, 3, 5, 8))
        spread = 10.0 ** np.random.default_rng(seed).uniform(-2, 2)
        scores = np.round(random_scores(queries, seed, spread), 1)  # some ties
        loss = loss_of(surrogate, queries, scores)
        for q in range(queries.n_queries):
            query = queries.part(q, q + 1)
            block = scores[queries.indptr[q] : queries.indptr[q + 1]]
            if not surrogate.uninformative(query)[0]:
                slacks.append(value(surrogate, query, block, np.ones(1)) - loss[q])
    return min(slacks)


def _pairs_of_scores() -> Iterator[tuple[Queries, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield queries, their weights, and two scores near and far from each other."""
    for seed in range(80):
        queries = some_queries(seed % 7, sizes=(3, 6))
        a, b = (random_scores(queries, 1000 * k + seed, 10.0 ** (seed % 4 - 1)) for k in (1, 2))
        yield queries, np.full(queries.n_queries, 0.5), a, b


def least_chord(surrogate: Surrogate) -> float:
    """Return by how much a chord lies above the middle, relatively, at the worst place that was found."""
    worst = np.inf
    for queries, weights, a, b in _pairs_of_scores():
        ends = (value(surrogate, queries, a, weights) + value(surrogate, queries, b, weights)) / 2
        middle = value(surrogate, queries, (a + b) / 2, weights)
        worst = min(worst, (ends - middle) / max(1.0, abs(ends)))
    return worst


def largest_jump(surrogate: Surrogate) -> float:
    """Return how much the gradient jumps, relatively, at the place of its largest change on a line."""
    queries = some_queries(1, sizes=(5, 7))
    oracles = oracles_of(surrogate, queries)
    start, direction = random_scores(queries, 2), random_scores(queries, 3)

    def gradient(t):
        return oracles.value_and_gradient(start + t * direction)[1]

    def jump(ends):
        return np.abs(gradient(ends[1]) - gradient(ends[0])).max()

    interval = max(pairwise(np.linspace(-3, 3, 300)), key=jump)
    for _ in range(30):
        middle = sum(interval) / 2
        interval = max((interval[0], middle), (middle, interval[1]), key=jump)
    size = max(np.abs(gradient(t)).max() for t in (0.0, interval[0]))  # exponential losses grow on the way
    return jump(interval) / size if size > 0 else 0.0  # a gradient that is 0 everywhere does not jump


def offers_the_oracles_that_it_has(surrogate: Surrogate) -> str | None:
    """Offers the oracles that it has."""
    oracles = oracles_of(surrogate, some_queries(0))
    for oracle in surrogate.offers:
        need(isinstance(oracles, oracle), f"{type(oracles).__name__} lacks a method of {oracle.__name__}")
    has = {oracle.__name__ for oracle in ORACLES if isinstance(oracles, oracle)}
    more = has - {oracle.__name__ for oracle in surrogate.offers}
    return f"it could also offer {', '.join(sorted(more))}" if more else None


def is_called_as_its_class(surrogate: Surrogate) -> None:
    """Has a name that begins with its class and says its measure."""
    need(surrogate.name.startswith(type(surrogate).__name__), f"its name is {surrogate.name}")
    names_measure = surrogate.measure is None or surrogate.measure.name in surrogate.name
    need(names_measure, f"its name is {surrogate.name}, without the measure")


def is_a_bound_if_it_says_so(surrogate: Surrogate) -> str | None:
    """Lies above 1 − E everywhere if it says that it is a bound."""
    if surrogate.measure is None:
        need(not surrogate.is_bound, "a bound needs `measure`, the measure that it bounds")
        return None
    slack = least_slack(surrogate)
    need(
        slack >= -ROUNDING or not surrogate.is_bound,
        f"it lies {-slack:.3g} below 1 − {surrogate.measure.name}",
    )
    return "it may be a bound" if slack >= -ROUNDING and not surrogate.is_bound else None


def is_convex_if_it_says_so(surrogate: Surrogate) -> str | None:
    """Is convex in the scores if it says so: no chord lies below it."""
    chord = least_chord(surrogate)
    need(chord >= -1e-10 or not surrogate.is_convex, f"a chord lies {-chord:.3g} below it")
    return "it may be convex" if chord >= -1e-10 and not surrogate.is_convex else None


def gradient_supports_what_is_convex(surrogate: Surrogate) -> None:
    """Has gradients that support it from below if it is convex."""
    for queries, weights, a, b in _pairs_of_scores() if surrogate.is_convex else ():
        at_a, gradient = oracles_of(surrogate, queries, weights).value_and_gradient(a)
        at_b = value(surrogate, queries, b, weights)
        allowed = 1e-9 * max(1.0, abs(at_a), abs(at_b))
        need(at_b >= at_a + gradient @ (b - a) - allowed, "a tangent lies above it")


def is_smooth_if_it_says_so(surrogate: Surrogate) -> str | None:
    """Has a continuous gradient if it says that it is smooth."""
    jump = largest_jump(surrogate)
    need(jump < 1e-6 or not surrogate.is_smooth, f"the gradient jumps by {jump:.3g} of its size")
    return "it may be smooth" if jump < 1e-6 and not surrogate.is_smooth else None


def gradient_equals_differences(surrogate: Surrogate) -> None:
    """Has a gradient that equals differences of its value, to eight digits."""
    for seed in range(6):
        queries = some_queries(seed, sizes=(5, 8, 3))
        oracles = oracles_of(surrogate, queries, np.array([0.2, 0.5, 0.3]))
        _check_gradient(oracles, random_scores(queries, 50 + seed), "random scores")


def gradient_equals_differences_at_distant_and_tied_scores(surrogate: Surrogate) -> None:
    """Has a gradient that equals differences at tied and at distant scores."""
    queries = some_queries(5, sizes=(6, 6))
    oracles = oracles_of(surrogate, queries)
    tied, distant = np.tile([0.0, 1.0, 1.0, 2.0, 2.0, 2.0], 2), 4.0 * random_scores(queries, 6)
    for scores, where in ((tied, "tied scores"), (distant, "distant scores")):
        if not surrogate.is_smooth:
            scores = scores + 1e-2 * random_scores(queries, 7)
        _check_gradient(oracles, scores, where)


def gradient_equals_differences_at_zero(surrogate: Surrogate) -> None:
    """Has a gradient that equals differences at zero scores, where training starts."""
    queries = some_queries(5, sizes=(6, 6))
    scores = 0.0 if surrogate.is_smooth else 1e-2 * random_scores(queries, 7)
    _check_gradient(oracles_of(surrogate, queries), np.zeros(queries.n_docs) + scores, "zero scores")


def _check_gradient(oracles: Oracles, scores: np.ndarray, where: str) -> None:
    gradient = oracles.value_and_gradient(scores)[1]
    expected = slope(lambda s: oracles.value_and_gradient(s)[0], scores, step=3e-4)
    wrong = np.abs(gradient - expected)
    i = int(np.argmax(wrong))
    need(
        wrong[i] <= 1e-8 * np.abs(gradient).max(),
        f"at {where}, document {i}: the gradient is {gradient[i]:.6g}, differences give {expected[i]:.6g}",
    )


def float32_is_near_float64(surrogate: Surrogate) -> None:
    """Has in float32 the value and gradient of float64, of that type."""
    queries = some_queries(7, sizes=(30, 8, 120))
    oracles = oracles_of(surrogate, queries)
    for spread in (0.1, 1.0, 10.0):
        narrow = random_scores(queries, 8, spread).astype(np.float32)
        value32, gradient32 = oracles.value_and_gradient(narrow)
        value64, gradient64 = oracles.value_and_gradient(narrow.astype(np.float64))
        types = (gradient32.dtype, gradient64.dtype)
        need(types == (np.float32, np.float64), f"the gradients are {types[0]} and {types[1]}")
        need(
            abs(value32 - value64) <= 1e-5 * abs(value64),
            f"{value32:.7g} in float32, {value64:.7g} in float64",
        )
        distance = np.abs(gradient32 - gradient64).max()
        need(distance <= 2e-5 * np.abs(gradient64).max(), f"the gradients differ by {distance:.2g}")


def does_not_write_into_scores(surrogate: Surrogate) -> None:
    """Does not write into scores."""
    queries = some_queries(9)
    scores = random_scores(queries, 10)
    before = scores.tobytes()
    oracles_of(surrogate, queries).value_and_gradient(scores)
    need(scores.tobytes() == before, "the scores are not what they were")


def extreme_scores_give_numbers(surrogate: Surrogate) -> None:
    """Has no NaN at scores from 1e-30 to 1e6."""
    queries = some_queries(11)
    oracles = oracles_of(surrogate, queries)
    for kind in (np.float32, np.float64):
        for spread in (1e-30, 1e2, 1e4, 1e6):
            actual, gradient = oracles.value_and_gradient(random_scores(queries, 12, spread).astype(kind))
            at = f"at scores of about {spread:g} in {kind.__name__}"
            need(not np.isnan(actual) and not np.isnan(gradient).any(), f"NaN {at}")


def has_a_value(surrogate: Surrogate) -> bool:
    """Say whether a surrogate's value can be asked for."""
    return bool({Value, ValueAndGradient} & surrogate.offers)


#: Of every surrogate, of those with a value, and of those with a gradient.
EVERY: tuple[Check, ...] = (offers_the_oracles_that_it_has, is_called_as_its_class)
VALUED: tuple[Check, ...] = (is_a_bound_if_it_says_so, is_convex_if_it_says_so)
DIFFERENTIABLE: tuple[Check, ...] = (
    gradient_equals_differences,
    gradient_equals_differences_at_distant_and_tied_scores,
    gradient_equals_differences_at_zero,
    gradient_supports_what_is_convex,
    is_smooth_if_it_says_so,
    float32_is_near_float64,
    does_not_write_into_scores,
    extreme_scores_give_numbers,
)


def objective_on(surrogate: Surrogate, queries: Queries, n_features: int = 4, **options) -> Objective:
    """Return the objective of all queries."""
    return Objective(surrogate, queries, make_shards(queries.indptr, n_features), **options)


def _near(actual, expected, tolerance: float) -> bool:
    return bool(np.allclose(actual, expected, rtol=tolerance, atol=1e-14))


def skipped_queries_have_no_gradient(surrogate: Surrogate) -> None:
    """Has no gradient at queries from which nothing can be learned."""
    queries = idle_queries()
    objective = objective_on(surrogate, queries, normalise=False)
    gradient = objective.value_and_gradient(random_scores(queries, 13))[1]
    idle = np.repeat(objective.left_out, queries.sizes)
    need(np.array_equal(objective.left_out, surrogate.uninformative(queries)), "other queries are skipped")
    need(not gradient[idle].any(), "a skipped query has a gradient")
    need(not objective.weights[objective.left_out].any(), "a skipped query has a weight")
    need(abs(objective.weights.sum() - 1.0) < 1e-12, "the weights do not add up to 1")


def weight_zero_is_absence(surrogate: Surrogate) -> None:
    """Counts a query of weight 0 as if it were not there."""
    queries = some_queries(14, sizes=(6, 5, 7))
    scores = random_scores(queries, 15)
    actual, gradient = oracles_of(surrogate, queries, np.array([0.4, 0.0, 0.6])).value_and_gradient(scores)
    need(not gradient[queries.indptr[1] : queries.indptr[2]].any(), "a query of weight 0 has a gradient")
    alone = 0.0
    for q, weight in ((0, 0.4), (2, 0.6)):
        rows = slice(queries.indptr[q], queries.indptr[q + 1])
        separate = oracles_of(surrogate, queries.part(q, q + 1), np.array([weight]))
        part, slopes = separate.value_and_gradient(scores[rows])
        alone += part
        need(_near(slopes, gradient[rows], 1e-12), "a query of weight 0 changes the gradient of another")
    need(abs(actual - alone) <= 1e-12 * abs(alone), "a query of weight 0 changes the value")


def weight_two_is_two_copies(surrogate: Surrogate) -> None:
    """Counts a query of weight 2 as two copies of it."""
    lists = [[2, 1, 0, 0], [0, 3, 0, 1, 0]]
    twice = group_rows(np.concatenate([*lists, lists[1]]).astype(float), np.repeat([0, 1, 2], [4, 5, 5]))[0]
    once = twice.part(0, 2)
    scores = random_scores(once, 16)
    weighted = objective_on(surrogate, once, weights=np.array([1.0, 2.0])).value_and_gradient(scores)
    copied = objective_on(surrogate, twice).value_and_gradient(np.concatenate((scores, scores[4:])))
    need(abs(weighted[0] - copied[0]) <= 1e-12 * abs(copied[0]), "the values differ")
    summed = copied[1][:9] + np.concatenate((np.zeros(4), copied[1][9:]))
    need(_near(weighted[1], summed, 1e-11), "the gradients differ")


def is_additive_over_parts(surrogate: Surrogate) -> None:
    """Is a sum over queries: parts give the same value and a bit-identical gradient."""
    queries = some_queries(17)
    weights = np.linspace(0.1, 0.3, queries.n_queries)
    scores = random_scores(queries, 18)
    actual, gradient = oracles_of(surrogate, queries, weights).value_and_gradient(scores)
    pieces = []
    for first, last in ((0, 2), (2, 3), (3, 6)):
        rows = slice(queries.indptr[first], queries.indptr[last])
        part = oracles_of(surrogate, queries.part(first, last), weights[first:last])
        pieces.append(part.value_and_gradient(scores[rows]))
    total = sum(piece for piece, _ in pieces)
    need(abs(actual - total) <= 1e-12 * abs(total), f"{actual:.12g} of all queries, {total:.12g} in parts")
    same = np.array_equal(gradient, np.concatenate([piece for _, piece in pieces]))
    need(same, "the gradient of a query depends on the other queries")


def shards_and_threads_change_nothing(surrogate: Surrogate) -> None:
    """Is bit-identical for any number of threads."""
    queries = some_queries(19, sizes=(8,) * 40)
    one = objective_on(surrogate, queries)
    many = [objective_on(surrogate, queries, n_features=2**14, n_threads=threads) for threads in (1, 3)]
    need((len(one.shards), len(many[0].shards)) == (1, 20), "the collection has other shards")  # 64 KiB a row
    scores = random_scores(queries, 20)
    single = one.value_and_gradient(scores)
    serial, threaded = (objective.value_and_gradient(scores) for objective in many)
    # The value at zero scores is of another type.
    need(abs(serial[0] - single[0]) <= 1e-6 * abs(single[0]), "the value depends on shards")
    need(np.allclose(serial[1], single[1], rtol=1e-6, atol=0), "the gradient depends on shards")
    same = serial[0] == threaded[0] and np.array_equal(serial[1], threaded[1])
    need(same, "threads change bits: the oracles keep something from one call to the next")


def is_positive_at_zero_scores(surrogate: Surrogate) -> None:
    """Is positive at zero scores, by which its objective is divided."""
    queries = some_queries(21)
    for n_features in (4, 2**16):
        objective = objective_on(
            surrogate, queries, n_features, weights=np.arange(1.0, queries.n_queries + 1)
        )
        at_zero = objective.value_and_gradient(np.zeros(queries.n_docs, objective.dtype))[0]
        need(abs(at_zero - 1.0) <= 1e-12, f"the objective is {at_zero:.6g} at zero scores, not 1")


def hessian_is_the_slope_of_the_gradient(surrogate: Surrogate) -> None:
    """Has Hessian-vector products that equal differences of its gradient."""
    queries = some_queries(27, sizes=(5, 8))
    oracles = oracles_of(surrogate, queries)
    scores, direction, other = (random_scores(queries, seed) for seed in (28, 29, 30))
    product = oracles.hessian_vector(scores, direction)
    ahead, behind = (oracles.value_and_gradient(scores + h * direction)[1] for h in (1e-6, -1e-6))
    distance = np.abs(product - (ahead - behind) / 2e-6).max()
    need(distance <= 1e-6 * np.abs(product).max(), f"it differs from differences by {distance:.2g}")
    turned = direction @ oracles.hessian_vector(scores, other)
    need(abs(other @ product - turned) <= 1e-9 * abs(turned), "the Hessian is not symmetric")
    need(direction @ product >= 0 or not surrogate.is_convex, "it is negative for a convex surrogate")


def curvature_bounds_the_second_derivative(surrogate: Surrogate) -> None:
    """Has a curvature that is not negative and, if it is convex, not below the second derivative."""
    for seed in range(4):
        queries = some_queries(seed, sizes=(5, 8, 3))
        oracles = oracles_of(surrogate, queries, np.array([0.2, 0.5, 0.3]))
        scores = random_scores(queries, 60 + seed)
        value, gradient, actual = oracles.derivatives(scores)
        expected = oracles.value_and_gradient(scores)
        need(np.allclose(value, expected[0]), "its value is not that of the gradient's oracle")
        need(np.allclose(gradient, expected[1]), "its gradient is not that of the gradient's oracle")
        need(np.isfinite(actual).all() and (actual >= 0).all(), "it is negative or not finite")
        if not surrogate.is_convex:  # it may be that of a simpler function: see `Curvature`
            continue
        exact = _second_derivatives(oracles, scores)
        below = np.abs(exact) - actual
        i = int(np.argmax(below))
        allowed = 1e-5 * max(actual.max(), np.abs(exact).max())
        need(below[i] <= allowed, f"{actual[i]:.6g} at document {i}; the second derivative is {exact[i]:.6g}")


def _second_derivatives(oracles: Oracles, scores: np.ndarray) -> np.ndarray:
    """Return the second derivative in each score alone, by differences."""
    result, step = np.empty_like(scores), 1e-5
    for i in range(len(scores)):
        moved = [scores + h * (np.arange(len(scores)) == i) for h in (step, -step)]
        ahead, behind = (oracles.value_and_gradient(point)[1][i] for point in moved)
        result[i] = (ahead - behind) / (2 * step)
    return result


#: Of surrogates with a gradient.
BOUND: tuple[Check, ...] = (
    skipped_queries_have_no_gradient,
    weight_zero_is_absence,
    weight_two_is_two_copies,
    is_additive_over_parts,
    shards_and_threads_change_nothing,
    is_positive_at_zero_scores,
)
