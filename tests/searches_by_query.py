"""What PermuRank searches for, query by query: a second writing of the searches over many queries at once."""

import numpy as np

from directrank.surrogates.rankings.permutations import position_coefficients


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
