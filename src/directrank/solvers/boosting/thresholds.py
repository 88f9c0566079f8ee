"""Thresholds between the values of features, and the bins between thresholds.

Quantiles need sorted values. A column is sorted digit by digit as whole numbers in the order of its floats,
which takes a quarter of the time of a sort by comparisons.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from directrank.contracts import BoundObjective
from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.sorting import DIGITS, sort_by_digits
from directrank.storage.mapped import is_mapped, temporary_matrix

N_BINS = 256
#: Columns that a thread copies at a time: the values of 16 float32 fill a cache line.
BLOCK_COLUMNS = 16
# A missing value comes after all others.
MISSING, SIGN, INFINITE = np.uint32(0xFFFFFFFF), np.uint32(0x80000000), np.uint32(0x7F800000)


def threshold_between(low: np.float32, high: np.float32) -> np.float32:
    """Return a float32 t with low ≤ t < high, near the middle."""
    middle = np.float32(0.5 * (np.float64(low) + np.float64(high)))
    return middle if middle < high else low


def bin_edges(features: Any, apply: Callable[..., Iterable[Any]] = map) -> list[np.ndarray]:
    """Return at most 255 thresholds for the values of each feature, ascending float32.

    A feature with no more than 256 values has a threshold between any two of them, one with more at
    quantiles. If some values are missing, there is one bin less, and the last threshold is the largest value.

    Parameters
    ----------
    features : ndarray of shape (n_docs, n_features), float32, C-contiguous
        Of features in other processes, one column at a time is fetched.
    apply : callable, default=map
        What applies a function to blocks of columns: `BoundObjective.on_threads`, say.
    """
    if not isinstance(features, np.ndarray):
        return [bin_edges(features[:, k][:, None])[0] for k in range(features.shape[1])]
    bits = features.view(np.uint32)

    def edges_of(first: int) -> list[np.ndarray]:
        keys = np.empty((min(BLOCK_COLUMNS, features.shape[1] - first), len(features)), np.uint32)
        _fill_keys(bits, first, keys)
        spare, counts = np.empty(len(features), np.uint32), np.empty(DIGITS, np.uint32)
        edges = np.empty((len(keys), N_BINS - 1), np.float32)
        return [row[: _edges(column, spare, counts, row)] for column, row in zip(keys, edges, strict=True)]

    blocks = apply(edges_of, range(0, features.shape[1], BLOCK_COLUMNS))
    return [each for block in blocks for each in block]


def bin_edges_naive(column: np.ndarray) -> np.ndarray:
    """Return the thresholds of one feature by definition, for tests."""
    known = np.sort(column[~np.isnan(column)])
    missing = 0 < len(known) < len(column)
    n_bins = N_BINS - missing
    starts = np.append(0, np.flatnonzero(known[1:] != known[:-1]) + 1)
    if len(starts) > n_bins:
        quantiles = np.arange(1, n_bins) * len(known) // n_bins
        starts = np.append(0, np.unique(starts[np.searchsorted(starts, quantiles)[quantiles <= starts[-1]]]))
    pairs = zip(known[starts[1:] - 1], known[starts[1:]], strict=True)
    edges = [threshold_between(low, high) for low, high in pairs]
    return np.array([*edges, known[-1]] if missing else edges, np.float32)


@kernel
def _fill_keys(bits, first, keys):
    for i in range(bits.shape[0]):
        for c in range(len(keys)):
            keys[c, i] = _key(bits[i, first + c])


@inline_kernel
def _key(bits):
    """Return a whole number that is larger for a larger float32; one for both zeros, and for any NaN."""
    if bits & ~SIGN > INFINITE:
        return MISSING
    return bits | SIGN if bits <= SIGN else ~bits


@inline_kernel
def _value(key, one):
    """Return the float32 of a key; `one` is a scratch array of one number."""
    one[0] = key ^ SIGN if key >= SIGN else ~key
    return one.view(np.float32)[0]


@kernel
def _edges(keys, spare, counts, edges):
    """Write the thresholds of a column of keys, which are reordered; return how many there are."""
    values, one = sort_by_digits(keys, spare, counts), np.empty(1, np.uint32)
    n = len(values)
    while n > 0 and values[n - 1] == MISSING:
        n -= 1
    missing = 0 < n < len(values)
    n_bins = N_BINS - 1 if missing else N_BINS
    n_values = min(n, 1)
    for i in range(1, n):
        n_values += values[i] != values[i - 1]
    n_edges, start, quantile = 0, 0, 1
    while start < n:
        # Where the next value begins; with many values, the first that begins at or after the next quantile.
        start += 1
        if n_values > n_bins:
            while quantile < n_bins and quantile * n // n_bins < start:
                quantile += 1
            start = max(start, quantile * n // n_bins)
        while start < n and values[start] == values[start - 1]:
            start += 1
        if start < n:
            low, high = _value(values[start - 1], one), _value(values[start], one)
            middle = np.float32(0.5 * (np.float64(low) + np.float64(high)))
            edges[n_edges] = middle if middle < high else low
            n_edges += 1
    if missing:
        edges[n_edges] = _value(values[n - 1], one)
    return n_edges + missing


def binned(objective: BoundObjective, features: Any, edges: np.ndarray, missing: bool) -> Any:
    """Return the bin of each value, uint8 (n_docs, n_features), where the features are.

    Parameters
    ----------
    objective : BoundObjective
    features : ndarray of shape (n_docs, n_features), float32, or features in other processes
    edges : ndarray of shape (n_features, 255), float32
        Thresholds, filled up with infinity.
    missing : bool
        Whether any value is missing; missing values have the last bin.
    """
    if not isinstance(features, np.ndarray):
        return features.transformed(_bins_of_shard, edges, missing)
    bins = _room(features)
    objective.map_shards(
        lambda parts: [_bin(features[part.rows], bins[part.rows], edges, missing) for part in parts]
    )
    return bins


def _room(features: np.ndarray) -> np.ndarray:
    """Return room for a byte a value, in a temporary file if the features are mapped from a file."""
    if not is_mapped(features):
        return np.empty(features.shape, np.uint8)
    numbers = temporary_matrix((-(-features.size // 4), 1))
    return numbers.view(np.uint8).reshape(-1)[: features.size].reshape(features.shape)


def _bins_of_shard(features, indptr, blocks, edges: np.ndarray, missing: bool) -> np.ndarray:
    bins = np.empty(features.shape, np.uint8)
    for block in blocks:
        _bin(features[block.rows], bins[block.rows], edges, missing)
    return bins


def _bin(features: np.ndarray, bins: np.ndarray, edges: np.ndarray, missing: bool) -> None:
    assign_bins(features, edges, bins)
    if missing:
        bins[np.isnan(features)] = N_BINS - 1


@kernel
def assign_bins(features, edges, bins):
    """Write the number of thresholds below each value; `edges` are filled up with infinity."""
    # Eight halvings without a branch; unsigned indices avoid the check for negative ones.
    for k in range(features.shape[1]):
        thresholds = edges[k]
        for i in range(features.shape[0]):
            x, place = features[i, k], np.uintp(0)
            for halving in range(8):
                step = np.uintp(128) >> np.uintp(halving)
                place += step if x > thresholds[place + step - np.uintp(1)] else np.uintp(0)
            bins[i, k] = place
