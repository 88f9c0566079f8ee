"""Mean, deviation and range of every feature, with the same bits for any number of threads."""

import math
from dataclasses import dataclass

import numpy as np

from directrank.features.array import Features
from directrank.features.medians import medians
from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import log_of_one_plus


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """The statistics of every feature, weighted by query; queries of weight 0 are not read."""

    mean: np.ndarray
    deviation: np.ndarray
    smallest: np.ndarray
    largest: np.ndarray

    @property
    def varies(self) -> np.ndarray:
        """Whether a feature has two values or more, bool (n_features,)."""
        return (self.largest > self.smallest) & (self.deviation > 0)

    @property
    def reach(self) -> np.ndarray:
        """The largest distance from the mean in standard deviations; 0 for constant features."""
        distance = np.maximum(self.largest - self.mean, self.mean - self.smallest)
        return np.where(self.varies, distance, 0.0) / np.where(self.varies, self.deviation, 1.0)


def column_statistics(
    features: Features,
    logarithm: np.ndarray,
    weights: np.ndarray | None = None,
    n_threads: int = 1,
    near: np.ndarray | None = None,
) -> ColumnStatistics:
    """Return the statistics of features, those of `logarithm` after sign(x) · log1p |x|.

    Sums are over the rows of a block, then over blocks and shards in index order. They are of differences
    from medians, `near` before the logarithm, which are within a standard deviation of the means, so that a
    large mean costs no digits.
    """
    origin = np.empty(features.shape[1])
    read_row((medians(features) if near is None else near)[None], 0, if_any(logarithm), origin)
    rows = np.ones(features.shape[0]) if weights is None else weights
    shards = features.over_shards(
        _moments_of_shard, if_any(logarithm), origin, rows=(rows,), n_threads=n_threads
    )
    tables, total = np.concatenate(shards), rows.sum()
    beyond = tables[:, 0].sum(axis=0) / total
    variance = tables[:, 1].sum(axis=0) / total - beyond * beyond
    return ColumnStatistics(
        origin + beyond,
        np.sqrt(np.maximum(variance, 0.0)),
        tables[:, 2].min(axis=0),
        tables[:, 3].max(axis=0),
    )


def _moments_of_shard(features, indptr, blocks, logarithm, origin, weights) -> np.ndarray:
    tables = np.zeros((len(blocks), 4, features.shape[1]))
    for block, table in zip(blocks, tables, strict=True):
        _add_moments(features[block.rows], weights[block.rows], logarithm, origin, *table)
    return tables


def if_any(logarithm: np.ndarray) -> np.ndarray:
    """Return the features whose logarithm is taken as `read_row` wants them: empty if there are none."""
    return logarithm if logarithm.any() else logarithm[:0]


def deviations_in_queries(
    features: Features, weights: np.ndarray | None = None, n_threads: int = 1
) -> np.ndarray:
    """Return the mean over queries of the standard deviation of each feature, float64 (n_features,).

    No value may be missing. `weights` are of rows, and the same for all rows of a query.
    """
    rows = np.ones(features.shape[0]) if weights is None else weights
    shards = features.over_shards(_deviations_of_shard, rows=(rows,), n_threads=n_threads)
    return np.sum([total for total, _ in shards], axis=0) / sum(of for _, of in shards)


def _deviations_of_shard(features, indptr, blocks, weights) -> tuple[np.ndarray, float]:
    total, by_query = np.zeros(features.shape[1]), weights[indptr[:-1]]
    _add_deviations(features, indptr, by_query, total)
    return total, float(by_query.sum())


@kernel
def read_row(features, i, logarithm, row):
    """Write row i in float64, with sign(x) · log1p |x| where `logarithm` is true; empty: nowhere."""
    for k in range(len(row)):
        row[k] = features[i, k]
    if len(logarithm):
        for k in range(len(row)):
            x = row[k]
            row[k] = math.copysign(log_of_one_plus(abs(x)), x) if logarithm[k] else x


@kernel
def _add_moments(features, weights, logarithm, origin, total, squares, smallest, largest):
    row = np.empty(features.shape[1])
    smallest[:], largest[:] = np.inf, -np.inf
    for i in range(len(features)):
        if weights[i] == 0.0:
            continue
        read_row(features, i, logarithm, row)
        w = weights[i]
        for k in range(len(row)):
            x = row[k]
            beyond = x - origin[k]
            total[k] += w * beyond
            squares[k] += w * beyond * beyond
            smallest[k] = x if x < smallest[k] else smallest[k]
            largest[k] = x if x > largest[k] else largest[k]


@kernel
def _add_deviations(features, indptr, weights, out):
    mean, squares = np.empty(features.shape[1]), np.empty(features.shape[1])
    for q in range(len(weights)):
        first, last = indptr[q], indptr[q + 1]
        mean[:], squares[:] = 0.0, 0.0
        for i in range(first, last):
            for k in range(len(mean)):
                mean[k] += features[i, k]
        mean /= last - first
        for i in range(first, last):
            for k in range(len(mean)):
                squares[k] += (features[i, k] - mean[k]) ** 2
        for k in range(len(mean)):
            out[k] += weights[q] * math.sqrt(squares[k] / (last - first))
