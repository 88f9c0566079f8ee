"""Boosting of trees: derivatives, rounds, the monitor, early stopping."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np

from directrank.contracts import Curvature, Reweighable, Solution, Solver
from directrank.errors import check_choice
from directrank.features import scored
from directrank.features.shards import map_in_order, shard_count
from directrank.features.sharing import once
from directrank.scorers import Trees
from directrank.scorers.set_trees import SetTrees
from directrank.scorers.trees import LEAF, TO_THE_LEFT
from directrank.solvers.trees import growing, shards
from directrank.solvers.trees.binning import MOST_BINS
from directrank.solvers.trees.columns import BinnedColumns, binned_columns
from directrank.solvers.trees.derivatives import Derivatives, exact_sum, whole_numbers
from directrank.solvers.trees.growing import (
    BEGIN,
    BIN,
    CHILD,
    COLUMN,
    END,
    LEFT,
    NODES,
    TO_LEFT,
    WORDS,
    Limits,
    packed,
    pieces,
)

#: Leaves of a tree and intervals of a feature, by default, and where features outnumber documents.
LIMITS, WIDE_LIMITS = (31, 255), (7, 31)
#: Least documents of a leaf; of a category, in a set.
LEAST_DOCUMENTS, LEAST_OF_CATEGORY = 1, 10
#: Depth of a tree without a limit.
ANY_DEPTH = 2**31
#: Fewest shards of features for each thread, and fewest values to add up that are divided among threads.
SHARDS_A_THREAD, VALUES_A_THREAD = 4, 2**17


class TreeBoosting(Solver):
    r"""Gradient-boosted trees under any objective with a gradient and a curvature.

    Each round grows a tree on the gradient g and the curvature h of the documents: a leaf L adds
    :math:`-\nu \sum_L g / (\sum_L h + \lambda)` to the scores of its documents. Weights that depend on the
    ranking are fixed anew before each round.

    Parameters
    ----------
    rounds : int, default=500
        Largest number of trees.
    keep : {"best", "last"}, default="best"
        The trees up to the best round by the monitor, or all trees.
    patience : int, optional
        With ``keep="best"``, stop after so many rounds without an improvement of the monitor.
    learning_rate : float, default=0.1
        ν in (0, 1].
    leaves : int, optional
        Largest number of leaves of a tree: by default 31, or 7 where features outnumber documents.
    depth : int, optional
        Largest number of splits above a leaf.
    bins : int, optional
        Largest number of intervals of a feature between which a split may fall, at most 255: by default 255,
        or 31 where features outnumber documents.
    leaf_share : float, default=0.001
        Least :math:`\sum_L h`, as a share of the sum over all documents at zero scores.
    penalty : float, default=0.001
        λ, as a share of the same sum.
    feature_share : float, default=1.0
        Share of the features, drawn for each tree, on which it may split.
    categories : {"sets", "single"}, default="sets"
        Whether a split on a categorical column divides its values into two sets, or one value from all
        others.
    n_threads : int, default=1
        At most one for every 4 MiB of features. Sums of derivatives are exact, so that no bit depends on it.
        Features may be in a mapped file or in other processes, where histograms are then made.

    Notes
    -----
    A scorer with trees is where the run starts: its scores are those of the training documents before the
    first tree, and its trees come first in the result. The monitor then judges the start, too.

    Both shares follow the scale of the objective: a factor of it, or of all weights, changes no model, a
    steepness changes only the scale of the scores, and a query of weight 2 is two queries; but bins of
    features with more values count documents.

    A value that is missing where none was in training is scored like the training median of its feature.
    Where some were, each split learns to which side they go.

    The certificate is the objective after the last round. The number of rounds is a choice, so a run is
    complete when it ends.
    """

    needs = frozenset({Curvature})
    uses = frozenset({Reweighable})
    trains = Trees
    sums_over_shards = True
    streams = False

    def __init__(
        self, *, rounds=500, keep="best", patience=None, learning_rate=0.1, leaves=None, depth=None,
        bins=None, leaf_share=1e-3, penalty=1e-3, feature_share=1.0, categories="sets", n_threads=1,
    ):  # fmt: skip
        check_choice("keep", keep, ("best", "last"))
        check_choice("categories", categories, ("sets", "single"))
        if bins is not None and bins > MOST_BINS:
            raise ValueError(f"bins={bins}: at most {MOST_BINS}")
        self.rounds, self.patience, self.learning_rate = rounds, patience, learning_rate
        self.leaves, self.bins, self.leaf_share, self.penalty = leaves, bins, leaf_share, penalty
        self.feature_share, self.keep, self.n_threads = feature_share, keep, n_threads
        self.depth, self.categories = depth, categories
        self._bins: BinnedColumns | None = None

    @property
    def chooses_rounds(self) -> bool:
        """Whether the monitor chooses how many trees are kept."""
        return self.keep == "best"

    def of_rounds(self, rounds: int) -> Self:
        """Return the solver that grows so many trees and keeps them all."""
        fixed = copy(self)
        fixed.rounds, fixed.keep = rounds, "last"
        return fixed

    def of_all_rounds(self) -> Self:
        """Return the solver that ends as this one does, and keeps all trees that it has trained."""
        whole = copy(self)
        whole.keep = "all"
        return whole

    def limits(self, features: Any) -> tuple[int, int]:
        """Return the largest numbers of leaves of a tree and of intervals of a feature.

        Of wide data a tree takes as long as leaves times intervals. Larger trees learn such documents by
        heart, and an interval for a few of them is enough.
        """
        leaves, bins = WIDE_LIMITS if features.shape[1] > len(features) else LIMITS
        return self.leaves or leaves, self.bins or bins

    def prepared(self, objective, features, scorer) -> Self:
        """Return the solver with the bins of the documents that can train; see `contracts.Prepared`."""
        _, _, first = Derivatives(objective)(np.zeros(len(features)))
        ready = copy(self)
        ready._bins = self._columns(features, first > 0, scorer)
        return ready

    def _columns(self, features: np.ndarray, live: np.ndarray, scorer: Trees) -> BinnedColumns:
        bins = self.limits(features)[1]
        columns = (scorer.source, scorer.width) if isinstance(scorer, SetTrees) else ()
        inputs = features, live.tobytes(), *columns, bins, self.categories
        return once("bins of trees", inputs, lambda: binned_columns(
            features, live, bins, scorer, self.categories, self.n_threads
        ))  # fmt: skip

    def begin(self, features, live, monitored, total, seed, scorer) -> "_Model | None":
        """Return a model without trees, or None if no feature tells documents apart.

        Parameters
        ----------
        features : ndarray of shape (n_docs, n_features), float32
        live : ndarray of shape (n_docs,), bool
            The documents to train on.
        monitored : ndarray of shape (n, n_features), float32
            Features of the documents that the monitor judges; they may be the same array.
        total : float
            The sum of all curvatures at zero scores.
        seed : int
        scorer : Trees
            It says which features are categories, if some are (`SetTrees`).
        """
        columns = self._bins
        if columns is None or np.count_nonzero(live[columns.rows]) < np.count_nonzero(live):
            columns = self._columns(features, live, scorer)
        if not len(columns.varying):
            return None
        return _Model(self, columns, features, live[columns.rows], monitored, total, seed)

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        derivatives = Derivatives(objective)
        first = derivatives(np.zeros(len(features)))
        base: Any = np.broadcast_to(0.0, len(features))
        before: Any = None
        if scorer.n_trees:
            base, before = (scored(scorer.scores, some) for some in (features, monitor.features))
        # A document from which nothing can be learned would still take part in the choice of thresholds.
        live, value = first[2] > 0, first[0]
        total, seed = exact_sum(first[2]), int(rng.integers(2**31))
        numbers = _rounded(derivatives(base) if base.any() else first, live)
        del first
        grower: Any = self.begin(features, live, monitor.features, total, seed, scorer)
        best, best_value, trace = 0, monitor(before) if scorer.n_trees else -np.inf, []
        values = _values(grower, derivatives, live, base, numbers) if grower else ()
        del numbers
        for value in values:
            scores = grower.monitored()
            reached = monitor(before + scores if scorer.n_trees else scores)
            trace.append({"round": len(trace) + 1, "objective": value, "monitor": reached})
            if reached > best_value:
                best, best_value = len(trace), reached
            if len(trace) == self.rounds or (self.keep != "last" and len(trace) - best == self.patience):
                break
        kept, message = len(trace), f"Trained {len(trace)} trees"
        if self.keep == "best":
            kept, message = best, f"{message}, kept the first {best}"
        trees = Trees.concatenate([])
        if grower and kept:
            trees = grower.trees(kept)
        if scorer.n_trees:
            both, n_features = [scorer, trees], features.shape[1]
            if any(isinstance(each, SetTrees) for each in both):
                trees = SetTrees.joined(both, n_features).without_unused(n_features)
            else:
                trees = Trees.concatenate(both)
            message += f", after {scorer.n_trees} of the start"
        return Solution(trees, "complete", {"objective": float(value)}, trace, message, kept)


def _values(
    grower: "_Model", derivatives: Derivatives, live: np.ndarray, base: np.ndarray, numbers: tuple
) -> Iterator[float]:
    """Add trees to scores, and yield the objective after each, until one changes no score."""
    while grower.grow(*numbers):
        scores = base.copy()
        grower.add_to(scores)
        scores = scores.astype(derivatives.objective.dtype)  # Memory is short here: these are half as large.
        del numbers
        after = derivatives(scores)
        del scores
        value, numbers = after[0], _rounded(after, live)
        del after  # Memory is short while the monitor ranks, and while a tree grows.
        yield value


def _rounded(derivatives: tuple, live: np.ndarray) -> tuple[tuple[np.ndarray, float], ...]:
    """Return whole numbers of gradients and curvatures of the documents that are `live`, and their units."""
    _, *both = derivatives
    return tuple(whole_numbers(each if live.all() else each[live]) for each in both)


class _Model:
    """Trees in training, and the scores of the documents."""

    def __init__(self, solver: TreeBoosting, columns: BinnedColumns, features, live, monitored, total, seed):
        self.solver, self.columns, self.total = solver, columns, total
        self.live, self.places = live, np.flatnonzero(live).astype(np.uint32)
        self.rng = np.random.default_rng(seed)
        self.leaves = solver.limits(features)[0]
        self.of_documents = np.zeros(len(live))
        self.pieces: list[Trees] = []
        #: Of other documents than those that are trained on; None if the monitor judges just these, or none.
        self.monitored_features: Any = monitored
        if not len(monitored) or (monitored is features and len(self.places) == len(features)):
            self.monitored_features = None
        self.of_monitored = np.zeros(len(monitored))
        n_shards = shard_count(*features.shape)
        # Depends on the data alone, as no bit may depend on the number of threads.
        self.is_small = n_shards < 2 * SHARDS_A_THREAD
        self.n_threads = min(solver.n_threads, max(1, n_shards // SHARDS_A_THREAD))
        self.growth = growing.space(columns.columns, len(self.places), self.leaves)

    def _of_all(self, values: np.ndarray) -> np.ndarray:
        """Return values of the training documents among zeros for the others."""
        if len(values) == len(self.live):
            return values
        among = np.zeros(len(self.live), values.dtype)
        among[self.places] = values
        return among

    def add_to(self, scores: np.ndarray) -> None:
        """Add the scores of the trees to those of the training documents, among all."""
        rows = self.columns.rows
        for some in pieces(len(rows)):
            scores[rows[some]] += self.of_documents[some]

    def monitored(self) -> np.ndarray:
        """Return the scores of the documents that the monitor judges."""
        return self.of_documents if self.monitored_features is None else self.of_monitored

    def trees(self, n_trees: int) -> Trees:
        """Return the first trees."""
        if self._has_sets:
            return SetTrees.joined(self.pieces[:n_trees], len(self.columns.medians))
        return Trees.concatenate(self.pieces[:n_trees])

    def grow(self, gradient: tuple[np.ndarray, float], curvature: tuple[np.ndarray, float]) -> bool:
        """Add one tree, for whole numbers and their units, unless it changes no score."""
        growth, columns, solver = self.growth, self.columns.columns, self.solver
        (g, by_g), (h, by_h) = gradient, curvature
        of_live, unit_g, unit_h = packed(g, h)
        numbers, of_gradient, of_curvature = map(self._of_all, (of_live, g, h))
        unit = by_h * unit_h  # of curvature in `numbers`
        limits = Limits(
            self.leaves, solver.depth or ANY_DEPTH, max(1.0, solver.leaf_share * self.total / unit),
            LEAST_DOCUMENTS, solver.penalty * self.total / unit,
            LEAST_OF_CATEGORY * self.total / len(self.places) / unit, float(self.is_small),
        )  # fmt: skip
        chosen = self.columns.varying
        if solver.feature_share < 1:
            size = max(1, round(solver.feature_share * len(chosen)))
            chosen = np.sort(self.rng.choice(chosen, size, replace=False))
        if self.columns.shards is not None:
            shards.grow(
                growth, columns, chosen, self.columns.shards, numbers, self.places, limits, self.n_threads
            )
        else:
            growth.rows[:], growth.ordered[:] = self.places, of_live
            growing.begin(growth, len(self.places), of_live.sum())
            most, blocks = np.inf, []
            if self.n_threads > 1:
                # This thread takes the last block, and begins first: the last ones have one tile more.
                tiles = np.array_split(np.unique(chosen >> 3)[::-1], self.n_threads)[::-1]
                blocks = [chosen[np.isin(chosen >> 3, some)] for some in tiles if len(some)]
                most = float(VALUES_A_THREAD)

            def search(block: np.ndarray) -> growing.Growth:
                of_thread = growth.of_thread()
                growing.search(of_thread, columns, block, limits)
                return of_thread

            while growing.grow(growth, columns, chosen, numbers, limits, most):
                growth.take_best(map_in_order(search, blocks, self.n_threads))
        value = np.zeros(growth.state[NODES])
        changes = growing.add_leaves(
            growth.nodes, growth.rows, of_gradient, of_curvature, by_g, by_h, solver.penalty * self.total,
            solver.learning_rate, value, self.of_documents,
        )  # fmt: skip
        if not changes:
            return False
        tree = self._tree(value, (by_g * unit_g) ** 2 / unit)
        self.pieces.append(tree)
        if self.monitored_features is not None:
            self.of_monitored += scored(tree.scores, self.monitored_features)
        return True

    def _tree(self, value: np.ndarray, unit: float) -> Trees:
        """Return the tree that has grown; gains are multiplied by their unit."""
        growth, columns, n = self.growth, self.columns, len(value)
        nodes = growth.nodes[:n].T
        inner = nodes[CHILD] >= 0
        column = np.where(inner, nodes[COLUMN], 0)
        is_set = inner & (columns.width[column] > 0)
        numeric, threshold = np.flatnonzero(inner & ~is_set), np.zeros(n, np.float32)
        threshold[numeric] = columns.thresholds[column[numeric], nodes[BIN, numeric]]
        threshold = np.minimum(threshold, np.finfo(np.float32).max)
        left, right = (np.where(inner, nodes[CHILD] + side, LEAF) for side in range(2))
        feature = np.where(inner, columns.place[column], 0)
        sets: dict[str, Any] = {}
        set_nodes = np.flatnonzero(is_set)
        if len(set_nodes):
            goes = [self._categories_to_the_left(node) for node in set_nodes.tolist()]
            if self.solver.categories == "single":
                feature[set_nodes] += [int(of_node.argmax()) for of_node in goes]
                left[set_nodes], right[set_nodes] = right[set_nodes], left[set_nodes]
                threshold[set_nodes] = 0.5
            else:
                feature[set_nodes] = len(columns.medians) + np.arange(len(set_nodes))
                threshold[set_nodes] = 0.5
                sets = _sets(goes, columns.place[column[set_nodes]], columns.width[column[set_nodes]])
        elif self._has_sets:
            sets = _sets([], np.zeros(0, np.int32), np.zeros(0, np.int32))
        arrays = (
            np.zeros(1), feature, threshold, np.where(nodes[TO_LEFT] == LEFT, TO_THE_LEFT, 0), left,
            right, value, np.where(inner, growth.gain[:n] * unit, 0.0),
        )  # fmt: skip
        kinds = Trees.types.values()
        made = dict(zip(Trees.types, map(np.asarray, arrays, kinds), strict=True))
        cover = (nodes[END] - nodes[BEGIN]).astype(np.float32)
        tree = (SetTrees if self._has_sets else Trees)(**made, cover=cover, **sets)
        return tree.with_missing_like(columns.medians, columns.complete)

    @property
    def _has_sets(self) -> bool:
        return len(self.columns.bin_of) > 0 and self.solver.categories == "sets"

    def _categories_to_the_left(self, node: int) -> np.ndarray:
        """Return which categories go to the left at a node, bool (n_categories,)."""
        column = self.growth.nodes[node, COLUMN]
        bin_of = self.columns.bin_of[column - np.count_nonzero(self.columns.width == 0)]
        bits = np.unpackbits(self.growth.nodes[node, WORDS:].view(np.uint8), bitorder="little")
        return bits[bin_of].astype(np.bool_)


def _sets(goes: list[np.ndarray], source: np.ndarray, width: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays of `SetTrees` for some sets of categories."""
    words = [
        np.packbits(np.append(of_set, np.zeros(-len(of_set) % 32, np.bool_)), bitorder="little").view("<u4")
        for of_set in goes
    ]
    sizes = [len(each) for each in words]
    return {
        "source": source.astype(np.int32),
        "width": width.astype(np.int32),
        "start": (np.cumsum([0, *sizes])[:-1]).astype(np.int64),
        "words": np.concatenate([np.zeros(0, "<u4"), *words]),
    }
