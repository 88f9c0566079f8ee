"""Missing values of features: NaN, the medians that stand for them, and the features filled with these."""

from collections.abc import Iterator

import numpy as np

from directrank.kernels.aligned import zeros_like
from directrank.storage.mapped import is_mapped, relieve

#: Columns that are turned into contiguous arrays at a time: the values of 16 float32 fill a cache line. Of
#: features on the disk, they are fewer than this share, but no fewer than 4.
BLOCK_COLUMNS, SHARE_OF_COLUMNS = 16, 0.125
#: Rows that are read at a time.
BLOCK_BYTES = 2**24


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
