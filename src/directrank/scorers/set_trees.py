"""Trees that also split on sets of categories, as LightGBM grows them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from directrank.scorers.trees import BLOCK_ROWS, Trees, are_trees

#: The arrays of sets, with their types.
SETS = {"source": "<i4", "start": "<i8", "words": "<u4"}


@dataclass(eq=False, repr=False)
class SetTrees(Trees):
    """Trees of the features x and of one more column a set, 0 where a category is in the set and 1 elsewhere.

    A category is a whole number from 0, fractions being cut off. Missing values, negative numbers and
    categories that training has not seen are in no set.

    Parameters
    ----------
    root, feature, threshold, missing, left, right, value, gain, cover : ndarray, optional
        As in `Trees`; a split on set k has the feature n_features + k.
    source : ndarray of shape (n_sets,), int32
        The feature that holds the categories of each set.
    start : ndarray of shape (n_sets,), int64
        The first word of each set.
    words : ndarray of shape (n_words,), uint32
        Category c is in a set if bit ``c % 32`` of its word ``c // 32`` is set.
    """

    kind: ClassVar = "set-trees"

    source: Any = None
    start: Any = None
    words: Any = None

    def __repr__(self) -> str:
        return f"SetTrees({self.n_trees} trees with splits on sets of categories)"

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,); see `Trees.scores`."""
        out = np.empty(len(features))
        for first in range(0, len(features), BLOCK_ROWS):
            rows = slice(first, first + BLOCK_ROWS)
            out[rows] = super().scores(np.hstack((features[rows], self._columns(features[rows]))))
        return out

    def _columns(self, features: np.ndarray) -> np.ndarray:
        columns = np.empty((len(features), len(self.source)), features.dtype)
        for source, sets, outside in self._outside:
            category, nowhere = np.trunc(features[:, source]), len(outside) - 1
            known = (category >= 0) & (category < nowhere)
            columns[:, sets] = outside[np.where(known, category, nowhere).astype(np.int64)]
        return columns

    @cached_property
    def _outside(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Each feature with sets, their numbers, and what is outside: bytes (n_categories + 1, n_sets)."""
        ends, found = np.append(self.start[1:], len(self.words)), []
        for source in np.unique(self.source):
            sets = np.flatnonzero(self.source == source)
            words = [self.words[self.start[k] : ends[k]].view(np.uint8) for k in sets]
            outside = np.ones((8 * max(map(len, words)) + 1, len(sets)), np.uint8)
            for k, each in enumerate(words):
                outside[: 8 * len(each), k] -= np.unpackbits(each, bitorder="little")
            found.append((source, sets, outside))
        return found

    def feature_importances(self, n_features: int) -> np.ndarray:
        """Return the share of each feature in the gain of all splits, float64 (n_features,)."""
        source = np.concatenate((np.arange(n_features), self.source))
        return Trees.feature_importances(replace(self, feature=source[self.feature]), n_features)


def are_set_trees(tensors: dict[str, np.ndarray], n_features: int) -> bool:
    """Return whether arrays are those of `SetTrees` over so many features."""
    if any(tensors[name].dtype.str != kind or tensors[name].ndim != 1 for name, kind in SETS.items()):
        return False
    source, start, words = (tensors[name] for name in SETS)
    ends = np.append(start[1:], len(words))
    sound = len(start) == len(source) and bool((start >= 0).all() and (start < ends).all())
    known = bool((source >= 0).all() and (source < n_features).all())
    nodes = {name: array for name, array in tensors.items() if name not in SETS}
    return sound and known and are_trees(nodes, n_features + len(source))
