"""Statistics of every feature, with the same bits for any number of threads.

Missing values with the medians that stand for them; means, deviations and ranges; the range inside each
query, which LETOR scales to [0, 1].
"""

import math
from dataclasses import dataclass

import numpy as np

from directrank.features.array import Features, as_features, zeros_like
from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import log_of_one_plus

#: Medians of this many documents and more are looked for between limits, which a sample gives. Of the values
#: of a shard, at most this share is kept.
FEWEST_ROWS, MOST_BETWEEN = 2**15, 0.2
#: Rows of a sample, from one in 512: the more there are, the fewer values are kept.
LEAST_SAMPLE, LARGEST_SAMPLE, ONE_IN = 2**11, 2**14, 512
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
    # A sum is NaN if one of its terms is, and much faster than a look at each of them.
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = np.flatnonzero(~np.isfinite(features.sum(axis=0)))
    counts = np.zeros(features.shape[1], np.int64)
    counts[suspect] = [np.isnan(features[:, k]).sum() for k in suspect]
    return counts


def medians(
    features: Features | np.ndarray, counted: np.ndarray | None = None, n_threads: int = 1
) -> np.ndarray:
    """Return the median of each feature over `counted` documents, float32 (n_features,); 0 without a value.

    A sample of rows gives limits between which the median of each feature almost surely is. In one pass,
    values below are counted, and those between are kept, among which the median is then found. Where it is
    outside, or there are few rows, all values are sorted apart.
    """
    source, n_features = as_features(features), features.shape[1]
    which = np.arange(features.shape[0]) if counted is None else np.flatnonzero(counted)
    rows = () if counted is None or len(which) == len(counted) else (counted,)
    out, whole = np.zeros(n_features, np.float32), np.ones(n_features, np.bool_)
    if len(which) >= FEWEST_ROWS:
        low, high = _limits(_sample(source, which))
        shards = source.over_shards(_between, low, high, rows=rows, n_threads=n_threads)
        counts = np.sum([of_shard for of_shard, _ in shards], axis=0)
        for k in range(n_features):
            inside = [values[k, : of_shard[k, 2]] for of_shard, values in shards]
            median = _middle(counts[k], inside, low[k], high[k])
            whole[k] = median is None
            out[k] = 0.0 if median is None else median
    for k in np.flatnonzero(whole) if len(which) else ():
        out[k] = _median(source.columns(int(k), int(k) + 1)[which, 0])
    return out


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
    """Return limits that enclose each median with a probability of all but 1e-6."""
    ordered = np.sort(sample, axis=0)  # missing values are last
    known = (~np.isnan(sample)).sum(axis=0)
    width = np.ceil(2.5 * np.sqrt(known)).astype(np.int64)
    columns, last = np.arange(sample.shape[1]), np.maximum(known - 1, 0)
    low, high = (np.clip(known // 2 + sign * width, 0, last) for sign in (-1, 1))
    return ordered[low, columns], ordered[high, columns]


def _between(features: np.ndarray, indptr, blocks, low, high, counted=None) -> tuple:
    """Return how many values of each feature are below, at and above two limits, and those between them.

    Of a feature with more values between them than there is room for, some are missing.
    """
    features = features if counted is None else features[counted]
    counts = np.zeros((len(low), 5), np.int64)
    inside = np.empty((len(low), int(MOST_BETWEEN * len(features)) + 1), np.float32)
    _count_and_keep(features, low, high, counts, inside)
    return counts, inside[:, : counts[:, 2].max(initial=0)].copy()


def _middle(counts: np.ndarray, inside: list[np.ndarray], low, high) -> np.float32 | None:
    """Return the median from counts of values below, at `low`, between, at `high` and above."""
    kept, known = np.concatenate(inside), int(counts.sum())
    if known == 0 or len(kept) < counts[2]:
        return None
    ends, middle = counts.cumsum(), ((known - 1) // 2, known // 2)
    if middle[0] < ends[0] or middle[1] >= ends[3]:
        return None
    within = [place - ends[1] for place in middle if ends[1] <= place < ends[2]]
    ordered = np.partition(kept, within) if within else kept
    values = [
        low if place < ends[1] else high if place >= ends[2] else ordered[place - ends[1]] for place in middle
    ]
    return _mean_of_two(*values)


def _mean_of_two(low, high) -> np.float32:
    # Equal zeros may have different signs, in an order that depends on the order of rows.
    return np.float32(0.5 * (float(low) + float(high)) + 0.0)


@kernel
def _count_and_keep(features, low, high, counts, inside):
    # Without branches, which nothing could foretell; counts of a block are exact in float32.
    one, none, last = np.float32(1), np.float32(0), inside.shape[1] - 1
    seen = np.zeros((4, len(low)), np.float32)
    below, at_low, at_high, above, kept = seen[0], seen[1], seen[2], seen[3], counts[:, 2].copy()
    for i in range(features.shape[0]):
        row = features[i]
        for k in range(len(low)):
            x, a, b = row[k], low[k], high[k]
            below[k] += one if x < a else none
            at_low[k] += one if x == a else none
            at_high[k] += one if x == b else none
            above[k] += one if x > b else none
        for k in range(len(low)):
            x = row[k]
            inside[k, min(kept[k], last)] = x
            kept[k] += (x > low[k]) & (x < high[k])
    for k in range(len(low)):
        same = low[k] == high[k]
        counts[k, 0] += np.int64(below[k])
        counts[k, 1] += np.int64(at_low[k])
        counts[k, 2] = kept[k]
        counts[k, 3] += np.int64(0 if same else at_high[k])
        counts[k, 4] += np.int64(above[k])


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
    return _mean_of_two(high if len(values) % 2 else values[:half].max(), high)


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
        add_moments(features[block.rows], weights[block.rows], logarithm, origin, *table)
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
def add_moments(features, weights, logarithm, origin, total, squares, smallest, largest):
    """Add the weighted sums of features beyond an origin, and of squares; write the least and largest."""
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


def scaled_inside_queries(
    features: np.ndarray, indptr: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """Return features scaled to [0, 1] inside each query, float32; a constant feature becomes 0.

    Ranges are those of the values there are; a missing value stays missing.
    """
    out = zeros_like(features) if out is None else out
    _scale(features, indptr, out)
    return out


def are_scaled_inside_queries(features: np.ndarray, indptr: np.ndarray) -> bool:
    """Return whether each feature runs from 0 to 1, or is constant, in nearly every query.

    Where a query lacks a value of a feature, the value may have been the 0 or the 1: the others need only be
    between them, if the feature reaches both in some query.
    """
    return are_counted_as_scaled(range_counts(features, indptr))


def range_counts(features: np.ndarray, indptr: np.ndarray, blocks: object = ()) -> np.ndarray:
    """Return counts of queries for each feature, int64 (4, n_features), which add up over shards.

    They are of queries in which it runs from 0 to 1, varies, reaches 0, and reaches 1.
    """
    counts, varied, low, high = table = np.zeros((4, features.shape[1]), np.int64)
    _count(features, indptr, DIGITS, counts, varied, low, high)
    return table


def are_counted_as_scaled(table: np.ndarray) -> bool:
    """Return whether the counts of all queries are those of features scaled inside each query."""
    counts, varied, low, high = table
    enough = (counts >= MOST_QUERIES * varied) & (((low > 0) & (high > 0)) | (varied == 0))
    return bool(varied.any() and enough.all())


@kernel
def _ranges(rows, smallest, largest):
    smallest[:], largest[:] = np.inf, -np.inf
    for i in range(len(rows)):
        for k in range(len(smallest)):
            # These keep their first argument where the second is NaN.
            smallest[k] = min(smallest[k], rows[i, k])
            largest[k] = max(largest[k], rows[i, k])


@kernel
def _scale(features, indptr, out):
    smallest, largest = np.empty(features.shape[1]), np.empty(features.shape[1])
    for q in range(len(indptr) - 1):
        first, last = indptr[q], indptr[q + 1]
        _ranges(features[first:last], smallest, largest)
        for k in range(len(smallest)):
            width = largest[k] - smallest[k]
            largest[k] = 1.0 / width if width > 0 else 0.0
        for i in range(first, last):
            for k in range(len(smallest)):
                out[i, k] = (features[i, k] - smallest[k]) * largest[k]


@kernel
def _count(features, indptr, digits, counts, varied, low, high):
    smallest, largest = np.empty(features.shape[1]), np.empty(features.shape[1])
    for q in range(len(indptr) - 1):
        rows = features[indptr[q] : indptr[q + 1]]
        _ranges(rows, smallest, largest)
        for k in range(len(smallest)):
            if largest[k] <= smallest[k]:
                continue
            zero, one = abs(smallest[k]) <= digits, abs(largest[k] - 1.0) <= digits
            varied[k] += 1
            low[k] += zero
            high[k] += one
            if zero and one:
                counts[k] += 1
            elif smallest[k] >= -digits and largest[k] <= 1.0 + digits:
                counts[k] += np.isnan(rows[:, k]).any()
