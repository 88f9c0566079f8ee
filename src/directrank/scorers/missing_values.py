"""Missing values of features: NaN, the medians that stand for them, and the features filled with these."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from directrank.kernels.aligned import zeros_like
from directrank.kernels.compile import kernel
from directrank.storage.mapped import relieve

#: Rows that are read at a time.
BLOCK_BYTES = 2**24
#: Medians of this many rows and more are looked for between limits, which a sample gives, in so many ranges
#: of rows. Of the values, at most this share is kept.
FEWEST_ROWS, RANGES, MOST_BETWEEN = 2**15, 8, 0.2
#: Rows of a sample, from one in 512: the more there are, the fewer values are kept.
LEAST_SAMPLE, LARGEST_SAMPLE, ONE_IN = 2**11, 2**14, 512
# A row of a mapped file brings its neighbours into memory.
SAMPLED_AT_ONCE, GOLDEN_RATIO = 2**9, (5**0.5 - 1) / 2
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


def medians(features: np.ndarray, apply: Callable[[Callable, list[slice]], Iterable] = map) -> np.ndarray:
    """Return the median of the values of each feature, float32 (n_features,); 0 without any value.

    A sample of rows gives limits between which the median of each feature almost surely is. In one pass,
    values below are counted, and those between are kept, among which the median is then found. Where it is
    outside, or there are few rows, all values are sorted apart.

    Parameters
    ----------
    features : ndarray of shape (n_docs, n_features), float32
    apply : callable
        Applies a function to ranges of rows, possibly on threads; results in their order.
    """
    n_docs, n_features = features.shape
    out, whole = np.zeros(n_features, np.float32), np.ones(n_features, np.bool_)
    if n_docs >= FEWEST_ROWS and features.flags.c_contiguous:
        low, high = _limits(_sample(features, min(max(n_docs // ONE_IN, LEAST_SAMPLE), LARGEST_SAMPLE)))
        parts = list(apply(lambda rows: _between(features[rows], low, high), _ranges(n_docs)))
        for k in range(n_features):
            counts = np.stack([part[0][k] for part in parts]).sum(axis=0)
            found = _middle(counts, [part[1][k] for part in parts], low[k], high[k])
            whole[k] = found is None
            out[k] = 0.0 if found is None else found
    for k in np.flatnonzero(whole):
        column = np.concatenate([features[rows, k] for rows in _blocks(features)] or [features[:, k]])
        out[k] = _median(column)
    return out


def _ranges(n_docs: int) -> list[slice]:
    ends = np.arange(RANGES + 1) * n_docs // RANGES
    return [slice(int(first), int(last)) for first, last in pairwise(ends)]


def _sample(features: np.ndarray, n: int) -> np.ndarray:
    """Return n rows from everywhere, at distances that follow no rule of the data, such as equal queries."""
    number = np.arange(n)
    rows = ((number + number * GOLDEN_RATIO % 1.0) * (len(features) / n)).astype(np.int64)
    sample = np.empty((n, features.shape[1]), np.float32)
    for first in range(0, n, SAMPLED_AT_ONCE):
        sample[first : first + SAMPLED_AT_ONCE] = features[rows[first : first + SAMPLED_AT_ONCE]]
        relieve()
    return sample


def _limits(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return limits that enclose each median with a probability of all but 1e-6."""
    ordered = np.sort(sample, axis=0)  # missing values are last
    known = (~np.isnan(sample)).sum(axis=0)
    width = np.ceil(2.5 * np.sqrt(known)).astype(np.int64)
    columns, last = np.arange(sample.shape[1]), np.maximum(known - 1, 0)
    low, high = (np.clip(known // 2 + sign * width, 0, last) for sign in (-1, 1))
    return ordered[low, columns], ordered[high, columns]


def _between(features: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return how many values of each feature are below, at and above two limits, and those between them."""
    counts = np.zeros((len(low), 5), np.int64)
    inside = np.empty((len(low), int(MOST_BETWEEN * len(features)) + 1), np.float32)
    most = max(1, BLOCK_BYTES // features.strides[0])
    for first in range(0, len(features), most):
        _count_and_keep(features[first : first + most], low, high, counts, inside)
        relieve()
    return counts, [
        values[: min(n, len(values))].copy() for n, values in zip(counts[:, 2], inside, strict=True)
    ]


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
    return _mean_of_two(high if len(values) % 2 else values[:half].max(), high)


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
