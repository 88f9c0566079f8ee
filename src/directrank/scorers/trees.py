"""Trees scorer: the sum of decision trees, as boosting libraries grow them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrank.kernels.compile import kernel
from directrank.scorers.tree_shape import LEAF, every_path_ends, is_leaf

# Rows of a block stay in the processor's cache while all trees pass over them.
BLOCK_ROWS = 1024
# So many rows descend a tree together: while one waits for a node, the others go on.
TOGETHER = 32
#: What `Trees.missing` says of a node: missing values go to the left; zeros are missing values.
TO_THE_LEFT, ZERO_TOO = 1, 2
#: Values of at most this magnitude are zeros (LightGBM's constant).
ZERO = np.float32(1e-35)
#: The arrays of nodes, with their types.
NODES = {
    "feature": "<i4", "threshold": "<f4", "missing": "<i4", "left": "<i4", "right": "<i4", "value": "<f8",
    "gain": "<f8",
}  # fmt: skip


class Trees:
    """f(x) = Σ_t the value of the leaf of tree t that x reaches.

    Parameters
    ----------
    root : ndarray of shape (n_trees,), int64, optional
        The first node of each tree; children are counted from it. None before training.
    feature : ndarray of shape (n_nodes,), int32
    threshold : ndarray of shape (n_nodes,), float32
        A row goes to the left where ``x[feature] <= threshold``. Float32 as the features are, so that
        comparisons give the same result wherever the model runs.
    missing : ndarray of shape (n_nodes,), int32
        Where NaN goes: to the left if the bit `TO_THE_LEFT` is set, or else to the right. With the bit
        `ZERO_TOO` zeros go there, too.
    left, right : ndarray of shape (n_nodes,), int32
        Children, each after its parent; −1 at a leaf.
    value : ndarray of shape (n_nodes,), float64
        What a leaf adds to the score.
    gain : ndarray of shape (n_nodes,), float64
        How much the split lowered the objective of training, by the library's approximation; 0 at a leaf.
    """

    kind = "trees"
    #: Missing values have a direction; no number stands for them, as in other scorers.
    fill = None

    def __init__(
        self, root: Any = None, feature: Any = None, threshold: Any = None, missing: Any = None,
        left: Any = None, right: Any = None, value: Any = None, gain: Any = None,
    ):  # fmt: skip
        self.root, self.feature, self.threshold, self.missing = root, feature, threshold, missing
        self.left, self.right, self.value, self.gain = left, right, value, gain

    def __repr__(self) -> str:
        return f"Trees({f'{self.n_trees} trees' if self.n_trees else 'not trained'})"

    @classmethod
    def joined(cls, pieces: Sequence["Trees"]) -> "Trees":
        """Return the trees of several scorers as one."""
        if not pieces:
            return cls(np.zeros(0, np.int64), *(np.zeros(0, kind) for kind in NODES.values()))
        starts = np.cumsum([0, *(len(each.feature) for each in pieces[:-1])])
        root = np.concatenate([each.root + start for each, start in zip(pieces, starts, strict=True)])
        return cls(root, *(np.concatenate([getattr(each, name) for each in pieces]) for name in NODES))

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return 0 if self.root is None else len(self.root)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,); a row's terms are added tree by tree."""
        out = np.zeros(len(features))
        _add_trees(
            features, self.root, self.feature, self.threshold, self.missing, self.left, self.right,
            self.value, out,
        )  # fmt: skip
        return out

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
        nodes = {name: getattr(self, name) for name in NODES} | {"missing": missing}
        return Trees(self.root, **nodes)

    def feature_importances(self, n_features: int) -> np.ndarray:
        """Return the share of each feature in the gain of all splits, float64 (n_features,)."""
        inner = ~is_leaf(self.left, self.right)
        total = np.bincount(self.feature[inner], self.gain[inner], n_features)
        return total / total.sum() if total.any() else total


def fits(tensors: dict[str, np.ndarray], n_features: int) -> bool:
    """Return whether arrays are trees over so many features: every path ends, and reads existing features."""
    types = {"root": "<i8", **NODES}
    if tensors.keys() != types.keys():
        return False
    if any(tensors[name].dtype.str != kind or tensors[name].ndim != 1 for name, kind in types.items()):
        return False
    n_nodes, feature, missing = len(tensors["feature"]), tensors["feature"], tensors["missing"]
    if any(len(tensors[name]) != n_nodes for name in NODES):
        return False
    known = (feature >= 0) & (feature < n_features) & (missing >= 0) & (missing <= TO_THE_LEFT + ZERO_TOO)
    return bool(known.all()) and every_path_ends(tensors["root"], tensors["left"], tensors["right"])


def trees_naive(row: np.ndarray, trees: Trees) -> float:
    """The score of one row by definition, for tests."""
    total = 0.0
    for root in trees.root:
        node = root
        while trees.left[node] != LEAF:
            x, missing = row[trees.feature[node]], trees.missing[node]
            if np.isnan(x) or (missing & ZERO_TOO and abs(x) <= ZERO):
                to_the_left = bool(missing & TO_THE_LEFT)
            else:
                to_the_left = x <= trees.threshold[node]
            node = root + (trees.left[node] if to_the_left else trees.right[node])
        total += trees.value[node]
    return total


@kernel
def _add_trees(features, root, feature, threshold, missing, left, right, value, out):
    n_docs, nodes = len(out), np.empty(TOGETHER, np.int64)
    for first in range(0, n_docs, BLOCK_ROWS):
        last = min(first + BLOCK_ROWS, n_docs)
        for start in root:
            for row in range(first, last, TOGETHER):
                n = min(TOGETHER, last - row)
                for i in range(n):
                    nodes[i] = start
                while _descend(
                    features[row : row + n], feature, threshold, missing, left, right, start, nodes
                ):
                    pass
                for i in range(n):
                    out[row + i] += value[nodes[i]]


@kernel
def _descend(features, feature, threshold, missing, left, right, start, nodes):
    # Take each row one node down, and say whether any moved. There are no branches, which nothing could
    # foretell: a row that has arrived stays.
    moved = 0
    for i in range(len(features)):
        node = nodes[i]
        x, rule = features[i, feature[node]], missing[node]
        is_missing = (x != x) | ((rule >= ZERO_TOO) & (abs(x) <= ZERO))
        to_the_left = rule & TO_THE_LEFT != 0 if is_missing else x <= threshold[node]
        child = left[node] if to_the_left else right[node]
        nodes[i] = start + child if child >= 0 else node
        moved += child >= 0
    return moved > 0
