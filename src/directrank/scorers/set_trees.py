"""Trees that also split on sets of categories, as LightGBM grows them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from directrank.scorers.trees import BLOCK_ROWS, COVER, Trained, Trees

#: The arrays of sets, with their types.
SETS = {"source": "<i4", "width": "<i4", "start": "<i8", "words": "<u4"}


@dataclass(eq=False, repr=False)
class SetTrees(Trees):
    """Trees of the features x and of one more column a set, 0 where a category is in the set and 1 elsewhere.

    A category is a whole number from 0: the value of a feature, fractions being cut off, or the place of the
    1 among neighbouring features of which one is 1 and the others 0. Negative numbers and categories that
    training has not seen are in no set. A missing value is missing in the columns of sets, too, and `missing`
    says where it goes.

    Parameters
    ----------
    root, feature, threshold, missing, left, right, value, gain, cover : ndarray, optional
        As in `Trees`; a split on set k has the feature n_features + k.
    source : ndarray of shape (n_sets,), int32
        The feature that holds the categories of each set, or the first of those that do. Before training,
        of each categorical column.
    width : ndarray of shape (n_sets,), int32
        So many features from there on say by a 1 which category it is; 0 where the feature holds its number.
    start : ndarray of shape (n_sets,), int64
        The first word of each set.
    words : ndarray of shape (n_words,), uint32
        Category c is in a set if bit ``c % 32`` of its word ``c // 32`` is set.
    """

    kind: ClassVar = "set-trees"
    types: ClassVar[dict[str, str]] = {**Trees.types, **SETS}
    optional: ClassVar[dict[str, str]] = COVER

    source: Trained = None
    width: Trained = None
    start: Trained = None
    words: Trained = None

    def __repr__(self) -> str:
        return f"SetTrees({self.n_trees} trees with splits on sets of categories)"

    @staticmethod
    def fits(tensors: dict[str, np.ndarray], n_features: int) -> bool:
        """Return whether arrays are those of these scorers over so many features."""
        if any(tensors[name].dtype.str != kind or tensors[name].ndim != 1 for name, kind in SETS.items()):
            return False
        source, width, start, words = (tensors[name] for name in SETS)
        ends = np.append(start[1:], len(words))
        sound = len(start) == len(source) == len(width) and bool((start >= 0).all() and (start < ends).all())
        fits = sound and bool(
            (source >= 0).all() and (width >= 0).all() and (source < n_features).all()
            and (source.astype(np.int64) + width <= n_features).all()
        )  # fmt: skip
        nodes = {name: array for name, array in tensors.items() if name not in SETS}
        return sound and fits and Trees.fits(nodes, n_features + len(source))

    @classmethod
    def of_columns_alone(cls, source: np.ndarray, width: np.ndarray) -> "SetTrees":
        """Return no trees, with an empty set for each categorical column."""
        n_sets = len(source)
        sets = {"source": source, "width": width, "start": np.arange(n_sets)}
        return cls(**vars(Trees.concatenate([])), **sets, words=np.zeros(n_sets, np.uint32))

    def columns_alone(self) -> "SetTrees":
        """Return no trees, with an empty set for each of the categorical columns of the sets."""
        columns = np.unique(np.column_stack((self.source, self.width)), axis=0).astype(np.int32)
        return self.of_columns_alone(*columns.T)

    def without_unused(self, n_features: int) -> Trees:
        """Return the trees without the sets on which no node splits."""
        is_set = self.feature >= n_features
        used, place = np.unique(self.feature[is_set] - n_features, return_inverse=True)
        feature = self.feature.copy()
        feature[is_set] = n_features + place
        ends = np.append(self.start[1:], len(self.words))
        words = [self.words[self.start[k] : ends[k]] for k in used]
        sizes = np.array([len(each) for each in words], np.int64)
        sets = {
            "source": self.source[used], "width": self.width[used], "start": np.cumsum(sizes) - sizes,
            "words": np.concatenate([np.zeros(0, np.uint32), *words]),
        }  # fmt: skip
        if len(used):
            return replace(self, feature=feature, **sets)
        return Trees(**{name: getattr(self, name) for name in (*Trees.types, *Trees.optional)})

    @classmethod
    def joined(cls, pieces: Sequence[Trees], n_features: int) -> "SetTrees":
        """Return the trees of several scorers of so many features as one, with the sets of all."""
        shifted, before, sets = [], 0, {name: [np.zeros(0, kind)] for name, kind in SETS.items()}
        n_words = 0
        for piece in pieces:
            is_set = piece.feature >= n_features
            feature = (piece.feature + np.where(is_set, before, 0)).astype(np.int32)
            shifted.append(replace(piece, feature=feature))
            if isinstance(piece, SetTrees):
                for name in SETS:
                    sets[name].append(getattr(piece, name) + (n_words if name == "start" else 0))
                before, n_words = before + len(piece.source), n_words + len(piece.words)
        nodes = vars(Trees.concatenate(shifted))
        arrays = {name: nodes[name] for name in (*Trees.types, *Trees.optional)}
        return cls(**arrays, **{name: np.concatenate(each) for name, each in sets.items()})

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,); see `Trees.scores`."""
        out = np.empty(len(features))
        for first in range(0, len(features), BLOCK_ROWS):
            rows = slice(first, first + BLOCK_ROWS)
            out[rows] = super().scores(self.with_sets(features[rows]))
        return out

    def with_sets(self, features: np.ndarray) -> np.ndarray:
        """Return features with one more column a set, 0 where the category is in it, NaN where missing."""
        columns = np.empty((len(features), len(self.source)), features.dtype)
        for source, width, sets, outside in self._outside:
            category, nowhere = _categories(features, source, width), len(outside) - 1
            is_category = (category >= 0) & (category < nowhere)
            columns[:, sets] = outside[np.where(is_category, category, nowhere).astype(np.int64)]
            if (gone := np.isnan(category)).any():
                columns[:, sets] = np.where(gone[:, None], np.nan, columns[:, sets])
        return np.hstack((features, columns))

    def column(self, n_features: int) -> np.ndarray:
        """Return the feature that each node reads; of splits on sets, the first that says the category."""
        return np.append(np.arange(n_features, dtype=np.int32), self.source)[self.feature]

    def of_columns(self, parts: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Return the parts that features have in scores, from those of `column`, (n_docs, n_features).

        What the features of a categorical column add together is that of the one which is 1.
        """
        parts = parts[:, : features.shape[1]]
        for source, width in self._several:
            source_values, parts[:, source] = parts[:, source].copy(), 0.0
            parts[np.arange(len(parts)), source + _categories(features, source, width)] = source_values
        return parts

    @property
    def _several(self) -> np.ndarray:
        """First feature and number of each categorical column of several features."""
        return np.unique(np.column_stack((self.source, self.width))[self.width > 0], axis=0)

    @cached_property
    def _outside(self) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
        """Each place of categories, its sets, and what is outside: bytes (n_categories + 1, n_sets)."""
        ends, tables = np.append(self.start[1:], len(self.words)), []
        for source, width in np.unique(np.column_stack((self.source, self.width)), axis=0):
            sets = np.flatnonzero((self.source == source) & (self.width == width))
            words = [self.words[self.start[k] : ends[k]].view(np.uint8) for k in sets]
            outside = np.ones((8 * max(map(len, words)) + 1, len(sets)), np.uint8)
            for k, word in enumerate(words):
                outside[: 8 * len(word), k] -= np.unpackbits(word, bitorder="little")
            tables.append((source, width, sets, outside))
        return tables

    def with_missing_like(self, values: np.ndarray, of: np.ndarray) -> Trees:
        """Return trees that send missing numbers of some features where given values go; see `Trees`."""
        sets = len(self.source)
        return super().with_missing_like(
            np.append(values, np.zeros(sets)), np.append(of, np.full(sets, False))
        )

    def coded(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return features with categories as one column of their numbers, and where each column begins."""
        first = np.ones(features.shape[1], np.bool_)
        for source, width in zip(self.source, self.width, strict=True):
            first[source + 1 : source + width] = False
        places = np.flatnonzero(first)
        codes = features[:, places]
        for source, width in zip(self.source, self.width, strict=True):
            codes[:, np.searchsorted(places, source)] = _categories(features, source, width)
        return codes, places

    def feature_importances(self, n_features: int) -> np.ndarray:
        """Return the share of each feature in the gain of all splits, float64 (n_features,).

        The features of a categorical column have equal shares.
        """
        columns = Trees.feature_importances(replace(self, feature=self.column(n_features)), n_features)
        for source, width in self._several:
            columns[source : source + width] = columns[source] / width
        return columns


def _categories(features: np.ndarray, source: int, width: int) -> np.ndarray:
    """Return the category of each row: the number in a feature, or the place of the 1 among several."""
    if not width:
        return np.trunc(features[:, source])
    return features[:, source : source + width].argmax(axis=1)
