"""The range of every feature inside each query: LETOR's scaling to [0, 1]."""

import numpy as np

from directrank.features.array import zeros_like
from directrank.kernels.compile import kernel

#: Least share of queries in which a feature must run from 0 to 1 to count as scaled inside queries.
MOST_QUERIES = 0.9
# Text files keep six digits.
DIGITS = 1e-5


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
