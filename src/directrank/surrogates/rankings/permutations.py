"""The most violated perfect and imperfect rankings of one query, for PermuRank.

Documents have classes, sorted in descending order. A ranking is perfect when its first K positions hold the
same classes as the ranking sorted by class. There are two linear maps of a ranking: Eq. (2) of the paper,
``"pairs"``, a sum over all pairs, and ``"cross"``, the mean over pairs of different classes.
"""

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.surrogates.oracles import means_of_alike


def nearest_imperfect(
    scores: np.ndarray, classes: np.ndarray, ranking: np.ndarray, places: int
) -> np.ndarray | None:
    """Return the imperfect ranking of greatest F, or None, where the ranking by score is perfect.

    With all positions, under either map: the ranking by score with the two neighbours of different classes
    swapped that are nearest in score. With fewer positions, under Eq. (2): a document of another class is
    moved to one of them at the least cost.
    """
    s = scores[ranking]
    if places < len(s):
        total = np.concatenate(([0.0], np.cumsum(s)))
        a, p = np.arange(len(s))[None, :], np.arange(places)[:, None]
        up = total[a] - total[p] - (a - p) * s[a]
        down = (p - a) * s[a] - (total[p + 1] - total[np.minimum(a + 1, len(s))])
        cost = np.where(p < a, up, down)
        cost[classes[ranking][None, :] == classes[:places][:, None]] = np.inf
        if not np.isfinite(cost).any():
            return None
        to, which = np.unravel_index(np.argmin(cost), cost.shape)
        return np.insert(np.delete(ranking, which), to, ranking[which])
    boundaries = np.flatnonzero(classes[ranking[1:]] != classes[ranking[:-1]])
    if not len(boundaries):
        return None
    swap = boundaries[np.argmin(s[boundaries] - s[boundaries + 1])]
    swapped = ranking.copy()
    swapped[[swap, swap + 1]] = ranking[[swap + 1, swap]]
    return swapped


class ViolatedRankings:
    """The searches for violated rankings of some queries, whose classes and feature map are fixed.

    Classes descend in each query; coefficients of queries that are not `active` are 0; `places` is how many
    first positions count, all by default.
    """

    def __init__(self, queries: Queries, classes: np.ndarray, active: np.ndarray, feature_map: str, places):
        self.indptr, self.sizes, self.classes = queries.indptr, queries.sizes, classes
        self.active, self.feature_map = active, feature_map
        self.query = queries.query
        self.position = queries.place
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
        """Return the imperfect ranking of greatest F of each query, and which queries have one.

        It is the ranking by score, tied documents of lower classes first; or that of `nearest_imperfect`.
        """
        ranking = _together(descending, self.groups)
        counts = self.position < np.repeat(self.places, self.sizes)
        same = (self.classes[ranking] == self.classes) | ~counts
        perfect, exists = np.logical_and.reduceat(same, self.indptr[:-1]), self.active.copy()
        for q in np.flatnonzero(perfect & self.active):
            rows = slice(self.indptr[q], self.indptr[q + 1])
            by_score = ranking[rows] - self.indptr[q]
            wrong = nearest_imperfect(scores[rows], self.classes[rows], by_score, self.places[q])
            exists[q] = wrong is not None
            if wrong is not None:
                ranking[rows] = self.indptr[q] + wrong
        return ranking, exists

    def least_perfect(self, scores: np.ndarray) -> np.ndarray:
        """Return the perfect ranking of least F under Eq. (2) of each query.

        Inside each class the scores ascend. At the last position that counts, the documents of its class with
        the lowest scores come first; all documents below ascend.
        """
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
        return out if alike is None else means_of_alike(out, alike)

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


#: F as the mean over pairs of a relevant and an irrelevant document, or as Eq. (2) over all pairs.
FEATURE_MAPS = ("cross", "pairs")


def two_classes_message(measure: Measure, queries: Queries) -> list[str]:
    """Return the message that a bound takes grades as two classes, if the queries have more."""
    grades = np.unique(queries.relevance)
    if len(grades) <= 2:
        return []
    n = int(measure.n_read(queries).sum())
    return [
        f"{len(grades)} grades taken as two classes: {n} documents relevant to {measure.name}, "
        f"{queries.n_docs - n} not"
    ]
