"""The best stump for weighted documents: over all thresholds, or over 256 bins a feature.

A stump [[x > t]] splits the documents in two; with W the sum of weights and A that of their sizes on each
side, its merit is W²/A summed over both sides (``gini``, the gain of a regression tree), or the W of the side
that is set to 1 (``eta``, the decrease of the objective to first order). Documents without a value of the
feature are tried on either side, and on one by themselves; where the training set has all values, a missing
one counts as the median.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from directrank.contracts import ObjectiveOracles
from directrank.features import Features, as_features
from directrank.features.sharing import once
from directrank.features.statistics import medians, missing_counts
from directrank.kernels.compile import kernel
from directrank.scorers import Trees, stump
from directrank.solvers.sorting import DIGITS, MISSING, fill_keys, sort_by_digits, value_of_key

CRITERIA = ("gini", "eta")
#: Values of features that are sorted at a time.
SORTED_AT_ONCE = 2**18
# A side with less than this share of the weights is rounding.
LEAST_SHARE = 1e-12
# Merits this close are equal but for rounding, which depends on the order of rows: the first one is chosen.
BETTER = 1.0 + 1e-9
# Products of numbers between these have not lost digits.
SMALL, LARGE = 1e-290, 1e290
# Where a stump sends missing values.
TO_LEFT, TO_RIGHT = -np.inf, np.inf


def median_of(features: Features) -> Callable[[int], float]:
    """Return a function from a feature to its median, computed when it is first asked for."""
    return cache(lambda feature: float(medians(features.columns(feature, feature + 1))[0]))


class ExactStumps:
    """All thresholds of all features; features are sorted once, for 4 bytes per value."""

    def __init__(self, objective: ObjectiveOracles, features: np.ndarray, criterion: str):
        self.features, self.by_gini, source = features, criterion == "gini", as_features(features)
        self.present = len(features) - missing_counts(source)
        self.median_of = median_of(source)
        self.order = once("sorted features", (features,), lambda: _sorted(source, self.present))

    def best(self, weights: np.ndarray, rng: np.random.Generator) -> Trees | None:
        """Return the best stump for these weights of documents, or None if no feature splits."""
        total, size = float(weights.sum(dtype=np.float64)), float(np.abs(weights).sum(dtype=np.float64))
        feature, place, right, to_left = _best_split(
            self.order, self.present, weights, total, size, self.by_gini
        )
        if feature < 0:
            return None
        last, following = self.order[feature, place], self.order[feature, place + 1]
        first = following if following >= 0 else ~following
        low, high = self.features[~last, feature], self.features[first, feature]
        threshold = low if np.isnan(high) else threshold_between(low, high)
        missing = self.present[feature] < len(self.features)
        fill = (TO_LEFT if to_left else TO_RIGHT) if missing else self.median_of(int(feature))
        return stump(int(feature), float(threshold), above=bool(right), fill=fill)


def _sorted(source: Features, present: np.ndarray) -> np.ndarray:
    """Return the documents by the value of each feature, int32 (n_features, n_docs), missing values last.

    The complement marks the last document of each value, which a threshold may follow.
    """
    n_docs, n_features = source.shape
    out, width = np.empty((n_features, n_docs), np.int32), max(1, SORTED_AT_ONCE // max(n_docs, 1))
    for first in range(0, n_features, width):
        some = slice(first, min(first + width, n_features))
        columns = np.ascontiguousarray(source.columns(some.start, some.stop).T)
        order = np.argsort(columns, axis=1, kind="stable")
        columns = np.take_along_axis(columns, order, axis=1)
        is_last = np.zeros(order.shape, np.bool_)
        is_last[:, :-1] = columns[:, 1:] != columns[:, :-1]
        is_last &= np.arange(n_docs) < present[some, None]
        out[some] = order
        np.invert(out[some], where=is_last, out=out[some])
    return out


class HistogramStumps:
    """At most 255 thresholds per feature, between quantiles of its values; 1 byte per value.

    A feature with no more than 256 distinct values is searched exactly; one with missing values, which have
    the last bin, with no more than 255. Histograms are summed over shards in their order, where the features
    are; thresholds are found from whole columns.
    """

    def __init__(self, objective: ObjectiveOracles, features: object, criterion: str):
        self.objective, self.by_gini = objective, criterion == "gini"
        source = as_features(features)
        self.median_of = median_of(source)
        self.missing = missing_counts(source) > 0
        edges = bin_edges(source, objective.on_threads)
        self.counts = np.array([len(feature_edges) for feature_edges in edges])
        self.edges = np.full((len(edges), N_BINS - 1), np.inf, np.float32)
        for k, feature_edges in enumerate(edges):
            self.edges[k, : len(feature_edges)] = feature_edges
        self.bins = binned(source, self.edges, bool(self.missing.any()), objective.n_threads).rows

    def best(self, weights: np.ndarray, rng: np.random.Generator) -> Trees | None:
        """Return the best stump for these weights of documents, or None if no feature splits."""
        sums, sizes = self.histograms(weights)
        left, left_size = self._left_of(sums), self._left_of(sizes)
        total, size = sums[0].sum(), np.abs(weights).sum(dtype=np.float64)
        right, right_size = total - left, size - left_size
        merit = np.maximum(left, right)
        if self.by_gini:
            few = LEAST_SHARE * size
            with np.errstate(divide="ignore", invalid="ignore"):
                merit = left**2 / left_size + right**2 / right_size
            merit[(left_size <= few) | (right_size <= few)] = -np.inf
        merit[np.arange(N_BINS - 1) >= self.counts[:, None]] = -np.inf
        # The last threshold has all values on its left, so there missing ones must be on the right.
        merit[self.missing, self.counts[self.missing] - 1, 1:] = -np.inf
        merit[~self.missing, :, 1:] = -np.inf
        best = merit.max()
        if not best > 0:
            return None
        at = np.unravel_index(np.argmax(merit >= best / BETTER), merit.shape)
        above = right[at] > left[at]
        if self.by_gini:
            above = right[at] * left_size[at] > left[at] * right_size[at]
        feature, place, to_left = map(int, at)
        fill = (TO_LEFT if to_left else TO_RIGHT) if self.missing[feature] else self.median_of(feature)
        return stump(feature, float(self.edges[feature, place]), above=bool(above), fill=fill)

    def _left_of(self, sums: np.ndarray) -> np.ndarray:
        """Return the sums left of each threshold, with missing values on the right, and on the left.

        Of shape (n_features, 255, 2), or (n_features, 255, 1) if no value is missing.
        """
        left = sums.cumsum(axis=1)[:, :-1, None]
        return np.append(left, left + sums[:, -1:, None], axis=2) if self.missing.any() else left

    def histograms(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of weights and of their sizes by bin, float64 (n_features, 256) each.

        Sizes are zeros if the criterion does not read them.
        """
        tables = self.objective.over_shards(_histogram_of_shard, self.bins, self.by_gini, rows=(weights,))
        total: Any = sum(tables)
        return total[:, :, 0], total[:, :, 1] if self.by_gini else np.zeros(total.shape[:2])


def _histogram_of_shard(objective, bins, parts, by_gini: bool, weights: np.ndarray) -> np.ndarray:
    table = np.zeros((bins.shape[1], N_BINS, 1 + by_gini))
    fill = _add_with_sizes if by_gini else _add_sums
    for part in parts:
        fill(bins[part.rows], weights[part.rows], table.reshape(-1))
    return table


#: Names of the searches for stumps.
STUMP_SEARCHES = {"exact": ExactStumps, "histogram": HistogramStumps}


@kernel
def _best_split(order, present, weights, total, size, by_gini):
    best, feature, place, above, to_left = 0.0, -1, -1, True, False
    few = LEAST_SHARE * size
    for k in range(order.shape[0]):
        row, n_known = order[k], present[k]
        gap, gap_size = 0.0, 0.0
        for p in range(n_known, len(row)):
            w = np.float64(weights[row[p]])
            gap += w
            gap_size += abs(w)
        left, left_size = 0.0, 0.0
        for p in range(n_known):
            code = row[p]
            w = np.float64(weights[code if code >= 0 else ~code])
            left += w
            left_size += abs(w)
            if code >= 0:
                continue
            if by_gini and n_known == len(row):
                # Only what may be the best split is divided: `BETTER` is far above rounding.
                right, right_size = total - left, size - left_size
                product = left * left * right_size + right * right * left_size
                if SMALL < product <= min(best * left_size * right_size, LARGE):
                    continue
            merit, higher = _merit(left, left_size, total, size, few, by_gini)
            if merit > best * BETTER:
                best, feature, place, above, to_left = merit, k, p, higher, False
            # After the last value, missing ones on the left would leave nothing on the right.
            if n_known < len(row) and p < n_known - 1:
                merit, higher = _merit(left + gap, left_size + gap_size, total, size, few, by_gini)
                if merit > best * BETTER:
                    best, feature, place, above, to_left = merit, k, p, higher, True
    return feature, place, above, to_left


@kernel
def _merit(left, left_size, total, size, few, by_gini):
    """Return the merit of a split, and whether its right side is the higher one."""
    right, right_size = total - left, size - left_size
    if not by_gini:
        return max(left, right), right > left
    if left_size <= few or right_size <= few:
        return 0.0, False
    merit = left * left / left_size + right * right / right_size
    return merit, right * left_size > left * right_size


@kernel
def _add_sums(bins, weights, table):
    for i in range(bins.shape[0]):
        w, cell = np.float64(weights[i]), 0
        for k in range(bins.shape[1]):
            table[cell + np.int64(bins[i, k])] += w
            cell += N_BINS


@kernel
def _add_with_sizes(bins, weights, table):
    for i in range(bins.shape[0]):
        w, cell = np.float64(weights[i]), 0
        a = abs(w)
        for k in range(bins.shape[1]):
            at = cell + 2 * np.int64(bins[i, k])
            table[at] += w
            table[at + 1] += a
            cell += 2 * N_BINS


N_BINS = 256
#: Columns that a thread copies at a time: the values of 16 float32 fill a cache line.
BLOCK_COLUMNS = 16


def threshold_between(low: np.float32, high: np.float32) -> np.float32:
    """Return a float32 t with low ≤ t < high, near the middle."""
    middle = np.float32(0.5 * (np.float64(low) + np.float64(high)))
    return middle if middle < high else low


def bin_edges(features: Features | np.ndarray, apply: Callable[..., Iterable[Any]] = map) -> list[np.ndarray]:
    """Return at most 255 thresholds for the values of each feature, ascending float32.

    A feature with no more than 256 values has a threshold between any two of them, one with more at
    quantiles. If some values are missing, there is one bin less, and the last threshold is the largest value.
    A few columns at a time are read; `apply` applies a function to blocks of them, such as on threads.
    """
    (n_docs, n_features), source = features.shape, as_features(features)

    def edges_of(first: int) -> list[np.ndarray]:
        columns = source.columns(first, min(first + BLOCK_COLUMNS, n_features))
        keys = np.empty(columns.shape[::-1], np.uint32)
        fill_keys(columns.view(np.uint32), keys)
        spare, counts = np.empty(n_docs, np.uint32), np.empty(DIGITS, np.uint32)
        edges = np.empty((len(keys), N_BINS - 1), np.float32)
        return [row[: _edges(column, spare, counts, row)] for column, row in zip(keys, edges, strict=True)]

    blocks = apply(edges_of, range(0, n_features, BLOCK_COLUMNS))
    return [edges for block in blocks for edges in block]


@kernel
def _edges(keys, spare, counts, edges):
    """Write the thresholds of a column of keys, which are reordered; return how many there are."""
    values = sort_by_digits(keys, spare, counts)
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
            low, high = value_of_key(values[start - 1]), value_of_key(values[start])
            middle = np.float32(0.5 * (np.float64(low) + np.float64(high)))
            edges[n_edges] = middle if middle < high else low
            n_edges += 1
    if missing:
        edges[n_edges] = value_of_key(values[n - 1])
    return n_edges + missing


def binned(features: Features, edges: np.ndarray, missing: bool, n_threads: int = 1) -> Features:
    """Return the bin of each value, uint8 (n_docs, n_features), where the features are.

    Rows of `edges` are filled up with infinity; missing values have the last bin.
    """
    return features.transformed(_bin_shard, edges, missing, dtype=np.uint8, n_threads=n_threads)


def _bin_shard(features, indptr, blocks, edges: np.ndarray, missing: bool, bins: np.ndarray) -> None:
    for block in blocks:
        assign_bins(features[block.rows], edges, bins[block.rows])
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
