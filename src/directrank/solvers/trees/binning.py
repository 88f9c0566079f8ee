"""Features as bins of one byte: where a tree may split, found once for a set of documents.

Zero has a bin of its own. The values below and above it share the other bins by their numbers of documents,
and a value with more documents than a bin on average has one alone: LightGBM's rule, so that first trees are
equal. A missing value has the last bin.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrank.features import Features, zeros_like
from directrank.features.shards import map_in_order
from directrank.kernels.compile import inline_kernel, kernel
from directrank.solvers.sorting import MISSING, SIGN, key_of, value_of_key

#: Most bins of a feature, with that of missing values.
MOST_BINS = 255
#: Columns of a tile; and columns that are read at a time: the values of 16 float32 fill a cache line.
TILE, BLOCK_COLUMNS = 8, 16
#: Zero's bin ends here on either side, unless values of training are closer.
ZERO = np.float32(1e-35)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of some documents.

    Attributes
    ----------
    rows : ndarray of shape (n_docs,), uint32
        The documents, as rows of the features.
    tiles : ndarray of shape (n_tiles, n_docs), uint64, or Features
        The bins of eight columns, a byte each: column k is byte k % 8 of tile k // 8. Of `Features`, each
        shard has such an array.
    n_values : ndarray of shape (n_columns,), int64
        Bins of values; with missing values there is one more.
    missing : ndarray of shape (n_columns,), bool
        Whether values are missing.
    thresholds : ndarray of shape (n_columns, 255), float32
        Values up to the threshold b have the bins up to b.
    medians : ndarray of shape (n_columns,), float32
    """

    rows: np.ndarray
    tiles: Any
    n_values: np.ndarray
    missing: np.ndarray
    thresholds: np.ndarray
    medians: np.ndarray


def binned(features: np.ndarray, rows: np.ndarray, most: int = MOST_BINS, n_threads: int = 1) -> Bins:
    """Return the bins of some rows of features, float32, at most `most` a feature."""
    n_features, bits = features.shape[1], features.view(np.uint32)
    bins = _empty(rows, n_features, np.zeros((-(-n_features // TILE), len(rows)), np.uint64))

    def bin_block(first: int) -> None:
        some = slice(first, first + BLOCK_COLUMNS)
        n_columns = min(BLOCK_COLUMNS, n_features - first)
        # One large array, which the system gets back: small ones stay with each thread.
        room = np.empty((n_columns + 2, len(rows)), np.uint32)
        keys = room[:n_columns]
        _fill(bits, bins.rows, first, keys)
        _find_bins(keys, most, bins, some, room[n_columns:])
        of_block = bins.n_values[first:], bins.tiles[first // TILE :], np.empty(MOST_BINS, np.uint32)
        _assign(keys, bins.thresholds[first:].view(np.uint32), *of_block)

    map_in_order(bin_block, range(0, n_features, BLOCK_COLUMNS), n_threads)
    return bins


def binned_on_shards(features: Features, live: np.ndarray, most: int, n_threads: int = 1) -> Bins:
    """Return the bins of features where these are, with thresholds for the documents that are `live`.

    Thresholds are found here, from the values of a few columns at a time.
    """
    n_docs, n_features = features.shape
    bins = _empty(np.arange(n_docs), n_features, None)
    n_live = np.count_nonzero(live)
    for first in range(0, n_features, TILE):
        some = slice(first, min(first + TILE, n_features))
        pieces = features.over_shards(_keys_of_shard, some, rows=(live,), n_threads=n_threads)
        keys, end = np.empty((some.stop - first, n_live), np.uint32), n_live
        while pieces:  # each is freed as it is copied
            piece = pieces.pop()
            start = end - piece.shape[1]
            keys[:, start:end], end = piece, start
        _find_bins(keys, most, bins, some, np.empty((2, n_live), np.uint32))
    tiles = features.objects(_tiles_of_shard, bins.thresholds, bins.n_values, n_threads=n_threads)
    return replace(bins, tiles=tiles)


def _empty(rows: np.ndarray, n_features: int, tiles: np.ndarray | None) -> Bins:
    return Bins(
        rows.astype(np.uint32), tiles, np.empty(n_features, np.int64), np.empty(n_features, np.bool_),
        np.empty((n_features, MOST_BINS), np.float32), np.empty(n_features, np.float32),
    )  # fmt: skip


def _find_bins(keys: np.ndarray, most: int, bins: Bins, some: slice, scratch: np.ndarray) -> None:
    """Write the thresholds of some columns into bins, with their medians; scratch is (2, n_rows)."""
    columns = bins.n_values[some], bins.missing[some], bins.thresholds[some], bins.medians[some]
    (order, sizes), places = scratch, np.empty(MOST_BINS + 1, np.int64)
    for column, of_column in enumerate(keys):
        order[:] = of_column
        order.sort()
        _bin_column(order, most, column, *columns, sizes, places)


def _keys(bits: np.ndarray, rows: np.ndarray, some: slice) -> np.ndarray:
    """Return the keys of some columns, uint32 (n_columns, n_rows)."""
    keys = np.empty((min(some.stop, bits.shape[1]) - some.start, len(rows)), np.uint32)
    _fill(bits, rows, some.start, keys)
    return keys


def _keys_of_shard(features: np.ndarray, indptr, blocks, some: slice, live: np.ndarray) -> np.ndarray:
    return _keys(features.view(np.uint32), np.flatnonzero(live).astype(np.uint32), some)


def _tiles_of_shard(features: np.ndarray, indptr, blocks, thresholds, n_values) -> np.ndarray:
    """Return the tiles of a shard, in a file if its features are in one."""
    n_docs, n_features = features.shape
    bits, rows = features.view(np.uint32), np.arange(n_docs, dtype=np.uint32)
    thresholds = thresholds.view(np.uint32)
    tiles = zeros_like(features, (-(-n_features // TILE), n_docs), np.uint64)
    for first in range(0, n_features, BLOCK_COLUMNS):
        keys = _keys(bits, rows, slice(first, first + BLOCK_COLUMNS))
        of_block = n_values[first:], tiles[first // TILE :], np.empty(MOST_BINS, np.uint32)
        _assign(keys, thresholds[first:], *of_block)
    return tiles


@kernel
def _fill(bits, rows, first, keys):
    for i in range(len(rows)):
        for c in range(len(keys)):
            keys[c, i] = key_of(bits[rows[i], first + c])


@kernel
def _bin_column(keys, most, column, n_values, missing, thresholds, medians, sizes, places):
    """Write the bins of a column by its sorted keys; distinct ones are moved to the front."""
    present, n_distinct, n_cuts = len(keys), 0, 0
    while present > 0 and keys[present - 1] == MISSING:
        present -= 1
    missing[column], medians[column] = present < len(keys), 0.0
    if present > 0:
        low = np.float64(value_of_key(keys[(present - 1) // 2]))
        medians[column] = np.float32(0.5 * (low + np.float64(value_of_key(keys[present // 2]))) + 0.0)
        for i in range(present):
            if i == 0 or keys[i] != keys[n_distinct - 1]:
                keys[n_distinct], sizes[n_distinct] = keys[i], 0
                n_distinct += 1
            sizes[n_distinct - 1] += 1
        n_cuts = _cuts_around_zero(keys, n_distinct, sizes, present, most - missing[column], places)
    for cut in range(thresholds.shape[1]):
        # The last threshold divides values from missing ones.
        thresholds[column, cut] = np.inf
        if cut < n_cuts:
            thresholds[column, cut] = value_of_key(_between(keys[places[cut]], keys[places[cut] + 1]))
    n_values[column] = n_cuts + 1 if present > 0 else 0


@kernel
def _assign(keys, bits, n_values, tiles, tops):
    for c in range(len(keys)):
        tile, shift = tiles[c // TILE], np.uint64(8 * (c % TILE))
        for cut in range(MOST_BINS):
            tops[cut] = key_of(bits[c, cut])
        n_bins = np.uint64(n_values[c])
        for i in range(keys.shape[1]):
            # Eight halvings without a branch; unsigned indices avoid the check for negative ones.
            key, place = keys[c, i], np.uintp(0)
            for halving in range(8):
                step = np.uintp(128) >> np.uintp(halving)
                place += step if key > tops[place + step - np.uintp(1)] else np.uintp(0)
            tile[i] |= (np.uint64(place) if key != MISSING else n_bins) << shift


@inline_kernel
def _cuts_around_zero(values, n, sizes, n_docs, most, places):
    """Write the places of the values after which a bin ends, but for the last bin; return their number."""
    below, n_below, n_zero = 0, 0, 0
    while below < n and values[below] < SIGN:
        n_below += sizes[below]
        below += 1
    above = below
    if above < n and values[above] == SIGN:
        n_zero, above = sizes[above], above + 1
    n_bins = n_cuts = 0
    for is_above in range(2):  # One call, as each is compiled into its place.
        start, stop, n_of_side, share = 0, below, n_below, 0
        if is_above:
            start, stop, n_of_side, share = above, n, n_docs - n_below - n_zero, most - 1 - n_bins
        elif below > 0 and most > 1:
            share = max(1, int(n_below / (n_docs - n_zero) * (most - 1)))
        if start == stop or share <= 0:
            continue
        if is_above and n_zero > 0:
            places[n_cuts] = below
            n_cuts += 1
        n_cuts = _cuts_by_mass(sizes, start, stop, share, n_of_side, places, n_cuts)
        if not is_above:
            n_bins = n_cuts + 1
            if below < n:
                places[n_cuts] = below - 1
                n_cuts += 1
    return n_cuts


@kernel
def _cuts_by_mass(sizes, start, stop, most, n_docs, places, n_cuts):
    if stop - start <= most:
        for i in range(start, stop - 1):
            places[n_cuts] = i
            n_cuts += 1
        return n_cuts
    most = max(1, min(most, n_docs))
    mean, bins, rest, last = n_docs / most, most, n_docs, n_cuts + most - 1
    for i in range(start, stop):
        if sizes[i] >= mean:
            bins -= 1
            rest -= sizes[i]
    large, size = mean, 0
    mean = rest / bins
    for i in range(start, stop - 1):
        if n_cuts >= last:
            break
        alone = sizes[i] >= large
        if not alone:
            rest -= sizes[i]
        size += sizes[i]
        before = sizes[i + 1] >= large and size >= max(1.0, 0.5 * mean)
        if alone or size >= mean or before:
            places[n_cuts] = i
            n_cuts += 1
            size = 0
            if not alone:
                bins -= 1
                mean = rest / bins
    return n_cuts


@inline_kernel
def _between(low, high):
    """Return the key of the largest number up to the middle of two others; near zero, of zero's bin."""
    a, b = np.float64(value_of_key(low)), np.float64(value_of_key(high))
    middle = 0.5 * (a + b)
    if a <= 0.0 and b > ZERO:
        middle = np.float64(ZERO)
    elif b == 0.0 and a < -ZERO:
        middle = -np.float64(ZERO)
    rounded = np.float32(middle)
    key = key_of(rounded.view(np.uint32))
    return key - np.uint32(1) if np.float64(rounded) > middle else key
