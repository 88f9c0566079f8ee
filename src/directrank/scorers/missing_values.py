"""Missing values of features: NaN, the medians that stand for them, and the features filled with these."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from directrank.kernels.aligned import zeros_like
from directrank.kernels.compile import kernel
from directrank.storage.mapped import is_mapped, relieve

#: Columns that are turned into contiguous arrays at a time: the values of 16 float32 fill a cache line. Of
#: features on the disk, they are fewer than this share, but no fewer than 4.
BLOCK_COLUMNS, SHARE_OF_COLUMNS = 16, 0.125
#: Rows that are read at a time.
BLOCK_BYTES = 2**24
N_BYTES = 256
SIGN = np.uint32(2**31)


def missing_counts(features: np.ndarray) -> np.ndarray:
    """Return the number of missing values of each feature, int64 (n_features,)."""
    # A sum is NaN if one of its terms is, and much faster than a look at each of them.
    total = np.zeros(features.shape[1], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _blocks(features):
            total += features[rows].sum(axis=0)
    suspect = np.flatnonzero(~np.isfinite(total))
    counts = np.zeros(features.shape[1], np.int64)
    counts[suspect] = [np.isnan(features[:, k]).sum() for k in suspect]
    return counts


def medians(features: np.ndarray) -> np.ndarray:
    """Return the median of the values of each feature, float32 (n_features,); 0 without any value."""
    n_features = features.shape[1]
    out, at_once = np.zeros(n_features, np.float32), BLOCK_COLUMNS
    if is_mapped(features):
        at_once = max(4, min(at_once, int(SHARE_OF_COLUMNS * n_features)))
    for first in range(0, n_features, at_once):
        columns = np.empty((min(at_once, n_features - first), len(features)), np.float32)
        for rows in _blocks(features):
            columns[:, rows] = features[rows, first : first + at_once].T
        out[first : first + at_once] = [_median(column) for column in columns]
    return out


def _blocks(features: np.ndarray) -> Iterator[slice]:
    """Return the rows of a matrix that may be on the disk, in blocks."""
    # Of a few columns, whole rows are read all the same.
    most = max(1, BLOCK_BYTES // max(1, features.strides[0]))
    for first in range(0, len(features), most):
        yield slice(first, first + most)
        relieve()


def _median(column: np.ndarray) -> np.float32:
    """Return the median of a column, which is reordered."""
    missing = np.isnan(column)
    values = column[~missing] if missing.any() else column
    if not len(values):
        return np.float32(0.0)
    # One place at a time is twice as fast as both.
    half = len(values) // 2
    values.partition(half)
    high = values[half]
    low = high if len(values) % 2 else values[:half].max()
    # Equal zeros may have different signs, in an order that depends on the order of rows.
    return np.float32(0.5 * (float(low) + float(high)) + 0.0)


def filled(features: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """Return features with the values of `fill` in place of NaN; the same array if nothing is missing.

    Parameters
    ----------
    features : ndarray of shape (n_docs, n_features), float32
    fill : ndarray of shape (n_features,), float32
    """
    columns = np.flatnonzero(missing_counts(features))
    if not columns.size:
        return features
    out = zeros_like(features)
    out[:] = features
    for k in columns:
        out[np.isnan(features[:, k]), k] = fill[k]
    return out


def counted_medians(groups: Any, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the median of the values of each feature, float32 (n_features,); 0 without any value.

    It is that of `medians`, found by counting, for features in other processes. The bits of a float32 are
    read as a whole number in the order of the values. Its four bytes are found one after the other: of the
    values that agree in the bytes found so far, how many have each next byte?

    Parameters
    ----------
    groups : QueryGroups
    weights : ndarray of shape (n_queries,), optional
        Documents of queries of weight 0 do not count.
    """
    counts = np.ones(groups.n_queries, np.bool_) if weights is None else weights > 0
    rows = (np.repeat(counts, groups.queries.sizes),)
    # The lower and the upper middle value of each feature: their bytes so far, and their ranks among those
    # that agree with them.
    found = np.zeros((2, groups.n_features), np.uint32)
    ranks = np.zeros((2, groups.n_features), np.int64)
    known = np.zeros(groups.n_features, np.int64)
    for shift in (24, 16, 8, 0):
        table = groups.total(_count_bytes, found, shift, rows=rows)
        if shift == 24:
            known = table[0].sum(axis=1)
            ranks[0], ranks[1] = np.maximum(known - 1, 0) // 2, known // 2
        reached = table.cumsum(axis=2)
        byte = (reached <= ranks[:, :, None]).sum(axis=2).clip(max=N_BYTES - 1)
        before = np.take_along_axis(reached - table, byte[:, :, None], axis=2)[:, :, 0]
        ranks -= before
        found |= byte.astype(np.uint32) << np.uint32(shift)
    low, high = _values(found).astype(np.float64)
    return np.where(known > 0, 0.5 * (low + high) + 0.0, 0.0).astype(np.float32)


def _values(keys: np.ndarray) -> np.ndarray:
    """Return the float32 whose place in the order each whole number is."""
    return np.where(keys >= SIGN, keys ^ SIGN, ~keys).astype(np.uint32).view(np.float32)


def _count_bytes(features, indptr, blocks, found: np.ndarray, shift: int, counts: np.ndarray) -> np.ndarray:
    """Return how many values that agree with the bytes found have each next byte, (2, n_features, 256)."""
    table = np.zeros((*found.shape, N_BYTES), np.int64)
    known = np.uint32(0) if shift == 24 else np.uint32(2**32 - 2 ** (shift + 8))
    _add_counts(np.ascontiguousarray(features).view(np.uint32), counts, found, known, np.uint32(shift), table)
    return table


@kernel
def _add_counts(bits, counts, found, known, shift, table):
    sign, infinity = np.uint32(0x80000000), np.uint32(0x7F800000)
    for i in range(bits.shape[0]):
        if not counts[i]:
            continue
        for k in range(bits.shape[1]):
            x = bits[i, k]
            if (x & ~sign) > infinity:  # a missing value
                continue
            key = ~x if x & sign else x | sign
            byte = (key >> shift) & np.uint32(255)
            if (key & known) == found[0, k]:
                table[0, k, byte] += 1
            if (key & known) == found[1, k]:
                table[1, k, byte] += 1
