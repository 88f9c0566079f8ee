"""Scorers made of trees in arrays: sums of trees as libraries grow them, and weighted sums of weak rankers.

A row descends from the root of each tree, and gets the value of the leaf where it arrives.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from directrank.errors import DataError
from directrank.kernels.compile import inline_kernel, kernel

__all__ = [
    "LARGEST",
    "LEAF",
    "TO_THE_LEFT",
    "ZERO",
    "ZERO_TOO",
]

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
#: Beside them, the training documents of each node, in models whose library counts them.
COVER, COVER_TYPE = "cover", "<f4"
#: The arrays of nodes of weak rankers, with their types.
WEAK_NODES = {
    "feature": "<i4", "threshold": "<f4", "left": "<i4", "right": "<i4", "offset": "<f8", "slope": "<f8",
    "fill": "<f4",
}  # fmt: skip
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
    """

    kind: ClassVar = "trees"
    #: Missing values have a direction; no number stands for them, as in other scorers.
    fill: ClassVar = None

    root: Trained = None
    feature: Trained = None
    threshold: Trained = None
    missing: Trained = None
    left: Trained = None
    right: Trained = None
    value: Trained = None
    gain: Trained = None
    cover: Trained = None

    def __repr__(self) -> str:
        return f"Trees({f'{self.n_trees} trees' if self.n_trees else 'not trained'})"

    @classmethod
    def concatenate(cls, pieces: Sequence["Trees"]) -> "Trees":
        """Return the trees of several scorers as one."""
        counted = pieces and all(piece.cover is not None for piece in pieces)
        return cls(*_concatenated(pieces, NODES | {COVER: COVER_TYPE} if counted else NODES))

    def times(self, factor: float) -> "Trees":
        """Return the trees with the values of their leaves multiplied."""
        return replace(self, value=factor * self.value)

    @classmethod
    def constant(cls, value: float) -> "Trees":
        """Return a tree of one leaf."""
        nodes = (0, 0.0, TO_THE_LEFT, LEAF, LEAF, value, 0.0, 1.0)
        kinds = (*NODES.values(), COVER_TYPE)
        return cls(np.zeros(1, np.int64), *map(np.array, [[value] for value in nodes], kinds))

    def each(self) -> Iterator["Trees"]:
        """Yield the trees one by one."""
        for start, end in pairwise(np.append(self.root, len(self.left)).tolist()):
            yield Trees(np.zeros(1, np.int64), *(getattr(self, name)[start:end] for name in NODES))

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
        out = np.zeros(len(features))
        if trees._cuts is None:
            _add_trees(
                features, trees.root, trees.feature, trees.threshold, trees.missing, trees.left, trees.right,
                trees.value, out,
            )  # fmt: skip
        else:
            with np.errstate(over="ignore"):  # Without compilation NumPy would warn of products of words.
                _add_cut_trees(features, trees.root, out, *trees._cuts)
        return out

    @cached_property
    def _cuts(self) -> Any:
        """The arguments of `_add_cut_trees`; None if a tree has more leaves than a word has bits."""
        keep, values = np.full(len(self.left), ~np.uint64(0)), np.zeros(len(self.left))
        if _number_leaves(self.root, self.left, self.right, self.value, keep, values) > LEAVES:
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


@dataclass(frozen=True)
class Tree:
    """A weak ranker as arrays over its nodes; node 0 is the root.

    A row goes right where ``x[feature] > threshold`` and gets, at its leaf,
    ``offset + slope * x[feature]``. A single signed feature is a tree of one leaf.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,), int32
    threshold : ndarray of shape (n_nodes,), float32
        Float32 as the features are, so that comparisons give the same result wherever the model runs.
    left, right : ndarray of shape (n_nodes,), int32
        Children, each after its parent; −1 at a leaf.
    offset, slope : ndarray of shape (n_nodes,), float64
        0 at inner nodes.
    fill : ndarray of shape (n_nodes,), float32
        What stands for a missing value (NaN) of the feature: −∞ goes to the left, ∞ to the right.
    """

    root: ClassVar = np.zeros(1, np.int64)

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    offset: np.ndarray
    slope: np.ndarray
    fill: np.ndarray

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Return the value of each row, float64 (n_docs,)."""
        return _weighted_sum(features, self.root, np.ones(1), self)


def tree_of(feature, threshold, left, right, offset, slope=None, fill=None) -> Tree:
    """Return a tree from sequences, in the types of a tree; by default missing values go to the left."""
    slope = np.zeros(len(feature)) if slope is None else slope
    nodes = (feature, threshold, left, right, offset, slope, threshold if fill is None else fill)
    return Tree(*map(np.asarray, nodes, WEAK_NODES.values()))


def stump(feature: int, threshold: float, *, above: bool = True, fill: float = -np.inf) -> Tree:
    """Return the weak ranker [[x[feature] > threshold]], or [[x[feature] ≤ threshold]]."""
    values = (0.0, 1.0) if above else (1.0, 0.0)
    leaves = [LEAF, LEAF]
    return tree_of(
        [feature, 0, 0], [threshold, 0, 0], [1, *leaves], [2, *leaves], [0.0, *values], fill=[fill, 0, 0]
    )


def single_feature(feature: int, *, slope: float = 1.0, offset: float = 0.0, fill: float = 0.0) -> Tree:
    """Return the weak ranker offset + slope · x[feature]."""
    return tree_of([feature], [0.0], [LEAF], [LEAF], [offset], [slope], [fill])


class Additive:
    """f(x) = Σ_t coefficient_t · h_t(x) over weak rankers.

    Parameters
    ----------
    coefficients : ndarray of shape (n_rounds,), float64, optional
        None before training.
    root : ndarray of shape (n_rounds,), int64
        The first node of each tree; children are counted from it.
    feature, threshold, left, right, offset, slope, fill : ndarray of shape (n_nodes,)
        The nodes of all trees, see `Tree`. Without `fill`, missing values go to the left.
    others : dict of int to object, default={}
        Weak rankers that are not trees, by their round: objects with ``predict(features) -> (n_docs,)``. A
        scorer with such weak rankers can train and predict, but cannot be saved.
    """

    kind = "additive"

    def __init__(
        self, coefficients: Trained = None, root: Trained = None, feature: Trained = None,
        threshold: Trained = None, left: Trained = None, right: Trained = None, offset: Trained = None,
        slope: Trained = None, fill: Trained = None, others: dict[int, Any] | None = None,
    ):  # fmt: skip
        self.coefficients, self.root = coefficients, root
        self.feature, self.threshold, self.left, self.right = feature, threshold, left, right
        self.offset, self.slope, self.fill = offset, slope, threshold if fill is None else fill
        self.others = others or {}

    def __repr__(self) -> str:
        return f"Additive({f'{self.n_rounds} weak rankers' if self.n_rounds else 'not trained'})"

    @classmethod
    def of(cls, coefficients: Sequence[float] | np.ndarray, weak_rankers: Sequence[object]) -> "Additive":
        """Return the weighted sum of some weak rankers, trees or others."""
        none = single_feature(0, slope=0.0)
        others = {t: weak for t, weak in enumerate(weak_rankers) if not isinstance(weak, Tree)}
        trees = [weak if isinstance(weak, Tree) else none for weak in weak_rankers]
        return cls(np.asarray(coefficients, np.float64), *_concatenated(trees, WEAK_NODES), others=others)

    @classmethod
    def concatenate(cls, pieces: Sequence["Additive"]) -> "Additive":
        """Return the weak rankers of several scorers as one."""
        weak = [piece.weak_ranker(t) for piece in pieces for t in range(piece.n_rounds)]
        return cls.of(np.concatenate([piece.coefficients for piece in pieces]), weak)

    def times(self, factor: float) -> "Additive":
        """Return the weak rankers with their coefficients multiplied."""
        nodes = [getattr(self, array.name) for array in fields(Tree)]
        return Additive(factor * self.coefficients, self.root, *nodes, others=self.others)

    @property
    def n_rounds(self) -> int:
        """Number of weak rankers."""
        return 0 if self.coefficients is None else len(self.coefficients)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,); a row's terms are added in round order."""
        if not self.others:
            if self.slope.any():
                return _weighted_sum(features, self.root, self.coefficients, self)
            return self.as_trees.scores(features)
        out = np.zeros(len(features))
        for stage in self.staged_scores(features):
            out = stage
        return out

    @cached_property
    def as_trees(self) -> Trees:
        """The trees, with the values coefficient · offset; `slope` is left out."""
        sizes = np.diff(np.append(self.root, len(self.feature)))
        missing = np.where(self.fill > self.threshold, 0, TO_THE_LEFT).astype(np.int32)
        value = np.repeat(np.asarray(self.coefficients), sizes) * self.offset
        nodes = self.feature, self.threshold, missing, self.left, self.right, value
        return Trees(self.root, *nodes, np.zeros(len(value)))

    def staged_scores(self, features: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the scores after each round, each in an array of its own."""
        out = np.zeros(len(features))
        for t in range(self.n_rounds):
            if t in self.others:
                out += self.coefficients[t] * self.others[t].predict(features)
            else:
                at_round = slice(t, t + 1)
                _weighted_sum(features, self.root[at_round], self.coefficients[at_round], self, out)
            yield out.copy()

    def weak_ranker(self, number: int) -> Any:
        """Return one weak ranker: a tree, or another object."""
        if number in self.others:
            return self.others[number]
        ends = np.append(self.root, len(self.feature))
        nodes = slice(ends[number], ends[number + 1])
        return Tree(*(getattr(self, array.name)[nodes] for array in fields(Tree)))

    def feature_importances(self, n_features: int) -> np.ndarray:
        """Return the share of Σ |coefficient| that falls to each feature, float64 (n_features,).

        A tree's share is divided equally among the nodes that read a feature. Weak rankers that are not trees
        are ignored.
        """
        total = np.zeros(n_features)
        for t in range(self.n_rounds):
            if t not in self.others:
                tree = self.weak_ranker(t)
                inner = tree.feature[(tree.left != LEAF) | (tree.slope != 0)]
                np.add.at(total, inner, abs(self.coefficients[t]) / max(1, len(inner)))
        return total / total.sum() if total.any() else total


def _concatenated(pieces: "Sequence[Trees] | Sequence[Tree]", kinds: dict[str, str]) -> Iterator[np.ndarray]:
    """Yield the roots, and then the arrays of nodes of these types, of several scorers or trees as one."""
    starts = np.cumsum([0, *(len(piece.feature) for piece in pieces)])
    roots = (piece.root + start for piece, start in zip(pieces, starts, strict=False))
    yield np.concatenate([np.zeros(0, np.int64), *roots])
    for name, kind in kinds.items():
        yield np.concatenate([np.zeros(0, kind), *(getattr(piece, name) for piece in pieces)])


def _weighted_sum(features, root, coefficients, nodes: "Tree | Additive", out=None) -> np.ndarray:
    """Return the sum of trees times their coefficients, float64 (n_docs,), or add it to `out`."""
    out = np.zeros(len(features)) if out is None else out
    _add_weak_rankers(
        features, root, coefficients, nodes.feature, nodes.threshold, nodes.left, nodes.right, nodes.offset,
        nodes.slope, nodes.fill, out,
    )  # fmt: skip
    return out


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


def are_trees(tensors: dict[str, np.ndarray], n_features: int) -> bool:
    """Return whether arrays are those of `Trees` over so many features."""
    types = {"root": "<i8", **NODES} | ({COVER: COVER_TYPE} if COVER in tensors else {})
    if tensors.keys() != types.keys():
        return False
    if tensors["threshold"].dtype.str == DOUBLE:
        types["threshold"] = DOUBLE
    missing = tensors["missing"]
    return _are_forest(tensors, types, n_features) and bool(
        (missing >= 0).all() and (missing <= TO_THE_LEFT + ZERO_TOO).all()
        and (tensors.get(COVER, missing) >= 0).all()
    )  # fmt: skip


def are_weak_rankers(tensors: dict[str, np.ndarray], n_features: int) -> bool:
    """Return whether arrays are those of `Additive` over so many features."""
    tensors = {"fill": tensors["threshold"], **tensors}
    coefficients, fill, leaf = tensors["coefficients"], tensors["fill"], tensors["left"] == LEAF
    types = {"root": "<i8", **WEAK_NODES}
    return (
        _are_forest(tensors, types, n_features)
        and coefficients.dtype.str == "<f8" and coefficients.shape == tensors["root"].shape
        and bool(np.where(leaf, np.isfinite(fill), ~np.isnan(fill)).all())
    )  # fmt: skip


def _are_forest(tensors: dict[str, np.ndarray], types: dict[str, str], n_features: int) -> bool:
    """Return whether arrays have these types, every path ends, and nodes read features that exist."""
    if any(tensors[name].dtype.str != kind or tensors[name].ndim != 1 for name, kind in types.items()):
        return False
    root, feature, left, right = (tensors[name] for name in ("root", "feature", "left", "right"))
    n_nodes = len(feature)
    if any(len(tensors[name]) != n_nodes for name in types if name != "root"):
        return False
    sizes = np.diff(np.append(root, n_nodes))
    if not len(root) or root[0] != 0 or (sizes <= 0).any():
        return not len(root) and n_nodes == 0
    # A node is a leaf, or has two children further on in the same tree.
    number, size = np.arange(n_nodes) - np.repeat(root, sizes), np.repeat(sizes, sizes)
    inner = (left > number) & (left < size) & (right > number) & (right < size)
    ends = inner | ((left == LEAF) & (right == LEAF))
    return bool((ends & (feature >= 0) & (feature < n_features)).all())


@kernel
def _add_trees(features, root, feature, threshold, missing, left, right, value, out):
    n_docs, nodes = len(out), np.empty(TOGETHER, np.int64)
    for first in range(0, n_docs, BLOCK_ROWS):
        last = min(first + BLOCK_ROWS, n_docs)
        for start in root:
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
                    out[row + i] += value[nodes[i]]


@kernel
def _number_leaves(root, left, right, value, keep, values):
    """Write the values of each tree's leaves from the left, and the leaves that a step to the right keeps.

    Returns the largest number of leaves of a tree. ``keep`` has a bit for each leaf but those to the left.
    """
    first, n_leaves, most = np.full(len(left), LEAF), np.zeros(len(left), np.int64), 0
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
        most = max(most, n_leaves[start])
    return most


@kernel
def _add_cut_trees(features, root, out, used, last, feature, threshold, missing, keep, values):
    # Lucchese et al., "QuickScorer", SIGIR 2015: a row is compared with all nodes of a tree, in any order.
    # Where it goes to the right, the leaves on the left are cut off; it arrives at the first that is kept.
    columns = np.empty((len(used), COMPARED_ROWS), features.dtype)
    kept = np.empty(COMPARED_ROWS, np.uint64)
    for first in range(0, len(out), COMPARED_ROWS):
        n, node = min(COMPARED_ROWS, len(out) - first), 0
        for i in range(n):
            for k in range(len(used)):
                columns[k, i] = features[first + i, used[k]]
        for t in range(len(root)):
            kept[:] = ~np.uint64(0)
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


@kernel
def _add_weak_rankers(
    features, root, coefficients, feature, threshold, left, right, offset, slope, fill, out
):
    # Weak rankers are shallow: going down one row at a time takes less than half the time of many together.
    n_docs = len(out)
    for first in range(0, n_docs, BLOCK_ROWS):
        last = min(first + BLOCK_ROWS, n_docs)
        for t in range(len(root)):
            start, c = root[t], coefficients[t]
            for i in range(first, last):
                node = start
                while left[node] >= 0:
                    x = features[i, feature[node]]
                    above = (fill[node] if np.isnan(x) else x) > threshold[node]
                    node = start + (right[node] if above else left[node])
                value = offset[node]
                if slope[node] != 0.0:
                    x = features[i, feature[node]]
                    value += slope[node] * (fill[node] if np.isnan(x) else x)
                out[i] += c * value
