"""Columns of bins: features, and the categories of columns of texts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from directrank.features import Features, as_features
from directrank.scorers import Trees
from directrank.scorers.set_trees import SetTrees
from directrank.solvers.trees.binning import TILE, Bins, binned, binned_on_shards
from directrank.solvers.trees.growing import SETS, SINGLE, Columns, MixedColumns
from directrank.storage.mapped import is_mapped

#: Categories of a column of bins; one more stands for all others.
MOST_CATEGORIES = 254


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """Features as columns of bins, and what a split on each of them means in the features.

    Attributes
    ----------
    rows : ndarray of shape (n_docs,)
        The documents.
    columns : Columns or MixedColumns
        Without tiles, where `shards` have those.
    shards : Features or None
        The tiles of each shard, if they are in a mapped file or in other processes.
    varying : ndarray of int64
        The columns that tell documents apart.
    thresholds : ndarray of shape (n_columns, 255), float32
    place : ndarray of shape (n_columns,), int32
        The feature of each column, or the first of those that say its category.
    width : ndarray of shape (n_columns,), int32
        So many features say the category; 0 of other columns.
    bin_of : list of ndarray
        The bin of each category.
    medians, complete : ndarray of shape (n_features,)
        The median of each feature, and whether it has all values.
    """

    rows: np.ndarray
    columns: Columns | MixedColumns
    shards: Features | None
    varying: np.ndarray
    thresholds: np.ndarray
    place: np.ndarray
    width: np.ndarray
    bin_of: list[np.ndarray]
    medians: np.ndarray
    complete: np.ndarray


def binned_columns(
    features: Any, live: np.ndarray, most: int, scorer: Trees, categories: str, n_threads: int
) -> BinnedColumns:
    """Return the bins of the documents that are `live`, of whose features a scorer says which are categories.

    Those that are not in memory have bins of all documents.
    """
    n_features, rows = features.shape[1], np.flatnonzero(live)
    if not isinstance(scorer, SetTrees):
        if isinstance(features, np.ndarray) and not is_mapped(features):
            bins = binned(features, rows, most, n_threads)
        else:
            bins = binned_on_shards(as_features(features), live, most, n_threads)
        return _joined(bins, np.arange(n_features, dtype=np.int32), [], "", bins.medians, ~bins.missing)
    coded, places = scorer.columns_alone().coded(features)
    sizes = np.diff(np.append(places, n_features))
    is_category = np.isin(places, scorer.source)
    numbers = np.flatnonzero(~is_category)
    bins = binned(np.ascontiguousarray(coded[:, numbers]), rows, most, n_threads)
    medians, complete = np.zeros(n_features, np.float32), np.ones(n_features, np.bool_)
    medians[places[numbers]], complete[places[numbers]] = bins.medians, ~bins.missing
    pieces = [
        (place, size, bin_of, bin_of[category])
        for place, size, category in zip(
            places[is_category],
            sizes[is_category],
            coded[rows][:, is_category].T.astype(np.int64),
            strict=True,
        )
        for bin_of in _bins_of_categories(category, size)
    ]
    return _joined(bins, places[numbers].astype(np.int32), pieces, categories, medians, complete)


def _bins_of_categories(category: np.ndarray, n_categories: int) -> list[np.ndarray]:
    """Return the bin of each category in one column, or in several: of the most frequent ones, and so on.

    In each of several the categories of the others share the first bin.
    """
    if n_categories <= MOST_CATEGORIES + 1:
        return [np.arange(n_categories, dtype=np.uint8)]
    order = np.argsort(-np.bincount(category, minlength=n_categories), kind="stable")
    pieces = []
    for first in range(0, n_categories, MOST_CATEGORIES):
        some = order[first : first + MOST_CATEGORIES]
        bin_of = np.zeros(n_categories, np.uint8)
        bin_of[some] = np.arange(1, len(some) + 1)
        pieces.append(bin_of)
    return pieces


def _joined(
    bins: Bins, place: np.ndarray, pieces: list, categories: str, medians: np.ndarray, complete: np.ndarray
) -> BinnedColumns:
    tiles, n_values, shards = bins.tiles, bins.n_values, None
    if isinstance(tiles, Features):
        tiles, shards = np.zeros((0, 0), np.uint64), tiles
    if pieces:
        tiles = _with_bytes(tiles, len(n_values), [codes for *_, codes in pieces])
        n_values = np.append(n_values, [int(bin_of.max()) + 1 for _, _, bin_of, _ in pieces])
    sizes = n_values + np.append(bins.missing, np.zeros(len(pieces), np.bool_))
    start = np.full(-(-len(sizes) // TILE) * TILE + 1, sizes.sum())
    start[: len(sizes)] = np.cumsum(sizes) - sizes
    arrays = tiles.ravel(), tiles.T.ravel(), start, n_values
    columns: Any = Columns(*arrays)
    if pieces:
        kind = np.zeros(len(n_values), np.uint8)
        kind[len(place) :] = SETS if categories == "sets" else SINGLE
        columns = MixedColumns(*arrays, kind)
    return BinnedColumns(
        bins.rows, columns, shards, np.flatnonzero(sizes > 1), bins.thresholds,
        np.append(place, [piece[0] for piece in pieces]).astype(np.int32),
        np.append(np.zeros(len(place)), [piece[1] for piece in pieces]).astype(np.int32),
        [bin_of for _, _, bin_of, _ in pieces], medians, complete,
    )  # fmt: skip


def _with_bytes(tiles: np.ndarray, n_columns: int, codes: list[np.ndarray]) -> np.ndarray:
    """Return the tiles of some columns, and of more after them."""
    size = -(-(n_columns + len(codes)) // TILE)
    whole = np.concatenate((tiles, np.zeros((size - len(tiles), tiles.shape[1]), np.uint64)))
    for column, of_column in enumerate(codes, n_columns):
        whole[column // TILE] |= of_column.astype(np.uint64) << np.uint64(8 * (column % TILE))
    return whole
