"""One tree of a library's file as a scorer; what does not fit is refused."""

import numpy as np

from directrank.errors import ModelFormatError
from directrank.scorers import Trees
from directrank.scorers.trees import TO_THE_LEFT, ZERO_TOO, fits

LARGEST = np.finfo(np.float32).max


def constant(value: float) -> Trees:
    """Return a tree of one leaf."""
    return Trees(np.zeros(1, np.int64), *(np.array([each], kind) for each, kind in (
        (0, np.int32), (0.0, np.float32), (TO_THE_LEFT, np.int32), (-1, np.int32), (-1, np.int32),
        (value, np.float64), (0.0, np.float64),
    )))  # fmt: skip


def at_most(threshold: np.ndarray, *, or_equal: bool) -> np.ndarray:
    """Return float32 thresholds t with x ≤ t for the float32 values x that are at most, or below, given ones.

    Finite ones stand for the infinite, so that they can be saved: no float32 lies between.
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
    above = rounded > threshold if or_equal else rounded >= threshold
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return np.clip(rounded, -LARGEST, LARGEST)


def checked_tree(n_features: int, **nodes: np.ndarray) -> Trees:
    """Return one tree.

    Raises
    ------
    ModelFormatError
        If a child or a feature does not exist, or a number is not finite.
    """
    if not all(np.isfinite(array).all() for array in nodes.values()):
        raise ModelFormatError("holds a number that is not finite")
    kinds = {"value": np.float64, "gain": np.float64, "threshold": np.float32}
    arrays = {name: array.astype(kinds.get(name, np.int32)) for name, array in nodes.items()}
    arrays["root"] = np.zeros(1, np.int64)
    if not fits(arrays, n_features):
        raise ModelFormatError(f"has a child or a feature that does not exist, of {n_features} features")
    return Trees(**arrays)


def directions(to_the_left: np.ndarray, zero_too: np.ndarray | bool = False) -> np.ndarray:
    """Return `Trees.missing` for nodes that send missing values to the left or not."""
    return np.where(to_the_left, TO_THE_LEFT, 0) + np.where(zero_too, ZERO_TOO, 0)
