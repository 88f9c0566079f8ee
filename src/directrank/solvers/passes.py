"""Passes over the data: sums over shards, scores of all documents, value and gradient of an objective."""

from collections.abc import Callable, Sequence

import numba
import numpy as np

from directrank.contracts import (
    GradientKernel,
    LinearScorer,
    ObjectiveOracles,
    Part,
)
from directrank.features.array import ShardResult
from directrank.features.shards import added_up
from directrank.kernels.aligned import aligned_zeros
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, is_ours, query_gradient
from directrank.kernels.products import products_of_tiles
from directrank.scorers import Linear


def sum_over_parts(
    objective: ObjectiveOracles, statistic: Callable[[Part], Sequence[ShardResult]]
) -> list[ShardResult]:
    """Return the sum of a statistic of scores, a tuple for each part: over parts, then over shards."""
    return added_up(objective.map_shards(lambda parts: added_up(statistic(part) for part in parts)))


def sum_over_rows(
    objective: ObjectiveOracles,
    statistic: Callable[..., Sequence[object]],
    features: object,
    *arguments: object,
    rows: Sequence[np.ndarray] = (),
) -> list[ShardResult]:
    """Return the sum of a statistic of features, a tuple for each part: over parts, then over shards.

    It is a function of a module, called with a part, its features, the arguments, and its own rows of each
    vector of `rows`.
    """
    return objective.sum_over_shards(_sums_of_shard, features, statistic, arguments, rows=rows)


def _sums_of_shard(objective, features, parts, statistic, arguments, *rows) -> list[ShardResult]:
    return added_up(
        statistic(part, features[part.rows], *arguments, *(vector[part.rows] for vector in rows))
        for part in parts
    )


def all_scores(
    objective: ObjectiveOracles, scorer, parameters: np.ndarray, features: np.ndarray
) -> np.ndarray:
    """Return the scores of all documents at `parameters`, of the objective's type."""
    return np.concatenate(objective.over_shards(_scores_of_shard, features, scorer, parameters))


def _scores_of_shard(objective, features, parts, scorer, parameters) -> np.ndarray:
    return np.concatenate(
        [scorer.forward(parameters, features[part.rows], objective.dtype) for part in parts]
    )


def value_and_gradient(
    objective: ObjectiveOracles, scorer, parameters: np.ndarray, features: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the objective at `parameters` and its derivative, in one pass over the features.

    Each shard streams its blocks: scores, gradient with respect to scores and the product with the features
    follow each other while a block is in the processor's cache. Shards are added in index order.
    """
    typed = parameters.astype(objective.dtype)
    if can_stream(objective, scorer):
        value, gradient = added_up(stream(objective, scorer, typed, features))
    else:
        value, gradient = sum_over_rows(objective, _of_part, features, scorer, typed)
    return objective.scale * value, objective.scale * gradient


def _of_part(part: Part, rows: np.ndarray, scorer, typed: np.ndarray) -> tuple[float, np.ndarray]:
    value, slope = part.oracles.value_and_gradient(scorer.forward(typed, rows, typed.dtype.type))
    return value, scorer.backward(rows, slope)


# Bytes of features that are read at once: they fit the second-level cache beside the scratch arrays.
TILE_BYTES = 2**16


def can_stream(objective: ObjectiveOracles, scorer) -> bool:
    """Say whether there is a compiled loop for a pair, and data enough to outweigh its compilation."""
    # Whether an object has a protocol takes longest to say.
    return (
        GradientKernel in objective.offers
        and objective.dtype == np.float32
        and not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
        and (type(scorer) is Linear or isinstance(scorer, LinearScorer))
    )


def stream(
    objective: ObjectiveOracles, scorer: LinearScorer, parameters: np.ndarray, features: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """Return value and gradient of each shard, (n_features,), before the objective's scale.

    A block with a query that the kernel cannot compute goes through the oracles.
    """
    return objective.over_runs(_of_run, features, scorer, parameters)


def _of_run(objective, features, run: Sequence[Sequence[Part]], scorer, parameters):
    plugin = objective.gradient_plugin()
    loop = _stream if is_ours(plugin) else _stream_foreign
    parts = [part for shard in run for part in shard]
    shards = np.repeat(np.arange(len(run)), [len(shard) for shard in run])
    scratch, typed, partial = _scratch(plugin.longest, parameters.astype(objective.dtype, copy=False))
    bounds = np.array([part.queries.start for part in parts] + [parts[-1].queries.stop])
    values, sums = np.zeros(len(run)), np.zeros((len(run), len(typed)))
    refused, edges = np.zeros(len(parts), np.bool_), [0, len(parts)]
    if (by_oracles := getattr(plugin, "by_oracles", None)) is not None:
        refused = np.logical_or.reduceat(by_oracles[: bounds[-1]], bounds[:-1])
        edges = np.flatnonzero(np.diff(refused, prepend=True, append=True)).tolist()
    for first, last in zip(edges[::2], edges[1::2], strict=True):  # Blocks that the kernel may compute.
        some, ends = slice(first, last), bounds[first : last + 1]
        loop(features, plugin, ends, shards[some], typed, scratch, partial, values, sums, refused[some])
    for b in np.flatnonzero(refused):
        block = features[parts[b].rows]
        scores = scorer.forward(typed, block, objective.dtype)
        value, slope = parts[b].oracles.value_and_gradient(scores)
        values[shards[b]] += value
        sums[shards[b]] += scorer.backward(block, slope)
    return list(zip(values.tolist(), sums, strict=True))


def _scratch(longest: int, parameters: np.ndarray):
    """Return scratch arrays for documents, aligned parameters, and scratch for a sum: parts of one buffer."""
    padded, n = -(-longest // WIDTH) * WIDTH + WIDTH, -(-len(parameters) // WIDTH) * WIDTH
    room = aligned_zeros(4 * padded + 2 * n, parameters.dtype)
    typed, partial = room[4 * padded :][: len(parameters)], room[4 * padded + n :][: len(parameters)]
    typed[:] = parameters
    return (room[: 4 * padded].reshape(4, padded), np.empty(padded)), typed, partial


# A plug-in is called here and not in a kernel of its own, whose code for plug-ins of others would be cached.
def _pass(features, plugin, bounds, shards, w, scratch, partial, values, out, refused):
    n_features, indptr, b, value = len(w), plugin.indptr, 0, 0.0
    most = TILE_BYTES // (features.itemsize * features.shape[1])
    # A tile, a few whole queries, stays in the cache between its two products. Beside the second one, the
    # scores of the next tile are computed, so that the memory does not wait. Before the first tile is none.
    room, sums = np.empty((3, max(plugin.longest, most)), w.dtype), np.zeros(n_features)
    scores, upcoming, slopes = room[0], room[1], room[2]
    first, last = bounds[0], bounds[0]
    while b < len(refused):
        start, stop = indptr[first], indptr[last]
        tile = 0.0
        for q in range(first, last):
            i, j = indptr[q] - start, indptr[q + 1] - start
            tile += query_gradient(plugin, q, scores[i:j], scratch, slopes[i:j])
        value += tile
        ends = last == bounds[b + 1]
        first, last = last, _end_of_tile(indptr, last, bounds[min(b + 1 + ends, len(refused))], most)
        following = upcoming[: indptr[last] - stop]
        products_of_tiles(features, start, slopes[: stop - start], partial, sums, w, following)
        scores, upcoming = upcoming, scores
        if ends:
            refused[b] = np.isnan(value)
            _end_block(shards[b], value, sums, values, out)
            value, b = 0.0, b + 1


_stream, _stream_foreign = kernel(_pass), kernel(_pass, cached=False)


@kernel
def _end_of_tile(indptr, first, last, most):
    end = min(first + 1, last)
    while end < last and indptr[end + 1] - indptr[first] <= most:
        end += 1
    return end


@kernel
def _end_block(shard, value, sums, values, out):
    if not np.isnan(value):
        values[shard] += value
        for k in range(len(sums)):
            out[shard, k] += sums[k]
    for k in range(len(sums)):
        sums[k] = 0.0
