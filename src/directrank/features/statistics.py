"""Statistics of every feature, bit-identical for any number of threads.

Missing values with the medians that stand for them; means, deviations and ranges; the range inside each
query, which LETOR scales to [0, 1].
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from directrank.features.array import Features, as_features, zeros_like
from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import signed_logarithms

#: Medians of this many documents and more are looked for between limits, which a sample gives. Of the values
#: of a shard, at most this share is kept.
FEWEST_ROWS, MOST_BETWEEN = 2**12, 0.2
#: Rows that are compared before values between the limits are kept: the bits of a word. Of these values, so
#: many are kept at a time, because a branch that depends on their number is slow.
TILE, AT_ONCE = 32, 4
#: Rows of a sample, one in 32 within these limits: the more there are, the fewer values are kept.
LEAST_SAMPLE, LARGEST_SAMPLE, ONE_IN = 2**11, 2**14, 32
#: Features whose values between the limits are brought together at a time.
JOINED_AT_ONCE = 16
#: Values that are sorted at a time where there are few rows.
SORTED_AT_ONCE = 2**20
#: Numbers in float64 that stay in the processor's cache between passes.
READ_AT_ONCE = 2**15
GOLDEN_RATIO = (5**0.5 - 1) / 2
#: Least share of queries in which a feature must run from 0 to 1 to count as scaled inside queries.
MOST_QUERIES = 0.9
# Text files keep six digits.
DIGITS = 1e-5


def missing_counts(features: Features | np.ndarray) -> np.ndarray:
    """Return the number of missing values of each feature, int64 (n_features,)."""
    counts = as_features(features).total(_missing_of_shard)
    return np.zeros(features.shape[1], np.int64) + counts


def _missing_of_shard(features: np.ndarray, indptr, blocks) -> np.ndarray:
    # The largest value is NaN if one is, and found much faster than a look at each of them.
    if not np.isnan(features.max(initial=0.0)):
        return np.zeros(features.shape[1], np.int64)
    return np.isnan(features).sum(axis=0)


def medians(
    features: Features | np.ndarray, counted: np.ndarray | None = None, n_threads: int = 1
) -> np.ndarray:
    """Return the median of each feature over `counted` documents, float32 (n_features,); 0 without values.

    A sample of rows gives limits between which the median of each feature almost surely is. In one pass,
    values below are counted, and those between are kept, among which the median is then found. Where it is
    outside, or there are few rows, all values are sorted apart.
    """
    source, n_features = as_features(features), features.shape[1]
    which = np.arange(features.shape[0]) if counted is None else np.flatnonzero(counted)
    rows = () if counted is None or len(which) == len(counted) else (counted,)
    present, out = np.zeros(n_features, np.bool_), np.full(n_features, np.nan, np.float32)
    if len(which) >= FEWEST_ROWS:
        low, high = _limits(_sample(source, which))
        shards = source.over_shards(_between, low, high, rows=rows, n_threads=n_threads)
        counts = np.sum([of_shard for of_shard, _ in shards], axis=0)
        for first in range(0, n_features, JOINED_AT_ONCE):
            some = slice(first, first + JOINED_AT_ONCE)
            joined = np.concatenate([values[some] for _, values in shards], axis=1)
            for k, inside in enumerate(joined, first):
                out[k] = _middle(counts[k].tolist(), inside, low[k], high[k])
        present = counts[:, 4] > 0
    # Of the others, as many features at a time as fit in a few MiB.
    width = max(1, SORTED_AT_ONCE // max(features.shape[0], 1))
    for first in range(0, n_features if len(which) else 0, width):
        others = first + np.flatnonzero(np.isnan(out[first : first + width]))
        if len(others):
            columns = source.columns(first, first + width)[which][:, others - first]
            n = (~np.isnan(columns)).sum(axis=0)
            present[others] = n > 0
            columns.sort(axis=0)  # missing values are last
            at, last = np.arange(len(others)), np.maximum(n - 1, 0)
            middle = columns[last // 2, at] + columns[np.minimum(n // 2, last), at].astype(np.float64)
            out[others] = 0.5 * middle + 0.0  # zeros have two signs
    return np.where(present, out, np.float32(0))


def _sample(features: Features, which: np.ndarray) -> np.ndarray:
    """Return rows from everywhere, at distances that follow no rule of the data, such as equal queries."""
    number = np.arange(min(max(len(which) // ONE_IN, LEAST_SAMPLE), LARGEST_SAMPLE))
    sampled = np.zeros(features.shape[0], np.bool_)
    places = (number + number * GOLDEN_RATIO % 1.0) * (len(which) / len(number))
    sampled[which[places.astype(np.int64)]] = True
    return np.concatenate(features.over_shards(_some_rows, rows=(sampled,)))


def _some_rows(features: np.ndarray, indptr, blocks, which: np.ndarray) -> np.ndarray:
    return features[which]


def _limits(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return limits that enclose each median with a probability of all but 6e-5; the sample is sorted."""
    sample.sort(axis=0)  # missing values are last
    present = len(sample) - np.isnan(sample).sum(axis=0)
    width = np.ceil(2.0 * np.sqrt(present)).astype(np.int64)
    columns, last = np.arange(sample.shape[1]), np.maximum(present - 1, 0)
    low, high = (np.clip(present // 2 + sign * width, 0, last) for sign in (-1, 1))
    return sample[low, columns], sample[high, columns]


def _between(features: np.ndarray, indptr, blocks, low, high, counted=None) -> tuple:
    """Return counts of the values of each feature by two limits, and the values between them, then infinity.

    The counts are of values below `low`, up to it, below `high`, up to it, of all, and of those that are
    returned: of a feature with more values between the limits than there is room for, some are missing.
    """
    features = features if counted is None else features[counted]
    counts = np.zeros((6, len(low)), np.int64)
    inside = np.empty((len(low), int(MOST_BETWEEN * len(features)) + AT_ONCE + 1), np.float32)
    _count_and_keep(features, low, high, counts, inside)
    return counts.T, inside[:, : counts[5].max(initial=0)].copy()


def _middle(counts: list[int], inside: np.ndarray, low: float, high: float) -> float:
    """Return the median from what `_between` returns, whose values are reordered; NaN if it is not there."""
    below, to_low, before_high, to_high, present, kept = counts
    if (
        present == 0
        or kept < before_high - to_low
        or not below <= (present - 1) // 2 <= present // 2 < to_high
    ):
        return math.nan

    def at(place: int, among: np.ndarray) -> float:
        if to_low <= place < before_high:
            # One place at a time is many times as fast as two.
            among.partition(place - to_low)
            return float(among[place - to_low])
        return float(low if place < to_low else high)

    middle = at(present // 2, inside)
    other = at((present - 1) // 2, inside[: max(present // 2 - to_low + 1, 0)])
    # Equal zeros may have different signs, in an order that depends on the order of rows.
    return 0.5 * (other + middle) + 0.0


@kernel
def _count_and_keep(features, low, high, counts, inside):
    # Comparisons without branches, whose counts are exact in float32, a tile of rows at a time; then those of
    # its values between the limits, which are few, by bits that mark their rows.
    one, none, room = np.float32(1), np.float32(0), inside.shape[1] - 1 - AT_ONCE
    seen, marks = np.zeros((5, len(low)), np.float32), np.empty(len(low), np.int32)
    below, to_low, before_high, to_high, present = seen[0], seen[1], seen[2], seen[3], seen[4]
    kept = counts[5]
    for first in range(0, len(features), TILE):
        tile = features[first : first + TILE]
        for k in range(len(low)):
            marks[k] = 0
        for i in range(len(tile)):
            bit = np.int32(1 << i)
            for k in range(len(low)):
                x, a, b = tile[i, k], low[k], high[k]
                below[k] += one if x < a else none
                to_low[k] += one if x <= a else none
                before_high[k] += one if x < b else none
                to_high[k] += one if x <= b else none
                present[k] += none if np.isnan(x) else one
                marks[k] |= bit if (x > a) & (x < b) else np.int32(0)
        for k in range(len(low)):
            at, bits = kept[k], np.int64(np.uint32(marks[k]))
            while bits and at <= room:
                for _ in range(AT_ONCE):
                    lowest = bits & -bits
                    # The exponent of a power of two is its logarithm; that of 0 is none.
                    exponent = np.float64(lowest).view(np.int64) >> 52
                    inside[k, at] = tile[max(exponent - 1023, 0), k]
                    at += bits != 0
                    bits -= lowest
            kept[k] = at
    for k in range(len(low)):
        for at in range(kept[k], inside.shape[1]):
            inside[k, at] = np.inf
        for c in range(5):
            counts[c, k] += np.int64(seen[c, k])


def filled(features: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """Return features with the values of `fill` in place of NaN; the same array if nothing is missing."""
    columns = np.flatnonzero(missing_counts(features))
    if not columns.size:
        return features
    out = zeros_like(features)
    out[:] = features
    for k in columns:
        out[np.isnan(features[:, k]), k] = fill[k]
    return out


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """The statistics of every feature, weighted by query; queries of weight 0 are not read.

    Attributes
    ----------
    mean, deviation, smallest, largest : ndarray of shape (n_features,), float64
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
    features: Features,
    logarithm: np.ndarray,
    weights: np.ndarray | None = None,
    n_threads: int = 1,
    near: np.ndarray | None = None,
) -> ColumnStatistics:
    """Return the statistics of features, those of `logarithm` after sign(x) · log1p |x|.

    The medians, `near`, stand for missing values. Sums are over the rows of a block, then over blocks and
    shards in index order. They are of differences from medians, which are within a standard deviation of the
    means, so that a large mean costs no digits.
    """
    fill = medians(features, None if weights is None else weights > 0) if near is None else near
    origin = _logarithms_of(fill, logarithm)
    rows = np.ones(features.shape[0]) if weights is None else weights
    shards = features.over_shards(
        _moments_of_shard, fill, logarithm, origin, rows=(rows,), n_threads=n_threads
    )
    tables, total = np.concatenate(shards), rows.sum()
    beyond = tables[:, 0].sum(axis=0) / total
    variance = tables[:, 1].sum(axis=0) / total - beyond * beyond
    # Medians are between the extremes, and stand for those of features without a value.
    return ColumnStatistics(
        origin + beyond,
        np.sqrt(np.maximum(variance, 0.0)),
        _logarithms_of(np.minimum(tables[:, 2].min(axis=0), fill), logarithm),
        _logarithms_of(np.maximum(tables[:, 3].max(axis=0), fill), logarithm),
    )


def _logarithms_of(values: np.ndarray, logarithm: np.ndarray) -> np.ndarray:
    """Return a value of each feature as `read_row` reads it."""
    if not logarithm.any():
        return values.astype(np.float64)
    row = values.astype(np.float32)
    ((_, read),) = in_logarithms(row[None], row, logarithm)
    return read[0]


def _moments_of_shard(features, indptr, blocks, fill, logarithm, origin, weights) -> np.ndarray:
    tables = np.zeros((len(blocks), 4, features.shape[1]))
    for block, (total, squares, smallest, largest) in zip(blocks, tables, strict=True):
        rows, of_rows = features[block.rows], weights[block.rows]
        if not of_rows.all():
            rows, of_rows = rows[of_rows > 0], of_rows[of_rows > 0]
        runs = in_logarithms(rows, fill, logarithm) if logarithm.any() else [(slice(None), rows)]
        for some, read in runs:
            add_moments(read, of_rows[some], fill, origin, total, squares)
        bounds = np.empty((2, 2, rows.shape[1]), rows.dtype)
        _ranges(rows, np.array([0, len(rows)]), bounds, smallest[None], largest[None])
    return tables


def deviations_in_queries(
    features: Features, weights: np.ndarray | None = None, n_threads: int = 1
) -> np.ndarray:
    """Return the mean over queries of the standard deviation of each feature, float64 (n_features,).

    No value may be missing. `weights` are of rows, and the same for all rows of a query.
    """
    rows = np.ones(features.shape[0]) if weights is None else weights
    shards = features.over_shards(_deviations_of_shard, rows=(rows,), n_threads=n_threads)
    totals, weights_of_shards = zip(*shards, strict=True)
    return np.sum(totals, axis=0) / sum(weights_of_shards)


def _deviations_of_shard(features, indptr, blocks, weights) -> tuple[np.ndarray, float]:
    (mean, squares, total), by_query = np.zeros((3, features.shape[1])), weights[indptr[:-1]]
    _add_deviations(features, indptr, by_query, mean, squares, total)
    return total, float(by_query.sum())


@kernel
def read_row(features, i, fill, logarithm, row, parts):
    """Write row i in float64: `fill` where it is NaN, then sign(x) · log1p |x| where `logarithm` is true.

    Either may be empty: nothing is filled, or no logarithm taken. `parts` is (4, n_features), of float64.
    """
    x = parts[0] if len(logarithm) else row
    total = 0.0
    for k in range(len(x)):
        x[k] = features[i, k]
        total += x[k]
    if np.isnan(total) and len(fill):
        for k in range(len(x)):
            value, instead = features[i, k], fill[k]
            x[k] = instead if np.isnan(value) else value
    if len(logarithm):
        signed_logarithms(x, logarithm, parts[1], parts[2], parts[3], row)


def in_logarithms(
    features: np.ndarray,
    fill: np.ndarray,
    logarithm: np.ndarray,
    shift: float | np.ndarray = 0.0,
    factor: float | np.ndarray = 1.0,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield runs of rows, and (x - shift) * factor of their features, x being what `read_row` reads.

    It is in float64, in one array for all runs.
    """
    n_rows, width = max(1, READ_AT_ONCE // max(1, features.shape[1])), features.shape[1]
    shifts, factors = np.zeros(width) + shift, np.ones(width) * factor
    read = np.empty((min(n_rows, len(features)), width))
    for first in range(0, len(features), n_rows):
        rows = features[first : first + n_rows]
        _read_rows(rows, fill, logarithm, shifts, factors, read[: len(rows)])
        yield slice(first, first + len(rows)), read[: len(rows)]


@kernel
def _read_rows(features, fill, logarithm, shift, factor, out):
    row, parts = np.empty(features.shape[1]), np.empty((4, features.shape[1]))
    for i in range(len(features)):
        read_row(features, i, fill, logarithm, row, parts)
        for k in range(len(row)):
            out[i, k] = (row[k] - shift[k]) * factor[k]


@kernel
def add_moments(rows, weights, fill, origin, total, squares):
    """Add the weighted sums of rows beyond an origin, and of their squares; `fill` stands for NaN."""
    for i in range(len(rows)):
        w = weights[i]
        for k in range(rows.shape[1]):
            x = rows[i, k]
            beyond = (fill[k] if np.isnan(x) else x) - origin[k]
            total[k] += w * beyond
            squares[k] += w * beyond * beyond


@kernel
def _add_deviations(features, indptr, weights, mean, squares, out):
    # `mean` and `squares` are zeros before and after.
    for q in range(len(weights)):
        first, last = indptr[q], indptr[q + 1]
        for i in range(first, last):
            for k in range(len(mean)):
                mean[k] += features[i, k]
        for k in range(len(mean)):
            mean[k] /= last - first
        for i in range(first, last):
            for k in range(len(mean)):
                beyond = features[i, k] - mean[k]
                squares[k] += beyond * beyond
        for k in range(len(mean)):
            out[k] += weights[q] * math.sqrt(squares[k] / (last - first))
            mean[k], squares[k] = 0.0, 0.0


def scaled_inside_queries(
    features: np.ndarray, indptr: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """Return features scaled to [0, 1] inside each query, float32; a constant feature becomes 0.

    Ranges are those of the values there are; a missing value stays missing.
    """
    out = zeros_like(features) if out is None else out
    for starts, smallest, largest in _ranges_of_queries(features, indptr):
        width = np.full_like(largest, np.inf)
        np.subtract(largest, smallest, out=width, where=largest > smallest)
        _scale(features, starts, smallest, 1.0 / width, out)
    return out


def are_scaled_inside_queries(features: Features) -> bool:
    """Return whether each feature runs from 0 to 1, or is constant, in nearly every query.

    Where a query lacks a value of a feature, the value may have been the 0 or the 1: the others need only be
    between them, if the feature reaches both in some query.
    """
    counts, varied, low, high = features.total(_range_counts)
    enough = (counts >= MOST_QUERIES * varied) & (((low > 0) & (high > 0)) | (varied == 0))
    return bool(varied.any() and enough.all())


def _range_counts(features: np.ndarray, indptr: np.ndarray, blocks: object) -> np.ndarray:
    """Return the number of queries in which each feature runs from 0 to 1, varies, reaches 0, reaches 1."""
    table, missing = np.zeros((4, features.shape[1]), np.int64), None
    for starts, smallest, largest in _ranges_of_queries(features, indptr):
        varied = largest > smallest
        zero, one = varied & (np.abs(smallest) <= DIGITS), varied & (np.abs(largest - 1.0) <= DIGITS)
        counts = zero & one
        # A query that lacks a value may have lacked the 0 or the 1.
        between = varied & ~counts & (smallest >= -DIGITS) & (largest <= 1.0 + DIGITS)
        if between.any() and missing is None:
            missing = bool(np.isnan(features.max(initial=0.0)))
        for q in np.flatnonzero(between.any(axis=1)) if missing else ():
            counts[q] |= between[q] & np.isnan(features[starts[q] : starts[q + 1]]).any(axis=0)
        table += np.sum((counts, varied, zero, one), axis=1)
    return table


def _ranges_of_queries(
    features: np.ndarray, indptr: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the boundaries of some queries, and the least and the largest value of each feature in each."""
    some = max(1, READ_AT_ONCE // max(1, features.shape[1]))
    bounds = np.empty((2, 2, features.shape[1]), features.dtype)
    for first in range(0, len(indptr) - 1, some):
        starts = indptr[first : first + some + 1]
        smallest, largest = np.empty((2, len(starts) - 1, features.shape[1]))
        _ranges(features, starts, bounds, smallest, largest)
        yield starts, smallest, largest


@kernel
def _ranges(rows, starts, bounds, smallest, largest):
    """Write the least and the largest value of each feature in each group of rows, which `starts` separates.

    They are infinity and its opposite if all are NaN. `bounds`, of the type of the rows and of the shape
    (2, 2, n_features), is scratch: to allocate it here takes half a second of compilation.
    """
    # From one array to another, by turns: changes in place become stores under a mask, which are slow.
    for group in range(len(starts) - 1):
        first, last = starts[group], starts[group + 1]
        for k in range(rows.shape[1]):
            bounds[0, 0, k], bounds[0, 1, k] = np.inf, -np.inf
        for i in range(first, last):
            old, new = bounds[(i - first) % 2], bounds[(i - first + 1) % 2]
            for k in range(rows.shape[1]):
                x, low, high = rows[i, k], old[0, k], old[1, k]
                # No comparison with NaN is true.
                new[0, k] = x if x < low else low
                new[1, k] = x if x > high else high
        # numba compiles a message where a slice is assigned, which takes longer than all of this.
        end = bounds[(last - first) % 2]
        for k in range(rows.shape[1]):
            smallest[group, k], largest[group, k] = end[0, k], end[1, k]


@kernel
def fill_query_minimum(X, indptr):
    """Replace NaN by the least value of the feature within the query, or by 0 if there is none."""
    for q in range(len(indptr) - 1):
        rows = X[indptr[q] : indptr[q + 1]]
        for column in range(X.shape[1]):
            least = np.float32(np.inf)
            for i in range(len(rows)):
                # False for NaN
                if rows[i, column] < least:
                    least = rows[i, column]
            if np.isinf(least):
                least = np.float32(0.0)
            for i in range(len(rows)):
                if np.isnan(rows[i, column]):
                    rows[i, column] = least


@kernel
def _scale(features, indptr, smallest, factor, out):
    for q in range(len(indptr) - 1):
        for i in range(indptr[q], indptr[q + 1]):
            for k in range(features.shape[1]):
                out[i, k] = (features[i, k] - smallest[q, k]) * factor[q, k]
