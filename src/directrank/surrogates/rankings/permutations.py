"""The most violated perfect and imperfect rankings of one query, for PermuRank.

Documents have classes, sorted in descending order. A ranking is perfect when its first K positions hold the
same classes as the ranking sorted by class. There are two linear maps of a ranking: Eq. (2) of the paper,
``"pairs"``, a sum over all pairs, and ``"cross"``, the mean over pairs of different classes.
"""

import numpy as np

from directrank.surrogates.rankings.feature_maps import position_coefficients


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
