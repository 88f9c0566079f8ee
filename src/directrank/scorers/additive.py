"""Additive scorer: a weighted sum of weak rankers, each a small tree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from directrank.kernels.compile import kernel
from directrank.scorers.tree_shape import LEAF, every_path_ends, is_leaf

# Rows of a block stay in the processor's cache while all trees pass over them.
BLOCK_ROWS = 1024


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

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    offset: np.ndarray
    slope: np.ndarray
    fill: np.ndarray

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Return the value of each row, float64 (n_docs,)."""
        out = np.zeros(len(features))
        _add(features, np.zeros(1, np.int64), np.ones(1), self, out)
        return out


def tree_of(feature, threshold, left, right, offset, slope=None, fill=None) -> Tree:
    """Return a tree from sequences, in the types of a tree; by default missing values go to the left."""
    slope = np.zeros(len(feature)) if slope is None else slope
    fill = threshold if fill is None else fill
    return Tree(
        np.asarray(feature, np.int32), np.asarray(threshold, np.float32),
        np.asarray(left, np.int32), np.asarray(right, np.int32),
        np.asarray(offset, np.float64), np.asarray(slope, np.float64), np.asarray(fill, np.float32),
    )  # fmt: skip


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
        self, coefficients: Any = None, root: Any = None, feature: Any = None, threshold: Any = None,
        left: Any = None, right: Any = None, offset: Any = None, slope: Any = None, fill: Any = None,
        others: dict[int, Any] | None = None,
    ):  # fmt: skip
        self.coefficients, self.root = coefficients, root
        self.feature, self.threshold, self.left, self.right = feature, threshold, left, right
        self.offset, self.slope, self.fill = offset, slope, threshold if fill is None else fill
        self.others = others or {}

    def __repr__(self) -> str:
        return f"Additive({f'{self.n_rounds} weak rankers' if self.n_rounds else 'not trained'})"

    @classmethod
    def of(cls, coefficients: Sequence[float], weak_rankers: Sequence[Any]) -> "Additive":
        """Return the weighted sum of some weak rankers, trees or others."""
        none = single_feature(0, slope=0.0)
        others = {t: weak for t, weak in enumerate(weak_rankers) if not isinstance(weak, Tree)}
        trees = [weak if isinstance(weak, Tree) else none for weak in weak_rankers]
        sizes = [len(tree.feature) for tree in trees]
        root = np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.int64) if trees else np.zeros(0, int)
        nodes = [
            np.concatenate([getattr(tree, each.name) for tree in [*trees, none]])[: sum(sizes)]
            for each in fields(Tree)
        ]
        return cls(np.asarray(coefficients, np.float64), root, *nodes, others=others)

    @property
    def n_rounds(self) -> int:
        """Number of weak rankers."""
        return 0 if self.coefficients is None else len(self.coefficients)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,); a row's terms are added in round order."""
        out = np.zeros(len(features))
        if not self.others:
            _add(features, self.root, self.coefficients, self, out)
            return out
        for stage in self.staged_scores(features):
            out = stage
        return out

    def staged_scores(self, features: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the scores after each round, each in an array of its own."""
        out = np.zeros(len(features))
        for t in range(self.n_rounds):
            if t in self.others:
                out += self.coefficients[t] * self.others[t].predict(features)
            else:
                one = slice(t, t + 1)
                _add(features, self.root[one], self.coefficients[one], self, out)
            yield out.copy()

    def weak_ranker(self, number: int) -> Any:
        """Return one weak ranker: a tree, or another object."""
        if number in self.others:
            return self.others[number]
        ends = np.append(self.root, len(self.feature))
        nodes = slice(ends[number], ends[number + 1])
        return Tree(*(array[nodes] for array in _arrays(self)))

    def feature_importances(self, n_features: int) -> np.ndarray:
        """Return the share of Σ |coefficient| that falls to each feature, float64 (n_features,).

        A tree's share is divided equally among the nodes that read a feature. Weak rankers that are not trees
        are ignored.
        """
        total = np.zeros(n_features)
        for t in range(self.n_rounds):
            if t not in self.others:
                tree = self.weak_ranker(t)
                read = tree.feature[(tree.left != LEAF) | (tree.slope != 0)]
                np.add.at(total, read, abs(self.coefficients[t]) / max(1, len(read)))
        return total / total.sum() if total.any() else total


def _arrays(nodes: Any) -> tuple[np.ndarray, ...]:
    return tuple(getattr(nodes, each.name) for each in fields(Tree))


def _add(features, root, coefficients, nodes: Any, out) -> None:
    _add_trees(
        features, root, coefficients, nodes.feature, nodes.threshold, nodes.left, nodes.right,
        nodes.offset, nodes.slope, nodes.fill, out,
    )  # fmt: skip


def fits(tensors: dict[str, np.ndarray], n_features: int) -> bool:
    """Return whether arrays are trees over so many features: every path ends, and reads existing features."""
    types = {"coefficients": "<f8", "root": "<i8", "feature": "<i4", "threshold": "<f4", "left": "<i4",
             "right": "<i4", "offset": "<f8", "slope": "<f8", "fill": "<f4"}  # fmt: skip
    tensors = {"fill": tensors["threshold"], **tensors}
    if any(tensors[name].dtype.str != kind or tensors[name].ndim != 1 for name, kind in types.items()):
        return False
    root, n_nodes = tensors["root"], len(tensors["feature"])
    nodes = ("threshold", "left", "right", "offset", "slope", "fill")
    if len(root) != len(tensors["coefficients"]) or any(len(tensors[name]) != n_nodes for name in nodes):
        return False
    if not every_path_ends(root, tensors["left"], tensors["right"]):
        return False
    leaf = is_leaf(tensors["left"], tensors["right"])
    feature, fill = tensors["feature"], tensors["fill"]
    told = np.where(leaf, np.isfinite(fill), ~np.isnan(fill)).all()
    return bool(told and (feature >= 0).all() and (feature < n_features).all())


def add_trees_naive(row: np.ndarray, coefficients, trees: Sequence[Tree]) -> float:
    """The score of one row by definition, for tests."""
    total = 0.0
    for coefficient, tree in zip(coefficients, trees, strict=True):
        node, known = 0, np.where(np.isnan(row[tree.feature]), tree.fill, row[tree.feature])
        while tree.left[node] != LEAF:
            node = tree.right[node] if known[node] > tree.threshold[node] else tree.left[node]
        total += coefficient * (tree.offset[node] + tree.slope[node] * known[node])
    return total


@kernel
def _add_trees(features, root, coefficients, feature, threshold, left, right, offset, slope, fill, out):
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
