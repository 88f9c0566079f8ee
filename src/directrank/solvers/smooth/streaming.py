"""One pass over the features in compiled code: scores, surrogate and product with the features in one loop.

It is there for linear scorers, surrogates that offer ``gradient_form`` and collections of several shards;
what it computes is what the oracles compute, without a return to Python for every block.
"""

import threading
from collections.abc import Sequence

import numba
import numpy as np

from directrank.contracts import BoundObjective, Part
from directrank.kernels.aligned import aligned_zeros
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, is_ours, query_gradient
from directrank.scorers import Linear
from directrank.scorers.linear import row_products, transposed_product

# Features of so many queries are read at once: they fit the second cache beside what else is at work.
TILE_BYTES = 2**18


def can_stream(objective: BoundObjective, scorer) -> bool:
    """Say whether the compiled loop is there for a pair, and worth its compilation."""
    return (
        "gradient_form" in objective.offers
        and isinstance(scorer, Linear)
        and objective.dtype == np.float32
        and not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
    )


def stream(
    objective: BoundObjective, parameters: np.ndarray, features: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """Return value and gradient of each shard, (n_features,), before the objective's scale.

    Where a query asks for its oracle, the block it is in goes through the oracles.
    """
    form, per_thread = objective.gradient_form(), threading.local()
    loop = _stream if is_ours(form) else _stream_foreign
    typed = aligned_zeros(len(parameters), objective.dtype)
    typed[:] = parameters

    def statistic(parts: Sequence[Part]) -> tuple[float, np.ndarray]:
        if not hasattr(per_thread, "room"):
            per_thread.room = _room(form.longest, typed)
        room, partial = per_thread.room
        bounds = np.array([part.queries.start for part in parts] + [parts[-1].queries.stop])
        out, left = np.zeros(len(typed)), np.zeros(len(parts), np.bool_)
        total = loop(features, form, bounds, typed, room, partial, out, left)
        for part in (part for part, is_left in zip(parts, left, strict=True) if is_left):
            block, scorer = features[part.rows], Linear()
            value, slope = part.oracles.value_and_gradient(scorer.forward(typed, block, objective.dtype))
            total += value
            out += scorer.backward(block, slope)
        return total, out

    return objective.map_shards(statistic)


def _room(longest: int, typed: np.ndarray):
    places = -(-longest // WIDTH) * WIDTH
    room = aligned_zeros((4, places), typed.dtype), np.empty(places)
    return room, aligned_zeros(len(typed), typed.dtype)


def _pass(features, form, bounds, w, room, partial, out, left):
    total, n_features = 0.0, features.shape[1]
    most = max(form.longest, TILE_BYTES // (features.itemsize * n_features))
    docs, sums = np.empty((2, most), w.dtype), np.empty(n_features)
    for b in range(len(left)):
        for k in range(n_features):
            sums[k] = 0.0
        value, first = 0.0, bounds[b]
        while first < bounds[b + 1]:
            last = _end_of_tile(form.indptr, first, bounds[b + 1], most)
            value += _tile(features, form, first, last, w, room, docs, partial, sums)
            first = last
        left[b] = np.isnan(value)
        if not left[b]:
            total += value
            for k in range(n_features):
                out[k] += sums[k]
    return total


_stream, _stream_foreign = kernel(_pass), kernel(_pass, cached=False)


@kernel
def _end_of_tile(indptr, first, last, most):
    end = first + 1
    while end < last and indptr[end + 1] - indptr[first] <= most:
        end += 1
    return end


@kernel
def _tile(features, form, first, last, w, room, docs, partial, out):
    # A few whole queries, whose features stay in the cache between the two products.
    start, stop = form.indptr[first], form.indptr[last]
    rows, scores, gradient = features[start:stop], docs[0, : stop - start], docs[1, : stop - start]
    row_products(rows, w, scores)
    value = 0.0
    for q in range(first, last):
        i, j = form.indptr[q] - start, form.indptr[q + 1] - start
        value += query_gradient(form, q, scores[i:j], room, gradient[i:j])
    transposed_product(rows, gradient, partial, out)
    return value
