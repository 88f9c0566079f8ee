"""Mean, deviation and range of every feature, with the same bits for any number of threads."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from directrank.features.array import Features
from directrank.kernels.compile import kernel


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """What a scaling has to know of every feature, float64 (n_features,) each.

    Attributes
    ----------
    mean, deviation : ndarray
        Weighted by the weights of queries; queries of weight 0 are not read.
    smallest, largest : ndarray
    """

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
    features: Features, logarithm: np.ndarray, weights: np.ndarray | None = None, n_threads: int = 1
) -> ColumnStatistics:
    """Return the statistics of features, some of them after the logarithm sign(x) · log1p |x|.

    Two passes, for means and for squared distances from them, so that a large mean costs no digits. Sums are
    over the rows of a block, then over blocks and shards in index order.

    Parameters
    ----------
    features : Features
    logarithm : ndarray of shape (n_features,), bool
        The features whose logarithm is taken first.
    weights : ndarray of shape (n_docs,), optional
        Weight ≥ 0 of each document, that of its query; equal by default.
    n_threads : int, default=1
    """
    columns = np.flatnonzero(logarithm)
    rows = np.ones(features.shape[0]) if weights is None else weights

    def over_blocks(statistic: Callable[..., list], *arguments) -> list[np.ndarray]:
        shards = features.over_shards(statistic, columns, *arguments, rows=(rows,), n_threads=n_threads)
        return [table for tables in shards for table in tables]

    total, tables = rows.sum(), over_blocks(_sums_and_ranges_of_shard)
    mean = sum(table[0] for table in tables) / total
    smallest = np.min([table[1] for table in tables], axis=0)
    largest = np.max([table[2] for table in tables], axis=0)
    squares = sum(table[0] for table in over_blocks(_squares_of_shard, mean)) / total
    return ColumnStatistics(mean, np.sqrt(squares), smallest, largest)


def _sums_and_ranges_of_shard(features, indptr, blocks, columns, weights) -> list[np.ndarray]:
    tables = np.zeros((len(blocks), 3, features.shape[1]))
    for block, table in zip(blocks, tables, strict=True):
        _sums_and_ranges(features[block.rows], weights[block.rows], columns, table)
    return list(tables)


def _squares_of_shard(features, indptr, blocks, columns, mean, weights) -> list[np.ndarray]:
    tables = np.zeros((len(blocks), 1, features.shape[1]))
    for block, table in zip(blocks, tables, strict=True):
        _squares(features[block.rows], weights[block.rows], columns, mean, table)
    return list(tables)


def column_statistics_naive(X: np.ndarray, logarithm: np.ndarray) -> ColumnStatistics:
    """The same by definition, unweighted, for tests."""
    given = X.astype(np.float64)
    values = np.where(logarithm, np.sign(given) * np.log1p(np.abs(given)), given)
    return ColumnStatistics(values.mean(0), values.std(0), values.min(0), values.max(0))


@kernel
def read_row(features, i, columns, row):
    """Write row i in float64, with the logarithm sign(x) · log1p |x| of some columns."""
    for k in range(len(row)):
        row[k] = features[i, k]
    for k in columns:
        row[k] = math.copysign(math.log1p(abs(row[k])), row[k])


@kernel
def _sums_and_ranges(features, weights, columns, table):
    row = np.empty(features.shape[1])
    total, smallest, largest = table[0], table[1], table[2]
    smallest[:], largest[:] = np.inf, -np.inf
    for i in range(len(features)):
        if weights[i] == 0.0:
            continue
        read_row(features, i, columns, row)
        w = weights[i]
        for k in range(len(row)):
            total[k] += w * row[k]
            smallest[k] = min(smallest[k], row[k])
            largest[k] = max(largest[k], row[k])


@kernel
def _squares(features, weights, columns, mean, table):
    row, total = np.empty(features.shape[1]), table[0]
    for i in range(len(features)):
        read_row(features, i, columns, row)
        w = weights[i]
        for k in range(len(row)):
            total[k] += w * (row[k] - mean[k]) ** 2
