"""One pass over the features in compiled code: scores, surrogate and product with the features in one loop.

It serves linear scorers, surrogates that offer `GradientKernel` and collections of several shards. It
computes what the oracles compute, without a return to Python for every block.
"""

from collections.abc import Sequence

import numba
import numpy as np

from directrank.bound_objective import BoundObjective
from directrank.contracts import LinearScorer
from directrank.kernels.aligned import aligned_zeros
from directrank.kernels.compile import kernel
from directrank.kernels.half_precision import as_floats
from directrank.kernels.plugins import WIDTH, is_ours, query_gradient
from directrank.kernels.products import row_products, transposed_product
from directrank.oracles import GradientKernel, Part

# Bytes of features that are read at once: they fit the second-level cache beside the scratch arrays.
TILE_BYTES = 2**18


def can_stream(objective: BoundObjective, scorer) -> bool:
    """Say whether there is a compiled loop for a pair, and data enough to outweigh its compilation."""
    return (
        GradientKernel in objective.offers
        and isinstance(scorer, LinearScorer)
        and objective.dtype == np.float32
        and not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
    )


def stream(
    objective: BoundObjective, scorer: LinearScorer, parameters: np.ndarray, features: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """Return value and gradient of each shard, (n_features,), before the objective's scale.

    The features are float32, or words of half precision. A block with a query that the kernel cannot compute
    goes through the oracles.
    """
    return objective.over_shards(_of_shard, features, scorer, parameters)


def _of_shard(objective, features, parts: Sequence[Part], scorer, parameters) -> tuple[float, np.ndarray]:
    plugin = objective.gradient_plugin()
    loop = _stream if is_ours(plugin) else _stream_foreign
    typed = aligned_zeros(len(parameters), objective.dtype)
    typed[:] = parameters
    scratch, partial = _scratch(plugin.longest, typed)
    bounds = np.array([part.queries.start for part in parts] + [parts[-1].queries.stop])
    out, left = np.zeros(len(typed)), np.zeros(len(parts), np.bool_)
    total = loop(features, plugin, bounds, typed, scratch, partial, out, left)
    for part in (part for part, is_left in zip(parts, left, strict=True) if is_left):
        block = as_floats(features[part.rows], len(typed))
        value, slope = part.oracles.value_and_gradient(scorer.forward(typed, block, objective.dtype))
        total += value
        out += scorer.backward(block, slope)
    return total, out


def _scratch(longest: int, typed: np.ndarray):
    padded = -(-longest // WIDTH) * WIDTH + WIDTH
    scratch = aligned_zeros((4, padded), typed.dtype), np.empty(padded)
    return scratch, aligned_zeros(len(typed), typed.dtype)


# A plug-in is called here and not in a kernel of its own, whose code for plug-ins of others would be cached.
def _pass(features, plugin, bounds, w, scratch, partial, out, left):
    total, n_features, indptr = 0.0, len(w), plugin.indptr
    most = max(plugin.longest, TILE_BYTES // (features.itemsize * features.shape[1]))
    # The features of a few whole queries stay in the cache between the two products.
    docs, sums = np.empty((2, most), w.dtype), np.empty(n_features)
    for b in range(len(left)):
        for k in range(n_features):
            sums[k] = 0.0
        value, first = 0.0, bounds[b]
        while first < bounds[b + 1]:
            last = _end_of_tile(indptr, first, bounds[b + 1], most)
            start, n = indptr[first], indptr[last] - indptr[first]
            rows, scores, gradient = features[start : start + n], docs[0, :n], docs[1, :n]
            row_products(rows, w, scores)
            tile = 0.0
            for q in range(first, last):
                i, j = indptr[q] - start, indptr[q + 1] - start
                tile += query_gradient(plugin, q, scores[i:j], scratch, gradient[i:j])
            transposed_product(rows, gradient, partial, sums)
            value += tile
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
