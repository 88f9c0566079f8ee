"""Medians by counting, for features in other processes: exact, from sums over shards.

The bits of a float32 are read as a whole number in the order of the values. Its four bytes are found one
after the other: of the values that agree in the bytes found so far, how many have each next byte?
"""

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.kernels.compile import kernel

N_BYTES = 256
SIGN = np.uint32(2**31)


def counted_medians(groups: QueryGroups, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the median of the values of each feature, float32 (n_features,); 0 without any value.

    It is that of `directrank.scorers.missing_values.medians`, in four passes over the features.

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
