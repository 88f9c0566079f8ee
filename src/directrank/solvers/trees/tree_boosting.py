"""Boosting of trees that are grown here, on bins that several fits share."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from directrank.errors import check_choice
from directrank.features.shards import map_in_order, shard_count
from directrank.features.sharing import once
from directrank.scorers import Trees
from directrank.scorers.set_trees import SetTrees
from directrank.scorers.trees import LARGEST, LEAF, NODES, TO_THE_LEFT
from directrank.solvers.trees import growing
from directrank.solvers.trees.binning import MOST_BINS, TILE, Bins, binned
from directrank.solvers.trees.boosting import Derivatives, GrownTrees, whole_numbers
from directrank.solvers.trees.growing import LEFT, SETS, SINGLE, Columns, Limits, packed

#: Least documents of a leaf; of a category, in a set.
LEAST_DOCUMENTS, LEAST_OF_CATEGORY = 1, 10
#: Depth of a tree without a limit.
ANY_DEPTH = 2**31
#: Fewest shards of features for each thread, and fewest values to add up that are divided among threads.
SHARDS_A_THREAD, VALUES_A_THREAD = 4, 2**18
#: Categories of a column of bins; one more stands for all others.
MOST_CATEGORIES = 254


class TreeBoosting(GrownTrees):
    """Gradient-boosted trees, grown here; see `directrank.solvers.trees.boosting.GrownTrees`.

    Sums of derivatives are exact, so that no bit depends on the number of threads.

    Parameters
    ----------
    depth : int, optional
        Largest number of splits above a leaf.
    categories : {"sets", "single"}, default="sets"
        Whether a split on a categorical column divides its values into two sets, or one value from all
        others.
    **parameters
        As of `GrownTrees`; `bins` is at most 255.
    """

    def __init__(self, *, depth=None, categories="sets", **parameters):
        super().__init__(**parameters)
        check_choice("categories", categories, ("sets", "single"))
        if self.bins is not None and self.bins > MOST_BINS:
            raise ValueError(f"bins={self.bins}: trees that are grown here have at most {MOST_BINS}")
        self.depth, self.categories = depth, categories
        self._bins: _Columns | None = None

    def prepared(self, objective, features, scorer) -> Self:
        """Return the solver with the bins of the documents that can train; see `contracts.Prepared`."""
        _, _, first = Derivatives(objective)(np.zeros(len(features)))
        ready = copy(self)
        ready._bins = self._columns(features, first > 0, scorer)
        return ready

    def _columns(self, features: np.ndarray, live: np.ndarray, scorer: Trees) -> "_Columns":
        bins = self.limits(features)[1]
        columns = (scorer.source, scorer.width) if isinstance(scorer, SetTrees) else ()
        inputs = features, live.tobytes(), *columns, bins, self.categories
        return once("bins of trees", inputs, lambda: _columns(
            features, np.flatnonzero(live), bins, scorer, self.categories, self.n_threads
        ))  # fmt: skip

    def begin(self, features, live, monitored, total, seed, scorer) -> "_Model | None":
        """Return a model without trees."""
        columns = self._bins
        if columns is None or np.count_nonzero(live[columns.rows]) < np.count_nonzero(live):
            columns = self._columns(features, live, scorer)
        if not len(columns.varying):
            return None
        return _Model(self, columns, features, live[columns.rows], monitored, total, seed)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Features as columns of bins, and what a split on each of them means in the features.

    Attributes
    ----------
    rows : ndarray of shape (n_docs,)
        The documents.
    columns : Columns
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
    columns: Columns
    varying: np.ndarray
    thresholds: np.ndarray
    place: np.ndarray
    width: np.ndarray
    bin_of: list[np.ndarray]
    medians: np.ndarray
    complete: np.ndarray


def _columns(
    features: np.ndarray, rows: np.ndarray, most: int, scorer: Trees, categories: str, n_threads: int
) -> _Columns:
    """Return the bins of some rows of features, of which a scorer says which are categories."""
    n_features = features.shape[1]
    if not isinstance(scorer, SetTrees):
        bins, place = binned(features, rows, most, n_threads), np.arange(n_features, dtype=np.int32)
        return _joined(bins, place, [], "", bins.medians, ~bins.missing)
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
    ]  # fmt: skip
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
) -> _Columns:
    tiles, n_values = bins.tiles, bins.n_values
    if pieces:
        tiles = _with_bytes(tiles, len(n_values), [codes for *_, codes in pieces])
        n_values = np.append(n_values, [int(bin_of.max()) + 1 for _, _, bin_of, _ in pieces])
    n_more = len(pieces)
    missing = np.append(bins.missing, np.zeros(n_more, np.bool_))
    sizes = n_values + missing
    kind = np.zeros(len(n_values), np.uint8)
    kind[len(place) :] = SETS if categories == "sets" else SINGLE
    start = np.cumsum(sizes) - sizes
    return _Columns(
        bins.rows, Columns(tiles, np.ascontiguousarray(tiles.T), start, n_values, missing, kind),
        np.flatnonzero(sizes > 1),
        bins.thresholds, np.append(place, [piece[0] for piece in pieces]).astype(np.int32),
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


class _Model:
    """Trees in training, and the scores of the documents."""

    def __init__(self, solver: TreeBoosting, columns: _Columns, features, live, monitored, total, seed):
        self.solver, self.columns, self.total = solver, columns, total
        self.places = np.flatnonzero(live).astype(np.uint32)
        self.rng = np.random.default_rng(seed)
        self.leaves = solver.limits(features)[0]
        self.growth = growing.space(columns.columns, len(self.places), self.leaves)
        self.of_documents = np.zeros(len(live))
        self.pieces: list[Trees] = []
        #: Of other documents than those that are trained on; None if the monitor judges just these.
        self.monitored_features: Any = monitored
        if monitored is features and len(self.places) == len(features):
            self.monitored_features = None
        self.of_monitored = np.zeros(len(monitored))
        shards = shard_count(*features.shape)
        self.n_threads = min(solver.n_threads, max(1, shards // SHARDS_A_THREAD))

    def scores(self) -> np.ndarray:
        """Return the scores of the training documents."""
        return self.of_documents[self.places]

    def monitored(self) -> np.ndarray:
        """Return the scores of the documents that the monitor judges."""
        return self.of_documents if self.monitored_features is None else self.of_monitored

    def trees(self, n_trees: int) -> Trees:
        """Return the first trees."""
        if self._has_sets:
            return SetTrees.joined(self.pieces[:n_trees], len(self.columns.medians))
        return Trees.concatenate(self.pieces[:n_trees])

    def grow(self, gradient: np.ndarray, curvature: np.ndarray) -> None:
        """Add one tree."""
        growth, columns, solver = self.growth, self.columns.columns, self.solver
        (g, by_g), (h, by_h) = map(whole_numbers, (gradient, curvature))
        numbers, of_gradient, of_curvature = (np.zeros(len(self.of_documents), np.int64) for _ in range(3))
        numbers[self.places], unit_g, unit_h = packed(g, h)
        of_gradient[self.places], of_curvature[self.places] = g, h
        unit = by_h * unit_h  # of curvature in `numbers`
        limits = Limits(
            self.leaves, solver.depth or ANY_DEPTH, solver.leaf_share * self.total / unit, LEAST_DOCUMENTS,
            solver.penalty * self.total / unit, LEAST_OF_CATEGORY * self.total / len(self.places) / unit,
        )  # fmt: skip
        chosen = self.columns.varying
        if solver.feature_share < 1:
            size = max(1, round(solver.feature_share * len(chosen)))
            chosen = np.sort(self.rng.choice(chosen, size, replace=False))
        growing.begin(growth, self.places, numbers)
        most = np.inf if self.n_threads == 1 else float(VALUES_A_THREAD)
        while growing.grow(growth, columns, chosen, numbers, limits, most):
            blocks = [block for block in np.array_split(chosen, self.n_threads) if len(block)]
            map_in_order(lambda some: growing.search(growth, columns, some, limits), blocks, self.n_threads)
        value = np.zeros(growth.state[growing.NODES])
        growing.add_leaves(
            growth, of_gradient, of_curvature, by_g, by_h, solver.penalty * self.total, solver.learning_rate,
            value, self.of_documents,
        )  # fmt: skip
        tree = self._tree(value, (by_g * unit_g) ** 2 / unit)
        self.pieces.append(tree)
        if self.monitored_features is not None:
            self.of_monitored += tree.scores(self.monitored_features)

    def _tree(self, value: np.ndarray, unit: float) -> Trees:
        """Return the tree that has grown; gains are multiplied by their unit."""
        growth, columns, n = self.growth, self.columns, len(value)
        inner = growth.left[:n] >= 0
        column = np.where(inner, growth.column[:n], 0)
        is_set = inner & (columns.columns.kind[column] != 0)
        numeric, threshold = np.flatnonzero(inner & ~is_set), np.zeros(n, np.float32)
        threshold[numeric] = columns.thresholds[column[numeric], growth.bin[numeric]]
        threshold = np.minimum(threshold, LARGEST)
        left, right = (np.where(inner, side[:n], LEAF) for side in (growth.left, growth.right))
        feature = np.where(inner, columns.place[column], 0)
        sets: dict[str, Any] = {}
        nodes = np.flatnonzero(is_set)
        if len(nodes):
            goes = [self._categories_to_the_left(node) for node in nodes.tolist()]
            if self.solver.categories == "single":
                feature[nodes] += [int(of_node.argmax()) for of_node in goes]
                left[nodes], right[nodes] = right[nodes], left[nodes]
                threshold[nodes] = 0.5
            else:
                feature[nodes] = len(columns.medians) + np.arange(len(nodes))
                threshold[nodes] = 0.5
                sets = _sets(goes, columns.place[column[nodes]], columns.width[column[nodes]])
        elif self._has_sets:
            sets = _sets([], np.zeros(0, np.int32), np.zeros(0, np.int32))
        arrays = (
            feature, threshold, np.where(growth.to_left[:n] == LEFT, TO_THE_LEFT, 0), left, right,
            value, np.where(inner, growth.gain[:n] * unit, 0.0),
        )  # fmt: skip
        made = dict(zip(NODES, map(np.asarray, arrays, NODES.values()), strict=True))
        cover = (growth.end[:n] - growth.begin[:n]).astype(np.float32)
        tree = (SetTrees if self._has_sets else Trees)(np.zeros(1, np.int64), **made, cover=cover, **sets)
        return tree.with_missing_like(columns.medians, columns.complete)

    @property
    def _has_sets(self) -> bool:
        return len(self.columns.bin_of) > 0 and self.solver.categories == "sets"

    def _categories_to_the_left(self, node: int) -> np.ndarray:
        """Return which categories go to the left at a node, bool (n_categories,)."""
        column = self.growth.column[node]
        bin_of = self.columns.bin_of[column - np.count_nonzero(self.columns.columns.kind == 0)]
        bits = np.unpackbits(self.growth.words[node].view(np.uint8), bitorder="little")
        return bits[bin_of].astype(np.bool_)


def _sets(goes: list[np.ndarray], source: np.ndarray, width: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays of `SetTrees` for some sets of categories."""
    words = [
        np.packbits(np.append(of_set, np.zeros(-len(of_set) % 32, np.bool_)), bitorder="little").view("<u4")
        for of_set in goes
    ]
    sizes = [len(each) for each in words]
    return {
        "source": source.astype(np.int32), "width": width.astype(np.int32),
        "start": (np.cumsum([0, *sizes])[:-1]).astype(np.int64),
        "words": np.concatenate([np.zeros(0, "<u4"), *words]),
    }  # fmt: skip
