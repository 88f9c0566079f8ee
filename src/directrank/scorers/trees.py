"""Scorers made of trees in arrays: those that libraries grow, stumps and single features are of one form.

A row descends from the root of each tree, and gets the value of the leaf where it arrives.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from directrank.errors import DataError
from directrank.kernels.compile import inline_kernel, kernel

LEAF = -1
# Rows of a block stay in the processor's cache while all trees pass over them.
BLOCK_ROWS = 1024
# So many rows descend a tree together: while one waits for a node, the others go on.
TOGETHER = 32
#: Leaves of a tree that a word has a bit for, and rows that are compared with a node at once.
LEAVES, COMPARED_ROWS = 64, 128
#: The number of a word's only bit, by the upper six bits of its product with this (de Bruijn's sequence).
SEQUENCE, UPPER = 0x03F79D71B4CB0A89, np.uint64(58)
BIT = np.argsort([((1 << bit) * SEQUENCE % 2**64) >> 58 for bit in range(LEAVES)])
#: What `Trees.missing` says of a node: missing values go to the left; zeros are missing values.
TO_THE_LEFT, ZERO_TOO = 1, 2
#: Values of at most this magnitude are zeros (LightGBM's constant).
ZERO = np.float32(1e-35)
#: The arrays of nodes, with their types.
NODES = {
    "feature": "<i4", "threshold": "<f4", "missing": "<i4", "left": "<i4", "right": "<i4", "value": "<f8",
    "gain": "<f8",
}  # fmt: skip
#: Arrays that not all trees have: training documents of nodes, which some libraries count; lines in leaves.
COVER, LINES = {"cover": "<f4"}, {"slope": "<f8", "fill": "<f4"}
NO_LINES = np.zeros(0), np.zeros(0, np.float32)
#: Features that the trees compare in float64 have thresholds of this type.
DOUBLE = "<f8"
LARGEST, TINIEST, BITS = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal, 24
#: Where there are fewer float32 numbers than this to a threshold, float32 is too coarse for the feature.
NUMBERS_PER_THRESHOLD = 1000

#: An array of a trained scorer; None before training, when nothing reads it.
Trained = Any


@dataclass(eq=False, repr=False)
class Trees:
    """f(x) = Σ_t the value of the leaf of tree t that x reaches.

    Parameters
    ----------
    root : ndarray of shape (n_trees,), int64, optional
        The first node of each tree; children are counted from it. None before training.
    feature : ndarray of shape (n_nodes,), int32
    threshold : ndarray of shape (n_nodes,), float32 or float64
        A row goes to the left where ``x[feature] <= threshold``. Float32 as the features are, so that
        comparisons give the same result wherever the model runs; float64 in models of LightGBM, which may
        have been trained on float64 features.
    missing : ndarray of shape (n_nodes,), int32
        Where NaN goes: to the left if the bit `TO_THE_LEFT` is set, or else to the right. With the bit
        `ZERO_TOO` zeros go there, too.
    left, right : ndarray of shape (n_nodes,), int32
        Children, each after its parent; −1 at a leaf.
    value : ndarray of shape (n_nodes,), float64
        What a leaf adds to the score.
    gain : ndarray of shape (n_nodes,), float64
        How much the split lowered the objective of training, by the library's approximation; 0 at a leaf.
    cover : ndarray of shape (n_nodes,), float32, optional
        Training documents that reached each node; of XGBoost, the sum of their second derivatives.
    slope : ndarray of shape (n_nodes,), float64, optional
        Of lines in leaves: a leaf adds ``value + slope * x[feature]``.
    fill : ndarray of shape (n_nodes,), float32, optional
        What stands for a missing value in these lines.
    """

    kind: ClassVar = "trees"
    #: The types of the arrays, and of those that not all trees have.
    types: ClassVar[dict[str, str]] = {"root": "<i8", **NODES}
    optional: ClassVar[dict[str, str]] = {**COVER, **LINES}

    root: Trained = None
    feature: Trained = None
    threshold: Trained = None
    missing: Trained = None
    left: Trained = None
    right: Trained = None
    value: Trained = None
    gain: Trained = None
    cover: Trained = None
    slope: Trained = None
    fill: Trained = None

    def __repr__(self) -> str:
        return f"Trees({f'{self.n_trees} trees' if self.n_trees else 'not trained'})"

    @staticmethod
    def fits(tensors: dict[str, np.ndarray], n_features: int) -> bool:
        """Return whether arrays are those of these scorers over so many features."""
        types = {**Trees.types}
        for optional in (COVER, LINES):
            types |= optional if optional.keys() & tensors.keys() else {}
        if tensors.keys() != types.keys():
            return False
        if tensors["threshold"].dtype.str == DOUBLE:
            types["threshold"] = DOUBLE
        if any(tensors[name].dtype.str != kind or tensors[name].ndim != 1 for name, kind in types.items()):
            return False
        root, feature, left, right = (tensors[name] for name in ("root", "feature", "left", "right"))
        n_nodes, missing = len(feature), tensors["missing"]
        if any(len(tensors[name]) != n_nodes for name in types if name != "root"):
            return False
        if not len(root) or root[0] != 0 or root[-1] >= n_nodes or (root[1:] <= root[:-1]).any():
            return not len(root) and n_nodes == 0
        # A node is a leaf, or has two children further on in the same tree, each of one node alone.
        sizes = np.diff(np.append(root, n_nodes))
        number, size = np.arange(n_nodes) - np.repeat(root, sizes), np.repeat(sizes, sizes)
        inner = (left > number) & (left < size) & (right > number) & (right < size)
        ends = inner | ((left == LEAF) & (right == LEAF))
        reads = (feature >= 0) & (feature < n_features)
        goes = (missing >= 0) & (missing <= TO_THE_LEFT + ZERO_TOO)
        start = np.repeat(root, sizes)
        children = np.concatenate(((start + left)[inner], (start + right)[inner]))
        alone = len(np.unique(children)) == len(children)
        return alone and bool((ends & reads & goes & (tensors.get("cover", missing) >= 0)).all())

    @classmethod
    def concatenate(cls, pieces: Sequence["Trees"]) -> "Trees":
        """Return the trees of several scorers as one."""
        counted = pieces and all(piece.cover is not None for piece in pieces)
        with_lines = any(piece.slope is not None for piece in pieces)
        kinds = NODES | (COVER if counted else {}) | (LINES if with_lines else {})
        starts = np.cumsum([0, *(len(piece.left) for piece in pieces)])
        roots = (piece.root + start for piece, start in zip(pieces, starts, strict=False))

        def arrays(name: str, kind: str) -> Iterator[np.ndarray]:
            yield np.zeros(0, kind)
            for piece in pieces:
                array = getattr(piece, name)
                yield np.zeros(len(piece.left), kind) if array is None else array

        nodes = {name: np.concatenate(list(arrays(name, kind))) for name, kind in kinds.items()}
        return cls(np.concatenate([np.zeros(0, np.int64), *roots]), **nodes)

    def times(self, factor: float | np.ndarray) -> "Trees":
        """Return the trees with what their leaves add multiplied, by one number or by one a node."""
        slope = None if self.slope is None else factor * self.slope
        return replace(self, value=factor * self.value, slope=slope)

    @classmethod
    def constant(cls, value: float) -> "Trees":
        """Return a tree of one leaf."""
        nodes = (0, 0.0, TO_THE_LEFT, LEAF, LEAF, value, 0.0, 1.0)
        kinds = (*NODES.values(), *COVER.values())
        return cls(np.zeros(1, np.int64), *map(np.array, [[value] for value in nodes], kinds))

    def each(self) -> Iterator["Trees"]:
        """Yield the trees one by one."""
        arrays = {name: getattr(self, name) for name in (*NODES, *COVER, *LINES)}
        for start, end in pairwise(np.append(self.root, len(self.left)).tolist()):
            nodes = {name: array[start:end] for name, array in arrays.items() if array is not None}
            yield Trees(np.zeros(1, np.int64), **nodes)

    def first(self, n_trees: int) -> "Trees":
        """Return the first trees."""
        end = int(np.append(self.root, len(self.left))[n_trees])
        arrays = {name: getattr(self, name) for name in (*NODES, *COVER, *LINES)}
        nodes = {name: array[:end] for name, array in arrays.items() if array is not None}
        return Trees(self.root[:n_trees], **nodes)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return 0 if self.root is None else len(self.root)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,); a row's terms are added tree by tree.

        Raises
        ------
        DataError
            If features are float32, and the thresholds of one need float64.
        """
        trees = self.in_float32 if features.dtype == np.float32 else self
        if len(trees.left) == 3 and trees.left[0] != LEAF and trees.slope is None:
            return trees._of_stump(features)
        out = np.zeros(len(features))
        if trees.slope is not None or trees._cuts is None:
            trees.add_to(out, features, np.ones(trees.n_trees))
        else:
            with np.errstate(over="ignore"):  # Without compilation NumPy would warn of products of words.
                columns = np.empty((len(trees._cuts[0]), COMPARED_ROWS), features.dtype)
                kept = np.empty(COMPARED_ROWS, np.uint64)
                _add_cut_trees(features, trees.root, out, columns, kept, *trees._cuts)
        return out

    def _of_stump(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of one split, as boosting adds them: by arrays, no preparation takes longer."""
        x, missing = features[:, self.feature[0]], self.missing[0]
        goes = x <= self.threshold[0]
        gaps = np.isnan(x) | (np.abs(x) <= ZERO if missing & ZERO_TOO else False)
        goes[gaps] = missing & TO_THE_LEFT > 0
        return 0.0 + np.where(goes, self.value[self.left[0]], self.value[self.right[0]])

    def add_to(
        self, out: np.ndarray, features: np.ndarray, weights: np.ndarray, which: slice = slice(None)
    ) -> None:
        """Add the scores of some trees to those of documents, each multiplied by the weight of its tree."""
        slope, fill = NO_LINES if self.slope is None else (self.slope, self.fill)
        _add_trees(
            features, self.root[which], weights[which], self.feature, self.threshold, self.missing,
            self.left, self.right, self.value, slope, fill, out,
        )  # fmt: skip

    @cached_property
    def _cuts(self) -> Any:
        """The arguments of `_add_cut_trees`; None if a tree has more leaves than a word has bits."""
        n = len(self.left)
        keep, values, room = np.full(n, ~np.uint64(0)), np.zeros(n), np.full((2, n), LEAF, np.int64)
        if _number_leaves(self.root, self.left, self.right, room, self.value, keep, values) > LEAVES:
            return None
        inner = np.flatnonzero(self.left != LEAF)
        used, column = np.unique(self.feature[inner], return_inverse=True)
        last = np.searchsorted(inner, np.append(self.root[1:], len(self.left)))
        return used, last, column, self.threshold[inner], self.missing[inner], keep[inner], values

    @property
    def feature_dtype(self) -> type:
        """The type of the features that the trees compare."""
        return np.float64 if self.threshold.dtype == DOUBLE else np.float32

    @cached_property
    def in_float32(self) -> "Trees":
        """Trees with float32 thresholds, whose scores of float32 features are the same.

        Raises
        ------
        DataError
            If float32 features cannot be those of training.
        """
        if self.feature_dtype is np.float32:
            return self
        inner = self.left != LEAF
        for feature in np.unique(self.feature[inner]):
            if needs_float64(self.threshold[inner & (self.feature == feature)]):
                raise DataError(
                    f"feature {feature + 1}: the model was trained on float64 numbers that float32 cannot "
                    "tell apart, and files and QueryGroups are float32; call predict with a float64 array or "
                    "data frame, or subtract the feature's smallest value and train again"
                )
        return replace(self, threshold=at_most(self.threshold, or_equal=True))

    def with_missing_like(self, values: np.ndarray, of: np.ndarray) -> "Trees":
        """Return trees that send missing values of some features where given values go.

        Parameters
        ----------
        values : ndarray of shape (n_features,), float32
        of : ndarray of shape (n_features,), bool
            The features whose missing values follow `values`; those of others go where they went.
        """
        as_value = np.where(values[self.feature] <= self.threshold, TO_THE_LEFT, 0)
        missing = np.where(of[self.feature], as_value, self.missing).astype(np.int32)
        return replace(self, missing=missing)

    def feature_importances(self, n_features: int) -> np.ndarray:
        """Return the share of each feature in the gain of all splits, float64 (n_features,)."""
        inner = self.left != LEAF
        total = np.bincount(self.feature[inner], self.gain[inner], n_features)
        return total / total.sum() if total.any() else total


def tree_of(feature, threshold, left, right, value, *, to_left=True, slope=None, fill=0.0) -> Trees:
    """Return a tree from sequences over its nodes, in the types of `Trees`; the first is the root.

    Parameters
    ----------
    feature, threshold, left, right, value : array-like of shape (n_nodes,)
    to_left : bool or array-like of shape (n_nodes,), default=True
        Whether missing values go to the left.
    slope, fill : array-like of shape (n_nodes,), optional
        Lines in the leaves, and what stands for a missing value there.
    """
    missing = np.where(np.broadcast_to(to_left, len(feature)), TO_THE_LEFT, 0)
    nodes = (feature, threshold, missing, left, right, value, np.zeros(len(feature)))
    lines = {} if slope is None else dict(zip(LINES, np.broadcast_arrays(slope, fill), strict=True))
    return Trees(
        np.zeros(1, np.int64),
        *map(np.asarray, nodes, NODES.values()),
        **{name: array.astype(LINES[name]) for name, array in lines.items()},
    )


def stump(feature: int, threshold: float, *, above: bool = True, fill: float = -np.inf) -> Trees:
    """Return the weak ranker [[x[feature] > threshold]], or [[x[feature] ≤ threshold]].

    `fill` stands for a missing value: −∞ goes to the left, ∞ to the right.
    """
    values = (0.0, 1.0) if above else (1.0, 0.0)
    leaves = [LEAF, LEAF]
    to_left = not np.float32(fill) > np.float32(threshold)
    return tree_of(
        [feature, 0, 0], [threshold, 0, 0], [1, *leaves], [2, *leaves], [0.0, *values], to_left=to_left
    )


def single_feature(feature: int, *, slope: float = 1.0, offset: float = 0.0, fill: float = 0.0) -> Trees:
    """Return the weak ranker offset + slope · x[feature], a tree of one leaf."""
    line = [slope] if slope else None
    return tree_of([feature], [0.0], [LEAF], [LEAF], [offset], slope=line, fill=fill)


class Additive:
    """f(x) = Σ_t coefficient_t · h_t(x) over weak rankers.

    Parameters
    ----------
    coefficients : ndarray of shape (n_rounds,), float64, optional
        None before training.
    trees : Trees, optional
        The weak rankers, a tree each.
    others : dict of int to Scorer, default={}
        Weak rankers that are not trees, by their round. A scorer with such weak rankers can train and
        predict, but cannot be saved.
    """

    kind = "additive"

    def __init__(
        self, coefficients: Trained = None, trees: Trained = None, others: dict[int, Any] | None = None
    ):
        self.coefficients, self.trees, self.others = coefficients, trees, others or {}

    def __repr__(self) -> str:
        return f"Additive({f'{self.n_rounds} weak rankers' if self.n_rounds else 'not trained'})"

    @classmethod
    def of(cls, coefficients: Sequence[float] | np.ndarray, weak_rankers: Sequence[object]) -> "Additive":
        """Return the weighted sum of some weak rankers, trees or other scorers."""
        none = single_feature(0, slope=0.0)
        others = {t: weak for t, weak in enumerate(weak_rankers) if not isinstance(weak, Trees)}
        trees = Trees.concatenate([weak if isinstance(weak, Trees) else none for weak in weak_rankers])
        return cls(np.asarray(coefficients, np.float64), trees, others)

    @classmethod
    def concatenate(cls, pieces: Sequence["Additive"]) -> "Additive":
        """Return the weak rankers of several scorers as one."""
        return cls.of(
            np.concatenate([piece.coefficients for piece in pieces]),
            [weak for piece in pieces for weak in piece.weak_rankers()],
        )

    def first(self, n_rounds: int) -> "Additive":
        """Return the first weak rankers."""
        return Additive.of(self.coefficients[:n_rounds], list(self.weak_rankers())[:n_rounds])

    def times(self, factor: float) -> "Additive":
        """Return the weak rankers with their coefficients multiplied."""
        return Additive(factor * self.coefficients, self.trees, self.others)

    @property
    def n_rounds(self) -> int:
        """Number of weak rankers."""
        return 0 if self.coefficients is None else len(self.coefficients)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,); a row's terms are added in round order."""
        if not self.others and self.trees.slope is None:
            return self.as_trees.scores(features)
        out = np.zeros(len(features))
        if not self.others:
            self.trees.add_to(out, features, self.coefficients)
        else:
            for stage in self.staged_scores(features):
                out = stage
        return out

    @cached_property
    def as_trees(self) -> Trees:
        """The trees, with the coefficients multiplied into their leaves; `others` are left out."""
        sizes = np.diff(np.append(self.trees.root, len(self.trees.left)))
        return self.trees.times(np.repeat(np.asarray(self.coefficients), sizes))

    def staged_scores(self, features: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the scores after each round, each in an array of its own."""
        out = np.zeros(len(features))
        # Without lines a term is rounded before it is added, as in `scores`.
        trees, weights = self.as_trees, np.ones(self.n_rounds)
        if trees.slope is not None:
            trees, weights = self.trees, self.coefficients
        for t in range(self.n_rounds):
            if t in self.others:
                out += self.coefficients[t] * self.others[t].scores(features)
            else:
                trees.add_to(out, features, weights, slice(t, t + 1))
            yield out.copy()

    def weak_rankers(self) -> Iterator[Any]:
        """Yield the weak rankers: trees, or other scorers."""
        if self.trees is not None:
            for t, tree in enumerate(self.trees.each()):
                yield self.others.get(t, tree)

    def feature_importances(self, n_features: int) -> np.ndarray:
        """Return the share of Σ |coefficient| that falls to each feature, float64 (n_features,).

        A tree's share is divided equally among the nodes that read a feature. Weak rankers that are not trees
        are ignored.
        """
        total = np.zeros(n_features)
        for weak, coefficient in zip(self.weak_rankers(), self.coefficients, strict=True):
            if isinstance(weak, Trees):
                reads = weak.left != LEAF if weak.slope is None else (weak.left != LEAF) | (weak.slope != 0)
                inner = weak.feature[reads]
                np.add.at(total, inner, abs(coefficient) / max(1, len(inner)))
        return total / total.sum() if total.any() else total


def at_most(threshold: np.ndarray, *, or_equal: bool) -> np.ndarray:
    """Return float32 thresholds t with x ≤ t for the float32 values x that are at most, or below, given ones.

    Finite ones stand for the infinite, so that they can be saved: no float32 lies between.
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
    above = rounded > threshold if or_equal else rounded >= threshold
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return np.clip(rounded, -LARGEST, LARGEST)


def needs_float64(threshold: np.ndarray) -> bool:
    """Return whether one feature's thresholds show that it was trained on numbers too fine for float32.

    LightGBM's threshold is the float64 after the middle of two values of training. Between two powers of two
    float32 numbers have equal distances. So if the values are float32, all middles there but the one nearest
    to zero are multiples of half that distance.
    """
    middles = np.unique(np.nextafter(threshold, -np.inf))
    exponent = np.frexp(middles)[1]
    for power, sign in np.unique(np.stack((exponent, np.sign(middles)), 1), axis=0):
        sizes = np.sort(np.abs(middles[(exponent == power) & (np.sign(middles) == sign)]))
        distance = max(2.0 ** (power - BITS), TINIEST)
        numbers = (sizes[-1] - sizes[0]) / distance
        fine = np.fmod(sizes[1:], distance / 2).any()
        if fine and sizes[-1] <= LARGEST and numbers < NUMBERS_PER_THRESHOLD * len(sizes):
            return True
    return False


@kernel
def _add_trees(features, root, weights, feature, threshold, missing, left, right, value, slope, fill, out):
    n_docs, nodes = len(out), np.empty(TOGETHER, np.int64)
    for first in range(0, n_docs, BLOCK_ROWS):
        last = min(first + BLOCK_ROWS, n_docs)
        for t in range(len(root)):
            start, weight = root[t], weights[t]
            for row in range(first, last, TOGETHER):
                n = min(TOGETHER, last - row)
                nodes[:n] = start
                moved = 1
                while moved > 0:
                    # No branches, which nothing could foretell: a row that has arrived stays.
                    moved = 0
                    for i in range(n):
                        node = nodes[i]
                        x = features[row + i, feature[node]]
                        child = left[node] if goes_left(x, threshold[node], missing[node]) else right[node]
                        nodes[i] = start + child if child >= 0 else node
                        moved += child >= 0
                for i in range(n):
                    node = nodes[i]
                    added = value[node]
                    if len(slope) > 0 and slope[node] != 0.0:
                        x = features[row + i, feature[node]]
                        added += slope[node] * (fill[node] if np.isnan(x) else x)
                    out[row + i] += weight * added


@kernel
def _number_leaves(root, left, right, room, value, keep, values):
    """Write the values of each tree's leaves from the left, and the leaves that a step to the right keeps.

    Returns the largest number of leaves of a tree. ``keep`` has a bit for each leaf but those to the left;
    ``room`` is scratch, at first −1.
    """
    first, n_leaves, most = room[0], room[1], 0
    for t in range(len(root)):
        start, stop = root[t], root[t + 1] if t + 1 < len(root) else len(left)
        for node in range(stop - 1, start - 1, -1):
            inner = left[node] >= 0
            n_leaves[node] = n_leaves[start + left[node]] + n_leaves[start + right[node]] if inner else 1
        first[start] = 0
        for node in range(start, stop):
            if first[node] < 0:  # XGBoost leaves nodes that it has pruned in the file.
                continue
            if left[node] < 0:
                values[start + first[node]] = value[node]
                continue
            n_left = n_leaves[start + left[node]]
            first[start + left[node]] = first[node]
            first[start + right[node]] = first[node] + n_left
            keep[node] = ~(((np.uint64(1) << np.uint64(n_left)) - np.uint64(1)) << np.uint64(first[node]))
        most = n_leaves[start] if n_leaves[start] > most else most
    return most


@kernel
def _add_cut_trees(
    features, root, out, columns, kept, used, last, feature, threshold, missing, keep, values
):  # fmt: skip
    # Lucchese et al., "QuickScorer", SIGIR 2015: a row is compared with all nodes of a tree, in any order.
    # Where it goes to the right, the leaves on the left are cut off; it arrives at the first that is kept.
    for first in range(0, len(out), COMPARED_ROWS):
        n, node = COMPARED_ROWS if first + COMPARED_ROWS < len(out) else len(out) - first, 0
        for i in range(n):
            for k in range(len(used)):
                columns[k, i] = features[first + i, used[k]]
        for t in range(len(root)):
            for i in range(n):
                kept[i] = ~np.uint64(0)
            while node < last[t]:
                x, cut, rule, leaves = columns[feature[node]], threshold[node], missing[node], keep[node]
                for i in range(n):
                    kept[i] = kept[i] if goes_left(x[i], cut, rule) else kept[i] & leaves
                node += 1
            for i in range(n):
                bit = (kept[i] & (~kept[i] + np.uint64(1))) * np.uint64(SEQUENCE)
                out[first + i] += values[root[t] + BIT[bit >> UPPER]]


@inline_kernel
def goes_left(x, threshold, rule):
    """Whether a value goes to the left at a node of `Trees`, of which `rule` is `missing`."""
    is_missing = (x != x) | ((rule >= ZERO_TOO) & (abs(x) <= ZERO))
    return rule & TO_THE_LEFT != 0 if is_missing else x <= threshold
