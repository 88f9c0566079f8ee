"""What surrogates promise of the queries, weights and shards of an objective, and of second derivatives."""

from typing import Any

import numpy as np

from directrank.contracts import Surrogate
from directrank.data.grouping import group_rows
from directrank.data.queries import Queries
from directrank.diagnostics.conformance.of_surrogates import bound
from directrank.diagnostics.conformance.promises import Promise, need
from directrank.diagnostics.conformance.samples import idle_queries, random_scores, some_queries
from directrank.features.shards import make_shards
from directrank.surrogates import Objective


def whole(surrogate: Surrogate, queries: Queries, n_features: int = 4, **options) -> Objective:
    """Return the objective of all queries."""
    return Objective(surrogate, queries, make_shards(queries.indptr, n_features), **options)


def _near(found, expected, tolerance: float) -> bool:
    return bool(np.allclose(found, expected, rtol=tolerance, atol=1e-14))


def skipped_queries_have_no_gradient(surrogate: Surrogate) -> None:
    """Has no gradient at queries from which nothing can be learned."""
    queries = idle_queries()
    objective = whole(surrogate, queries, normalise=False)
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
    found, gradient = bound(surrogate, queries, np.array([0.4, 0.0, 0.6])).value_and_gradient(scores)
    need(not gradient[queries.indptr[1] : queries.indptr[2]].any(), "a query of weight 0 has a gradient")
    alone = 0.0
    for q, weight in ((0, 0.4), (2, 0.6)):
        rows = slice(queries.indptr[q], queries.indptr[q + 1])
        one = bound(surrogate, queries.part(q, q + 1), np.array([weight]))
        part, slopes = one.value_and_gradient(scores[rows])
        alone += part
        need(_near(slopes, gradient[rows], 1e-12), "a query of weight 0 changes the gradient of another")
    need(abs(found - alone) <= 1e-12 * abs(alone), "a query of weight 0 changes the value")


def weight_two_is_two_copies(surrogate: Surrogate) -> None:
    """Counts a query of weight 2 as two copies of it."""
    lists = [[2, 1, 0, 0], [0, 3, 0, 1, 0]]
    twice = group_rows(np.concatenate([*lists, lists[1]]).astype(float), np.repeat([0, 1, 2], [4, 5, 5]))[0]
    once = twice.part(0, 2)
    scores = random_scores(once, 16)
    weighted = whole(surrogate, once, weights=np.array([1.0, 2.0])).value_and_gradient(scores)
    copied = whole(surrogate, twice).value_and_gradient(np.concatenate((scores, scores[4:])))
    need(abs(weighted[0] - copied[0]) <= 1e-12 * abs(copied[0]), "the values differ")
    summed = copied[1][:9] + np.concatenate((np.zeros(4), copied[1][9:]))
    need(_near(weighted[1], summed, 1e-11), "the gradients differ")


def is_additive_over_parts(surrogate: Surrogate) -> None:
    """Is a sum over queries: parts give the same value and the same bits of the gradient."""
    queries = some_queries(17)
    weights = np.linspace(0.1, 0.3, queries.n_queries)
    scores = random_scores(queries, 18)
    found, gradient = bound(surrogate, queries, weights).value_and_gradient(scores)
    pieces = []
    for first, last in ((0, 2), (2, 3), (3, 6)):
        rows = slice(queries.indptr[first], queries.indptr[last])
        part = bound(surrogate, queries.part(first, last), weights[first:last])
        pieces.append(part.value_and_gradient(scores[rows]))
    total = sum(each for each, _ in pieces)
    need(abs(found - total) <= 1e-12 * abs(total), f"{found:.12g} of all queries, {total:.12g} in parts")
    same = np.array_equal(gradient, np.concatenate([each for _, each in pieces]))
    need(same, "the gradient of a query depends on the other queries")


def shards_and_threads_change_nothing(surrogate: Surrogate) -> None:
    """Has the same bits for any number of threads."""
    queries = some_queries(19, sizes=(8,) * 40)
    one = whole(surrogate, queries)
    many = [whole(surrogate, queries, n_features=2**14, n_threads=threads) for threads in (1, 3)]
    need((len(one.shards), len(many[0].shards)) == (1, 20), "the collection has other shards")  # 64 KiB a row
    scores = random_scores(queries, 20)
    single = one.value_and_gradient(scores)
    serial, threaded = (each.value_and_gradient(scores) for each in many)
    # The value at zero scores is of another type.
    need(abs(serial[0] - single[0]) <= 1e-6 * abs(single[0]), "the value depends on shards")
    need(np.allclose(serial[1], single[1], rtol=1e-6, atol=0), "the gradient depends on shards")
    same = serial[0] == threaded[0] and np.array_equal(serial[1], threaded[1])
    need(same, "threads change bits: the bound form keeps something from one call to the next")


def is_positive_at_zero_scores(surrogate: Surrogate) -> None:
    """Is positive at zero scores, by which its objective is divided."""
    queries = some_queries(21)
    for n_features in (4, 2**16):
        objective = whole(surrogate, queries, n_features, weights=np.arange(1.0, queries.n_queries + 1))
        at_zero = objective.value_and_gradient(np.zeros(queries.n_docs, objective.dtype))[0]
        need(abs(at_zero - 1.0) <= 1e-12, f"the objective is {at_zero:.6g} at zero scores, not 1")


def hessian_is_the_slope_of_the_gradient(surrogate: Surrogate) -> None:
    """Has Hessian-vector products that equal differences of its gradient."""
    queries = some_queries(27, sizes=(5, 8))
    bound_form = bound(surrogate, queries)
    scores, direction, other = (random_scores(queries, seed) for seed in (28, 29, 30))
    product = bound_form.hessian_vector(scores, direction)
    ahead, behind = (bound_form.value_and_gradient(scores + h * direction)[1] for h in (1e-6, -1e-6))
    distance = np.abs(product - (ahead - behind) / 2e-6).max()
    need(distance <= 1e-6 * np.abs(product).max(), f"it differs from differences by {distance:.2g}")
    turned = direction @ bound_form.hessian_vector(scores, other)
    need(abs(other @ product - turned) <= 1e-9 * abs(turned), "the Hessian is not symmetric")
    need(direction @ product >= 0 or not surrogate.is_convex, "it is negative for a convex surrogate")


def curvature_bounds_the_second_derivative(surrogate: Surrogate) -> None:
    """Has a curvature that is not negative and, if it is convex, not below the second derivative."""
    for seed in range(4):
        queries = some_queries(seed, sizes=(5, 8, 3))
        bound_form = bound(surrogate, queries, np.array([0.2, 0.5, 0.3]))
        scores = random_scores(queries, 60 + seed)
        found = bound_form.curvature(scores)
        need(np.isfinite(found).all() and (found >= 0).all(), "it is negative or not finite")
        if not surrogate.is_convex:  # it may be that of a simpler function: see `Curvature`
            continue
        exact = _second_derivatives(bound_form, scores)
        below = np.abs(exact) - found
        i = int(np.argmax(below))
        allowed = 1e-5 * max(found.max(), np.abs(exact).max())
        need(below[i] <= allowed, f"{found[i]:.6g} at document {i}; the second derivative is {exact[i]:.6g}")


def _second_derivatives(bound_form: Any, scores: np.ndarray) -> np.ndarray:
    """Return the second derivative in each score alone, by differences."""
    found, step = np.empty_like(scores), 1e-5
    for i in range(len(scores)):
        moved = [scores + h * (np.arange(len(scores)) == i) for h in (step, -step)]
        ahead, behind = (bound_form.value_and_gradient(each)[1][i] for each in moved)
        found[i] = (ahead - behind) / (2 * step)
    return found


#: Of surrogates with a gradient.
PROMISES: tuple[Promise, ...] = (
    skipped_queries_have_no_gradient,
    weight_zero_is_absence,
    weight_two_is_two_copies,
    is_additive_over_parts,
    shards_and_threads_change_nothing,
    is_positive_at_zero_scores,
)
