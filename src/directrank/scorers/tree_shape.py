"""The shape of trees in arrays: whether every path through them ends."""

import numpy as np

LEAF = -1


def is_leaf(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return which nodes have no children, bool (n_nodes,)."""
    return (left == LEAF) & (right == LEAF)


def every_path_ends(root: np.ndarray, left: np.ndarray, right: np.ndarray) -> bool:
    """Return whether every node is a leaf, or has two children further on in the same tree.

    Parameters
    ----------
    root : ndarray of shape (n_trees,), int64
        The first node of each tree; the first tree begins at 0.
    left, right : ndarray of shape (n_nodes,), int32
        Children, counted from the root of the tree; −1 at a leaf.
    """
    n_nodes = len(left)
    if not len(root):
        return n_nodes == 0
    sizes = np.diff(np.append(root, n_nodes))
    if root[0] != 0 or (sizes <= 0).any():
        return False
    own, size = np.arange(n_nodes) - np.repeat(root, sizes), np.repeat(sizes, sizes)
    inner = (left > own) & (left < size) & (right > own) & (right < size)
    return bool((is_leaf(left, right) | inner).all())
