"""The number of rounds of boosting without a validation set: chosen on queries that are held out."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from directrank.data.groups import QueryGroups

#: One query in this many is held out; of fewer than `FEW` queries, each in turn.
PARTS, FEW = 5, 30
#: In place of a number of rounds: all that were trained until the validation set ended training.
ALL = -1


def held_out(
    groups: QueryGroups, usable: np.ndarray, seed: int, parts: int = PARTS, few: float = FEW
) -> list[np.ndarray]:
    """Return the queries to hold out, as masks of shape (n_queries,): a fifth of the usable ones.

    Of fewer than `few` usable queries there are as many masks as `parts`, or one for each of fewer queries,
    so that each query is held out once; of a single one there is none. Equal queries are held out together,
    and the division depends on the seed and on what the queries hold, not on their names or their order.
    """
    digests = np.concatenate(
        groups.source.over_shards(_digests_of_shard, seed, rows=(groups.queries.relevance,))
    )
    distinct, code = np.unique(digests[usable], return_inverse=True)
    parts = min(parts, len(distinct))
    part = np.full(groups.n_queries, -1)
    part[usable] = code % max(parts, 1)
    return [part == k for k in range(parts if len(distinct) < few else 1) if parts > 1]


def _digests_of_shard(features: np.ndarray, indptr: np.ndarray, blocks, seed: int, relevance: np.ndarray):
    """Return the digest of each query's documents, in whatever order they are."""
    # Sparse data have no −0, and files one NaN; numbers that are equal have the same bits here.
    relevance, features = relevance + 0.0, np.where(np.isnan(features), np.nan, features + 0.0)
    digests = []
    for first, last in pairwise(indptr):
        documents = zip(relevance[first:last], features[first:last], strict=True)
        rows = sorted(grade.tobytes() + values.tobytes() for grade, values in documents)
        digests.append(hashlib.sha256(b"".join([b"%d" % seed, *rows])).hexdigest())
    return np.array(digests, dtype="U64")


def best_number(curves: Sequence[Sequence[float]], sizes: Sequence[float]) -> int:
    """Return the number of rounds with the highest mean of some curves, the first of equal ones, or 0."""
    return 1 + int(np.argmax(mean)) if len(mean := mean_curve(curves, sizes)) else 0


def mean_curve(curves: Sequence[Sequence[float]], sizes: Sequence[float]) -> np.ndarray:
    """Return the mean of some curves after each round, weighted by the number of queries of each curve.

    A curve that ends before others keeps its last value, as the run has nothing to add or has stopped
    improving. Without any round it is empty.
    """
    longest = max(map(len, curves))
    full = [[*curve, *[curve[-1]] * (longest - len(curve))] for curve in curves if len(curve)]
    weights = [size for size, curve in zip(sizes, curves, strict=True) if len(curve)]
    return np.average(full, axis=0, weights=weights) if full else np.zeros(0)
