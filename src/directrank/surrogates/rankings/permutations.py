"""The most violated perfect and imperfect rankings of one query, for PermuRank.

Documents have classes, sorted in descending order. A ranking is perfect when its first K positions hold the
same classes as the ranking sorted by class. There are two linear maps of a ranking: Eq. (2) of the paper,
``"pairs"``, a sum over all pairs, and ``"cross"``, the mean over pairs of different classes.
"""

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries


def is_perfect(classes: np.ndarray, ranking: np.ndarray, places: int) -> bool:
    """Say whether the first `places` positions of a ranking hold the classes of a perfect one."""
    return bool((classes[ranking[:places]] == classes[:places]).all())


def least_perfect(scores: np.ndarray, classes: np.ndarray, places: int) -> np.ndarray:
    """Return the perfect ranking of least F under Eq. (2).

    Inside each class the scores ascend. At the last position that counts, the documents of its class with the
    lowest scores come first; all documents below ascend.
    """
    ranking = np.lexsort((scores, -classes))
    if places < len(scores):
        rest = ranking[places:]
        ranking[places:] = rest[np.argsort(scores[rest], kind="stable")]
    return ranking


def greatest_imperfect(scores: np.ndarray, classes: np.ndarray, places: int) -> np.ndarray | None:
    """Return the imperfect ranking of greatest F, or None if every ranking is perfect.

    With all positions, under either map: the ranking by score, tied documents of lower classes first; if that
    is perfect, with the two neighbours of different classes swapped that are nearest in score. With fewer
    positions, under Eq. (2): a document of another class is moved to one of them at the least cost.
    """
    ranking = np.lexsort((classes, -scores))
    if not is_perfect(classes, ranking, places):
        return ranking
    if places < len(scores):
        return _cheapest_insertion(scores[ranking], classes, ranking, places)
    boundaries = np.flatnonzero(classes[ranking[1:]] != classes[ranking[:-1]])
    if not len(boundaries):
        return None
    gaps = scores[ranking[boundaries]] - scores[ranking[boundaries + 1]]
    swap = boundaries[np.argmin(gaps)]
    ranking[[swap, swap + 1]] = ranking[[swap + 1, swap]]
    return ranking


def _cheapest_insertion(s: np.ndarray, classes: np.ndarray, ranking: np.ndarray, places: int):
    total = np.concatenate(([0.0], np.cumsum(s)))
    a, p = np.arange(len(s))[None, :], np.arange(places)[:, None]
    up = total[a] - total[p] - (a - p) * s[a]
    down = (p - a) * s[a] - (total[p + 1] - total[np.minimum(a + 1, len(s))])
    cost = np.where(p < a, up, down)
    cost[classes[ranking][None, :] == classes[:places][:, None]] = np.inf
    if not np.isfinite(cost).any():
        return None
    to, which = np.unravel_index(np.argmin(cost), cost.shape)
    document = ranking[which]
    return np.insert(np.delete(ranking, which), to, document)


def coefficients(
    ranking: np.ndarray, classes: np.ndarray, feature_map: str, alike: np.ndarray | None = None
) -> np.ndarray:
    """Return the coefficients of F in the scores; those of `alike` documents are averaged."""
    n = len(ranking)
    if feature_map == "cross":
        by_document = _cross_coefficients(ranking, classes)
    else:
        by_document = np.empty(n)
        by_document[ranking] = position_coefficients(n)
    if alike is None:
        return by_document
    return (np.bincount(alike, by_document) / np.bincount(alike))[alike]


def alike_documents(scores: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """Number the groups of documents of one class and one score, or return None if there are no such."""
    order = np.lexsort((scores, classes))
    s, c = scores[order], classes[order]
    new = (s[1:] != s[:-1]) | (c[1:] != c[:-1])
    if new.all():
        return None
    alike = np.empty(len(s), np.int64)
    alike[order] = np.append(0, np.cumsum(new))
    return alike


def _cross_coefficients(ranking: np.ndarray, classes: np.ndarray) -> np.ndarray:
    n = len(ranking)
    # Each class is a segment of the rows; `own_ahead` counts documents of a class ahead of one of its own.
    starts = np.flatnonzero(np.append(True, classes[1:] != classes[:-1]))
    sizes = np.diff(np.append(starts, n))
    which = np.repeat(np.arange(len(sizes)), sizes)[ranking]
    own_ahead = np.empty(n, np.int64)
    by_class = np.argsort(which, kind="stable")
    own_ahead[by_class] = np.arange(n) - np.repeat(starts, sizes)
    out = np.empty(n)
    out[ranking] = (n - sizes[which] - 2 * (np.arange(n) - own_ahead)) / ((n * n - sizes @ sizes) / 2)
    return out


class ViolatedRankings:
    """The searches for violated rankings of some queries, whose classes and feature map are fixed.

    Classes descend in each query; coefficients of queries that are not `active` are 0; `places` is how many
    first positions count, all by default.
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


#: F as the mean over pairs of a relevant and an irrelevant document, or as Eq. (2) over all pairs.
FEATURE_MAPS = ("cross", "pairs")


def position_coefficients(n: int) -> np.ndarray:
    """Return A(p) = (n + 1 − 2p) / (n (n − 1)) of positions 1 to n: Eq. (2) as a sum over documents."""
    return (n + 1 - 2.0 * np.arange(1, n + 1)) / (n * max(n - 1, 1))


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
