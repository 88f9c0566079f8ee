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
from directrank.kernels.compile import kernel
from directrank.solvers.sorting import MISSING, SIGN, key_of, values_of_keys

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
    room = np.empty((TILE + 2, n_docs), np.uint32)
    for first in range(0, n_features, TILE):
        some = slice(first, min(first + TILE, n_features))
        keys = room[: some.stop - first]
        if features.workers is None:  # Shards write what others would send, as much again.
            features.over_shards(_write_keys, some, rows=(keys.T,), n_threads=n_threads)
        else:
            pieces = features.over_shards(_keys_of_shard, some, n_threads=n_threads)
            np.concatenate(pieces, axis=1, out=keys)
        if n_live < n_docs:
            for of_column in keys:
                of_column[:n_live] = of_column[live]
        _find_bins(keys[:, :n_live], most, bins, some, room[TILE:, :n_live])
    tiles = features.objects(_tiles_of_shard, bins.thresholds, bins.n_values, n_threads=n_threads)
    return replace(bins, tiles=tiles)


def _empty(rows: np.ndarray, n_features: int, tiles: np.ndarray | None) -> Bins:
    return Bins(
        rows.astype(np.uint32), tiles, np.empty(n_features, np.int64), np.empty(n_features, np.bool_),
        np.empty((n_features, MOST_BINS), np.float32), np.empty(n_features, np.float32),
    )  # fmt: skip


def _find_bins(keys: np.ndarray, most: int, bins: Bins, some: slice, scratch: np.ndarray) -> None:
    """Write the thresholds of some columns into bins, with their medians; scratch is (2, n_rows)."""
    (order, sizes), cuts = scratch, np.empty(MOST_BINS, np.int64)
    # The keys around each median, and around each cut.
    halves, sides = np.full((2, len(keys)), SIGN), np.full((2, len(keys), MOST_BINS), MISSING)
    for k, of_column in enumerate(keys):
        order[:] = of_column
        order.sort()
        present = int(order.searchsorted(MISSING))
        values, column, is_missing = order[:present], some.start + k, present < len(order)
        bins.missing[column], bins.n_values[column] = is_missing, 0
        if present == 0:
            continue
        halves[:, k] = values[(present - 1) // 2], values[present // 2]
        n_below, n_up_to_zero = values.searchsorted(SIGN), values.searchsorted(SIGN, "right")
        n_distinct = _distinct(values, sizes)
        counts = n_below, n_up_to_zero - n_below, present - n_up_to_zero
        n_cuts = _cuts_around_zero(values[:n_distinct], sizes[:n_distinct], counts, most - is_missing, cuts)
        sides[0, k, :n_cuts], sides[1, k, :n_cuts] = values[cuts[:n_cuts]], values[cuts[:n_cuts] + 1]
        bins.n_values[column] = n_cuts + 1
    bins.medians[some] = values_of_keys(halves).mean(axis=0, dtype=np.float64)
    bins.thresholds[some] = _between(*values_of_keys(sides))


def _cuts_around_zero(
    values: np.ndarray, sizes: np.ndarray, counts: tuple[int, int, int], most: int, cuts: np.ndarray
) -> int:
    """Write the places of the keys after which a bin ends, but for the last bin; return their number.

    `counts` has the documents below zero, at zero and above.
    """
    (n_below, n_zero, n_above), n_cuts, n_bins = map(int, counts), 0, 0
    below, above = (int(values.searchsorted(SIGN, side)) for side in ("left", "right"))
    if below > 0 and most > 1:
        share = max(1, int(n_below / (n_below + n_above) * (most - 1)))
        n_cuts = _cuts_of_side(sizes[:below], share, n_below, cuts)
        n_bins = n_cuts + 1
        if below < len(values):
            cuts[n_cuts] = below - 1
            n_cuts += 1
    if above < len(values) and n_bins < most - 1:
        if n_zero > 0:
            cuts[n_cuts] = below
            n_cuts += 1
        of_side = cuts[n_cuts:]
        n_of_side = _cuts_of_side(sizes[above:], most - 1 - n_bins, n_above, of_side)
        of_side[:n_of_side] += above
        n_cuts += n_of_side
    return n_cuts


def _cuts_of_side(sizes: np.ndarray, most: int, n_docs: int, cuts: np.ndarray) -> int:
    """Write the places of values of one sign after which one of at most so many bins ends, as above."""
    if len(sizes) > most:
        return _cuts_by_mass(sizes, min(most, n_docs), n_docs, cuts)
    cuts[: len(sizes) - 1] = np.arange(len(sizes) - 1)
    return len(sizes) - 1


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest numbers up to the middles of two others; near zero, of zero's bin.

    Without two others it is infinite: the last threshold divides values from missing ones.
    """
    middle = 0.5 * (low.astype(np.float64) + high)
    middle[(low <= 0.0) & (high > ZERO)] = ZERO
    middle[(low < -ZERO) & (high == 0.0)] = -ZERO
    middle[np.isnan(low)] = np.inf
    rounded = middle.astype(np.float32)
    return np.where(rounded > middle, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def _keys(bits: np.ndarray, rows: np.ndarray, some: slice) -> np.ndarray:
    """Return the keys of some columns, uint32 (n_columns, n_rows)."""
    keys = np.empty((min(some.stop, bits.shape[1]) - some.start, len(rows)), np.uint32)
    _fill(bits, rows, some.start, keys)
    return keys


def _keys_of_shard(features: np.ndarray, indptr, blocks, some: slice) -> np.ndarray:
    return _keys(features.view(np.uint32), np.arange(len(features), dtype=np.uint32), some)


def _write_keys(features: np.ndarray, indptr, blocks, some: slice, keys: np.ndarray) -> None:
    keys.T[:] = _keys_of_shard(features, indptr, blocks, some)


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
def _distinct(keys, sizes):
    """Move the distinct ones of sorted keys to the front, and count each; return their number."""
    n = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[n - 1]:
            keys[n], sizes[n] = keys[i], 0
            n += 1
        sizes[n - 1] += 1
    return n


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


@kernel
def _cuts_by_mass(sizes, most, n_docs, cuts):
    mean, bins, rest, last, n_cuts = n_docs / most, most, n_docs, most - 1, 0
    for i in range(len(sizes)):
        if sizes[i] >= mean:
            bins -= 1
            rest -= sizes[i]
    large, size = mean, 0
    mean = rest / bins
    for i in range(len(sizes) - 1):
        if n_cuts >= last:
            break
        alone = sizes[i] >= large
        if not alone:
            rest -= sizes[i]
        size += sizes[i]
        before = sizes[i + 1] >= large and size >= 1 and size >= 0.5 * mean
        if alone or size >= mean or before:
            cuts[n_cuts] = i
            n_cuts += 1
            size = 0
            if not alone:
                bins -= 1
                mean = rest / bins
    return n_cuts
