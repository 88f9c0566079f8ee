"""Trees of wide data: LightGBM's trees, from features that are sorted once, where documents are few.

LightGBM visits every interval of every feature at each leaf, and most are empty where features outnumber
documents. Here a leaf costs as much as it has documents.
"""

import numpy as np

from directrank.features.sharing import once
from directrank.kernels.compile import inline_kernel, kernel
from directrank.scorers.trees import LEAF, TO_THE_LEFT, ZERO, Trees, at_most

#: LightGBM rounds counts of documents, which it estimates from curvature, at one half.
HALF = 0.5
#: Gains are compared by products, which round otherwise than quotients.
LESS = 1.0 - 1e-9
#: A document and its interval share a number of 32 bits.
SHIFT = 16
LOW_BITS = (1 << SHIFT) - 1
#: Documents whose features are sorted; more have few empty intervals.
MOST_DOCUMENTS = 1024


def is_wide(features: np.ndarray, bins: int) -> bool:
    """Return whether there are few documents, fewer than features, and no value is missing."""
    n_docs, n_features = features.shape
    if n_features <= max(n_docs, bins) or n_docs > MOST_DOCUMENTS or np.isnan(features).any():
        return False
    # What LightGBM takes for 0 everywhere is its error.
    return bool(np.ptp(np.where(np.abs(features) <= ZERO, 0.0, features), axis=0).any())


class PresortedGrower:
    """A model in training whose trees are LightGBM's; of splits that divide alike, the first feature's.

    Sums of `on_a_grid` are exact, and so gains of such splits are equal.
    """

    def __init__(
        self, features: np.ndarray, monitored: np.ndarray, *, bins: int, leaves: int, learning_rate: float,
        least: float, penalty: float,
    ):  # fmt: skip
        self.features, self.judged, self.both_are_one = features, monitored, monitored is features
        self.packed, self.values = once(
            "presorted features", (features, bins), lambda: _sorted(features, bins)
        )
        self.leaves, self.learning_rate, self.least, self.penalty = leaves, learning_rate, least, penalty
        self.sums = np.zeros(len(features))
        self.sums_of_judged = self.sums if self.both_are_one else np.zeros(len(monitored))
        self.grown: list[Trees] = []

    def grow(self, gradient: np.ndarray, curvature: np.ndarray) -> None:
        """Add one tree."""
        most = 2 * self.leaves - 1
        feature, left, right = np.zeros(most, np.int32), *np.full((2, most), LEAF, np.int32)
        (low, high), (value, gain, cover) = np.zeros((2, most)), np.zeros((3, most))
        leaf, derivatives = np.zeros(len(self.sums), np.int32), np.stack((gradient, curvature), 1)
        derivatives = derivatives.astype(np.float64)
        n_nodes = _grow(
            self.packed.copy(), self.packed, self.values, derivatives, self.leaves, self.least, self.penalty,
            feature, low, high, left, right, value, gain, cover, leaf,
        )  # fmt: skip
        value *= self.learning_rate
        self.sums += value[leaf]
        threshold = np.where(left == LEAF, 0.0, _between(low, high))
        missing = np.where((left != LEAF) & (threshold >= 0.0), TO_THE_LEFT, 0)
        nodes = (
            feature, at_most(threshold, or_equal=True), missing, left, right, value, gain,
            cover.astype(np.float32),
        )  # fmt: skip
        tree = Trees(np.zeros(1, np.int64), *(array[:n_nodes] for array in nodes))
        self.grown.append(tree)
        if not self.both_are_one:
            tree.add_to(self.sums_of_judged, self.judged, np.ones(1))

    def scores(self) -> np.ndarray:
        """Return the scores of the training documents."""
        return self.sums.copy()

    def monitored(self) -> np.ndarray:
        """Return the scores of the documents that the monitor judges."""
        return self.sums_of_judged.copy()

    def trees(self, n_trees: int) -> Trees:
        """Return the first trees."""
        return Trees.concatenate(self.grown[:n_trees])


def _sorted(features: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the documents by the value of each feature, with the interval of each, and the values.

    Of shape (n_features, n_docs): uint32 with the interval in its upper bits, and float32. Each value has an
    interval if there are at most `bins` documents, or else as many values as are between two quantiles.
    """
    n_docs = len(features)
    columns = np.ascontiguousarray(features.T)
    columns[np.abs(columns) <= ZERO] = 0.0
    order = np.argsort(columns, axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    begins = np.diff(values, axis=1, prepend=np.float32(np.nan)) != 0
    place = np.maximum.accumulate(np.where(begins, np.arange(n_docs), 0), axis=1)
    interval = place * min(bins, n_docs) // n_docs
    return (interval << SHIFT | order).astype(np.uint32), values


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return LightGBM's thresholds: after the middle of two values, or beside 0 if that is one or between."""
    middle = np.nextafter(0.5 * (low + high), np.inf)
    return np.where((low > 0.0) | (high < 0.0), middle, np.where(high > 0.0, ZERO, -ZERO))


@kernel
def _grow(
    packed, sorted_packed, values, derivatives, leaves, least, penalty, feature, low, high, left, right,
    value, gain, cover, leaf,
):  # fmt: skip
    """Write a tree whose leaf of the largest gain is split next; return the number of nodes."""
    n_docs = packed.shape[1]
    start, stop, node = np.zeros(leaves, np.int64), np.zeros(leaves, np.int64), np.zeros(leaves, np.int64)
    sums, best_sums, best_gain = np.zeros((leaves, 2)), np.zeros((leaves, 2)), np.zeros(leaves)
    best_feature, best_cut = np.zeros(leaves, np.int64), np.zeros(leaves, np.int64)
    on_the_left, spare = np.zeros(n_docs, np.int64), np.zeros(n_docs, np.uint32)
    stop[0] = n_docs
    for i in range(n_docs):
        sums[0, 0] += derivatives[i, 0]
        sums[0, 1] += derivatives[i, 1]
    n_leaves, first, last = 1, 0, 0
    while n_leaves < leaves:
        for k in range(len(packed)):
            row = packed[k]
            if last > first:
                _divide(row, start[first], stop[last], on_the_left, spare)
            for second in range(1 + (last > first)):
                a = last if second else first
                best_gain[a], cut = _best_cut(
                    row, start[a], stop[a], derivatives, sums[a], least, penalty, best_gain[a], best_sums[a]
                )
                if cut:
                    best_feature[a], best_cut[a] = k, cut
        a, new = np.argmax(best_gain[:n_leaves]), n_leaves
        if best_gain[a] <= 0.0:
            break
        k, cut = best_feature[a], best_cut[a]
        row = packed[k]
        for i in range(start[a], stop[a]):
            on_the_left[row[i] & LOW_BITS] = i < cut
            if i >= cut:
                leaf[row[i] & LOW_BITS] = new
        # The threshold is the upper end of the interval before, which may hold documents of other leaves.
        at = 0
        while sorted_packed[k, at] >> SHIFT < row[cut] >> SHIFT:
            at += 1
        parent, node[a], node[new] = node[a], 2 * new - 1, 2 * new
        low[parent], high[parent], gain[parent] = values[k, at - 1], values[k, at], best_gain[a]
        feature[parent], left[parent], right[parent] = k, node[a], node[new]
        cover[parent] = stop[a] - start[a]
        start[new], stop[new], stop[a] = cut, stop[a], cut
        for j in range(2):
            sums[new, j] = sums[a, j] - best_sums[a, j]
            sums[a, j] = best_sums[a, j]
        best_gain[a], first, last = 0.0, a, new
        n_leaves += 1
    for a in range(n_leaves):
        cover[node[a]] = stop[a] - start[a]
        value[node[a]] = -sums[a, 0] / (sums[a, 1] + penalty) if n_leaves > 1 else 0.0
    for i in range(n_docs):
        leaf[i] = node[leaf[i]]
    return 2 * n_leaves - 1


@inline_kernel
def _divide(row, start, stop, on_the_left, spare):
    """Move the documents of a leaf that go to the left before the others, in their order."""
    to, apart = start, 0
    for i in range(start, stop):
        item = row[i]
        goes = on_the_left[item & LOW_BITS]
        row[to] = item
        spare[apart] = item
        to += goes
        apart += 1 - goes
    for i in range(apart):
        row[to + i] = spare[i]


@inline_kernel
def _best_cut(row, start, stop, derivatives, sums, least, penalty, most, best_sums):
    """Return the largest gain of a feature's cuts above `most`, with where the right side begins, or 0.

    Written are the sums of the left side.
    """
    best, before = 0, sums[0] * sums[0] / (sums[1] + penalty)
    right_gradient, right_curvature = 0.0, 0.0
    enough = (most + before) * LESS
    for i in range(stop - 1, start, -1):
        item = row[i]
        right_gradient += derivatives[item & LOW_BITS, 0]
        right_curvature += derivatives[item & LOW_BITS, 1]
        if right_curvature < least or row[i - 1] >> SHIFT == item >> SHIFT:
            continue
        left_gradient, left_curvature = sums[0] - right_gradient, sums[1] - right_curvature
        if left_curvature < least:
            break
        right, left = right_curvature + penalty, left_curvature + penalty
        # Products are faster than quotients, and rarely large enough.
        if left_gradient**2 * right + right_gradient**2 * left <= enough * left * right:
            continue
        gain = left_gradient**2 / left + right_gradient**2 / right - before
        if gain > most and _has_documents(row, i, start, stop, derivatives, sums[1]):
            best, most, enough = i, gain, (gain + before) * LESS
            best_sums[0], best_sums[1] = left_gradient, left_curvature
    return most, best


@inline_kernel
def _has_documents(row, cut, start, stop, derivatives, curvature):
    """Return whether both sides have documents, which LightGBM counts by the curvature of intervals."""
    count, of_interval = 0, 0.0
    for i in range(stop - 1, cut - 1, -1):
        of_interval += derivatives[row[i] & LOW_BITS, 1]
        if row[i - 1] >> SHIFT != row[i] >> SHIFT:
            count += np.int64(of_interval * ((stop - start) / curvature) + HALF)
            of_interval = 0.0
    return 0 < count < stop - start
