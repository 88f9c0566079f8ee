"""Trees scorer: the sum of decision trees, as boosting libraries grow them."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from directrank.errors import DataError
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
#: Features that the trees compare in float64 have thresholds of this type.
DOUBLE = "<f8"
LARGEST, TINIEST, BITS = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal, 24
#: Where there are fewer float32 numbers than this to a threshold, float32 is too coarse for the feature.
NUMBERS_PER_THRESHOLD = 1000


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
        """Return the scores of documents, float64 (n_docs,); a row's terms are added tree by tree.

        Raises
        ------
        DataError
            If features are float32, and the thresholds of one need float64.
        """
        trees = self.in_float32 if features.dtype == np.float32 else self
        out = np.zeros(len(features))
        _add_trees(
            features, trees.root, trees.feature, trees.threshold, trees.missing, trees.left, trees.right,
            trees.value, out,
        )  # fmt: skip
        return out

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
        inner = ~is_leaf(self.left, self.right)
        for feature in np.unique(self.feature[inner]):
            if needs_float64(self.threshold[inner & (self.feature == feature)]):
                raise DataError(
                    f"feature {feature + 1}: the model was trained on float64 numbers that float32 cannot "
                    "tell apart, and files and QueryGroups are float32; call predict with a float64 array or "
                    "data frame, or subtract the feature's smallest value and train again"
                )
        nodes = {name: getattr(self, name) for name in NODES}
        return Trees(self.root, **nodes | {"threshold": at_most(self.threshold, or_equal=True)})

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


def fits(tensors: dict[str, np.ndarray], n_features: int) -> bool:
    """Return whether arrays are trees over so many features: every path ends, and reads existing features."""
    types = {"root": "<i8", **NODES}
    if tensors.keys() != types.keys():
        return False
    if tensors["threshold"].dtype.str == DOUBLE:
        types["threshold"] = DOUBLE
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
