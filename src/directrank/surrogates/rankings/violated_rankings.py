"""The most violated rankings of many queries at once, for PermuRank.

They are those of `directrank.surrogates.rankings.permutations`, which says what they are query by query, bit
for bit.
"""

import numpy as np

from directrank.data.queries import Queries
from directrank.surrogates.rankings.permutations import greatest_imperfect


class ViolatedRankings:
    """The searches for violated rankings of some queries, whose classes and feature map are fixed.

    Parameters
    ----------
    queries : Queries
    classes : ndarray of shape (n_docs,), float64
        Descending in each query.
    active : ndarray of shape (n_queries,), bool
        The queries to search; coefficients of the others are 0.
    feature_map : {"cross", "pairs"}
    places : int, optional
        How many first positions count; all by default.
    """

    def __init__(self, queries: Queries, classes: np.ndarray, active: np.ndarray, feature_map: str, places):
        self.indptr, self.sizes, self.classes = queries.indptr, queries.sizes, classes
        self.active, self.feature_map = active, feature_map
        self.query = np.repeat(np.arange(queries.n_queries), self.sizes)
        self.position = np.arange(queries.n_docs) - np.repeat(self.indptr[:-1], self.sizes)
        self.places = self.sizes if places is None else np.minimum(places, self.sizes)
        changes = (np.diff(classes) != 0) | (np.diff(self.query) != 0)
        # Stable sorts by short integers count, which takes a tenth of the time of comparing.
        self.segment = _shortest(np.append(0, np.cumsum(changes)))
        self.groups, self.ascending_classes = _shortest(self.query), np.argsort(classes, kind="stable")
        self.starts = np.append(0, np.flatnonzero(changes) + 1)
        self.lengths = np.diff(np.append(self.starts, queries.n_docs))

    def descending(self, scores: np.ndarray) -> np.ndarray:
        """Return all rows by descending score, those of equal scores by ascending class."""
        return self.ascending_classes[np.argsort(-scores[self.ascending_classes], kind="stable")]

    def greatest_imperfect(self, scores: np.ndarray, descending: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows in the order of the ranking, query by query, and which queries have one."""
        ranking = _together(descending, self.groups)
        counts = self.position < np.repeat(self.places, self.sizes)
        same = (self.classes[ranking] == self.classes) | ~counts
        perfect, found = np.logical_and.reduceat(same, self.indptr[:-1]), self.active.copy()
        for q in np.flatnonzero(perfect & self.active):
            rows = slice(self.indptr[q], self.indptr[q + 1])
            wrong = greatest_imperfect(scores[rows], self.classes[rows], self.places[q])
            found[q] = wrong is not None
            if wrong is not None:
                ranking[rows] = self.indptr[q] + wrong
        return ranking, found

    def least_perfect(self, scores: np.ndarray) -> np.ndarray:
        """Return the rows in the order of the ranking, query by query."""
        ranking = np.lexsort((scores, -self.classes, self.query))
        places = np.repeat(self.places, self.sizes)
        below = np.where(self.position < places, 0.0, scores[ranking])
        return ranking[np.lexsort((below, np.minimum(self.position, places), self.query))]

    def coefficients(self, ranking: np.ndarray, alike: np.ndarray | None = None) -> np.ndarray:
        """Return the coefficients of F in the scores; those of `alike` documents are averaged."""
        n, out = self.sizes[self.query], np.empty(len(ranking))
        if self.feature_map == "pairs":
            out[ranking] = (n + 1 - 2.0 * (self.position + 1)) / (n * np.maximum(n - 1, 1))
        else:
            which, own_ahead = self.segment[ranking], np.empty(len(ranking), np.int64)
            by_class = np.argsort(which, kind="stable")
            own_ahead[by_class] = np.arange(len(ranking)) - np.repeat(self.starts, self.lengths)
            squares = np.bincount(self.query[self.starts], self.lengths**2, len(self.sizes)).astype(np.int64)
            pairs = np.maximum(n * n - squares[self.query], 1) / 2
            out[ranking] = (n - self.lengths[which] - 2 * (self.position - own_ahead)) / pairs
        if alike is None:
            return out
        return (np.bincount(alike, out) / np.bincount(alike))[alike]

    def alike(self, scores: np.ndarray, descending: np.ndarray) -> np.ndarray:
        """Number the groups of documents of one query, class and score."""
        order = _together(descending[::-1], self.segment)
        s, c = scores[order], self.segment[order]
        groups = np.empty(len(s), np.int64)
        groups[order] = np.append(0, np.cumsum((s[1:] != s[:-1]) | (c[1:] != c[:-1])))
        return groups


def _shortest(numbers: np.ndarray) -> np.ndarray:
    """Return natural numbers in the shortest type that holds them."""
    return numbers.astype(np.min_scalar_type(numbers.max()))


def _together(order: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the rows in an order with those of each group together, the first group first."""
    return order[np.argsort(group[order], kind="stable")]
