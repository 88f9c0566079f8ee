"""Constant columns, and hashes that find equal rows and columns."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from directrank.kernels.compile import kernel

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
NEGATIVE_ZERO = np.uint32(0x80000000)


def column_ranges(X: np.ndarray, indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which columns are constant over all rows, and which within every query."""
    constant, within = np.ones(X.shape[1], np.bool_), np.ones(X.shape[1], np.bool_)
    _mark_changes(X, indptr, constant, within)
    return constant, within


def column_ranges_naive(X: np.ndarray, indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by definition, for tests."""
    queries = [X[a:b] for a, b in pairwise(indptr)]
    return np.ptp(X, axis=0) == 0, np.all([np.ptp(rows, axis=0) == 0 for rows in queries], axis=0)


@kernel
def _mark_changes(X, indptr, constant, within):
    whole = X[0]
    for q in range(len(indptr) - 1):
        rows = X[indptr[q] : indptr[q + 1]]
        first = rows[0]
        for i in range(len(rows)):
            x = rows[i]
            for column in range(len(x)):
                within[column] &= x[column] == first[column]
                constant[column] &= x[column] == whole[column]


def row_hashes(X: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each row, equal for equal rows, uint64 (n_docs,)."""
    return _hashes(_hash_rows, X, len(X))


def column_hashes(X: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each column, equal for equal columns, uint64 (n_features,)."""
    return _hashes(_hash_columns, X, X.shape[1])


def _hashes(write: Callable, X: np.ndarray, n: int) -> np.ndarray:
    hashes = np.zeros(n, np.uint64)
    with np.errstate(over="ignore"):  # Without compilation NumPy would warn of products that wrap around.
        write(X.view(np.uint32), hashes)
    return hashes


@kernel
def _mixed(h, bits):
    # 0.0 and -0.0 are equal and must have the same hash.
    value = np.uint64(0) if bits == NEGATIVE_ZERO else np.uint64(bits)
    h = (h ^ (value + MULTIPLIER)) * MULTIPLIER
    return h ^ (h >> np.uint64(29))


@kernel
def _hash_rows(bits, hashes):
    for i in range(len(bits)):
        row = bits[i]
        h = np.uint64(0)
        for k in range(len(row)):
            h = _mixed(h, row[k])
        hashes[i] = h


@kernel
def _hash_columns(bits, hashes):
    for i in range(len(bits)):
        row = bits[i]
        for k in range(len(row)):
            hashes[k] = _mixed(hashes[k], row[k])
