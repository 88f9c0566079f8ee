"""Growth of one tree on documents that lie elsewhere: in a mapped file, or on the workers of a cluster.

The tree grows here, from sums of histograms over shards. These are whole numbers, so that the tree is that of
one process. What a shard has of the tree, the documents of each node, follows from the splits alone, which
come with each call: a shard that is loaded again catches up.
"""

from functools import partial

import numpy as np

from directrank.features import Features
from directrank.solvers.trees import growing
from directrank.solvers.trees.growing import (
    COLUMN,
    LOWER,
    NODES,
    SLOT,
    SMALL,
    TOTAL,
    WAITING,
    Columns,
    Growth,
    Limits,
    MixedColumns,
)

#: The number of a document that is not trained on; gradients of 2³¹ units do not occur.
NO_DOCUMENT = np.iinfo(np.int64).min


class ShardOfTree:
    """The documents of a shard, divided among the nodes of a tree.

    Parameters
    ----------
    tiles : ndarray of shape (n_tiles, n_docs), uint64
    columns : tuple of ndarray
        What `Columns` has after its tiles.
    numbers : ndarray of shape (n_docs,), int64
        Packed, or `NO_DOCUMENT`.
    """

    def __init__(self, tiles, indptr, blocks, columns: tuple, numbers: np.ndarray):
        self.tiles, self.columns, self.numbers = tiles, Columns(tiles.reshape(-1), *columns), numbers
        self.rows = [np.flatnonzero(numbers != NO_DOCUMENT).astype(np.uint32)]

    def follow(self, nodes: np.ndarray, columns: np.ndarray, goes: np.ndarray) -> None:
        """Divide the documents of nodes that have been split, by column and the bins that go to the left."""
        for k in range(len(self.rows) // 2, len(nodes)):
            rows, column = self.rows[nodes[k]], columns[k]
            tile, shift = self.tiles[column >> 3], np.uint64(8 * (column & 7))
            n_left = growing.part(rows, np.empty_like(rows), tile, shift, goes[k])
            self.rows += [rows[:n_left], rows[n_left:]]

    def sums(self, node: int, chosen: np.ndarray) -> np.ndarray:
        """Return the histograms of a node."""
        rows, sums = self.rows[node], np.zeros(self.columns.start[-1] + 1, np.int64)
        growing.add_up(self.columns, chosen, rows, self.numbers[rows], sums)
        return sums


def _sums_of_shard(shard: ShardOfTree, indptr, blocks, splits: tuple, node: int, chosen) -> np.ndarray:
    """Return the histograms of a node, and the number of documents on the left of the last split."""
    shard.follow(*splits)
    n_left = len(shard.rows[-2]) if len(shard.rows) > 1 else 0
    return np.append(shard.sums(node, chosen), n_left)


def _nodes_of_shard(shard: ShardOfTree, indptr, blocks, splits: tuple) -> np.ndarray:
    shard.follow(*splits)
    leaf = np.zeros(len(shard.numbers), np.int32)
    for node, rows in enumerate(shard.rows):  # children come after their parents
        leaf[rows] = node
    return leaf


def grow(
    growth: Growth, columns: Columns | MixedColumns, chosen: np.ndarray, tiles: Features, numbers: np.ndarray,
    places: np.ndarray, limits: Limits, n_threads: int,
) -> None:  # fmt: skip
    """Grow a tree on the documents at some places, whose packed numbers are given among zeros."""
    whole = numbers.sum()
    if len(places) < len(numbers):
        among, numbers = numbers, np.full(len(numbers), NO_DOCUMENT)
        numbers[places] = among[places]
    shards = tiles.objects(ShardOfTree, tuple(columns[1:]), rows=(numbers,), n_threads=n_threads)
    nodes, split_columns, goes = [], [], []
    total = partial(shards.total, _sums_of_shard, n_threads=n_threads)

    def splits() -> tuple[np.ndarray, ...]:
        bins = np.array(goes, np.uint8).reshape(-1, 256)
        return np.array(nodes, np.int64), np.array(split_columns, np.int64), bins

    growing.begin(growth, len(places), whole)
    _search(growth, columns, chosen, total(splits(), 0, chosen), limits)
    while True:
        node, left_total = growing.best_leaf(growth, columns, limits)
        if node < 0:
            break
        nodes.append(node)
        split_columns.append(growth.nodes[node, COLUMN])
        goes.append(growth.goes.copy())
        # The number of documents is known only with the sums, so that curvature says which side is smaller.
        left_is_small = bool(2 * (left_total & LOWER) <= growth.nodes[node, TOTAL] & LOWER)
        small = growth.state[NODES] + (not left_is_small)
        sums = total(splits(), int(small), chosen)
        growing.divide(*growth[:4], node, sums[-1], left_total, left_is_small, limits)
        if growth.state[WAITING]:
            _search(growth, columns, chosen, sums, limits)
    leaf = np.concatenate(shards.over_shards(_nodes_of_shard, splits(), n_threads=n_threads))
    growing.place(growth, places, leaf)


def _search(
    growth: Growth, columns: Columns | MixedColumns, chosen: np.ndarray, sums: np.ndarray, limits: Limits
) -> None:
    growth.sums[growth.nodes[growth.state[SMALL], SLOT]] = sums[:-1]
    growth.state[WAITING] = 0
    growing.find_splits(growth, columns, chosen, limits)
