"""What each feature adds to the score of a document."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from directrank.features.medians import filled
from directrank.features.query_ranges import scaled_inside_queries
from directrank.scorers import Additive, Committee, Linear, LogLinear, QueryLinear, scores_in_queries


def contributions(scorer: Any, features: np.ndarray, indptr: np.ndarray) -> np.ndarray | None:
    """Return the terms of each score by feature, float64 (n_docs, n_features); a row adds up to the score.

    Parameters
    ----------
    scorer : Scorer
    features : ndarray of shape (n_docs, n_features), float32
    indptr : ndarray of shape (n_queries + 1,), int64
        Query q has the rows ``indptr[q]:indptr[q + 1]``.

    Returns
    -------
    ndarray or None
        None if a weak ranker reads several features, so that its value belongs to none of them.
    """
    if isinstance(scorer, Committee):
        return _of_committee(scorer, features, indptr)
    if isinstance(scorer, Additive):
        return _of_trees(scorer, features)
    if not isinstance(scorer, (Linear, LogLinear, QueryLinear)):
        return None
    if isinstance(scorer, QueryLinear):
        features = scaled_inside_queries(features, indptr)
    if scorer.fill is not None:
        features = filled(features, scorer.fill)
    values = features.astype(np.float64)
    if isinstance(scorer, LogLinear):
        values = np.where(scorer.logarithm, np.sign(values) * np.log1p(np.abs(values)), values)
    return values * np.asarray(scorer.coefficients)


def _of_trees(scorer: Additive, features: np.ndarray) -> np.ndarray | None:
    out = np.zeros(features.shape)
    for number in range(scorer.n_rounds):
        tree = scorer.weak_ranker(number)
        if number in scorer.others:
            return None
        read = np.unique(tree.feature[(tree.left >= 0) | (tree.slope != 0)])
        if len(read) > 1:
            return None
        # A constant is the same for all documents; it goes to the feature of the first node.
        column = read[0] if len(read) else tree.feature[0]
        out[:, column] += np.asarray(scorer.coefficients)[number] * tree.predict(features)
    return out


def _of_committee(scorer: Committee, features: np.ndarray, indptr: np.ndarray) -> np.ndarray | None:
    total = np.zeros(features.shape)
    for member in scorer.members:
        terms = contributions(member, features, indptr)
        if terms is None:
            return None
        scores = scores_in_queries(member, features, indptr)
        for first, last in pairwise(indptr.tolist()):
            rows, those = terms[first:last], scores[first:last]
            if those.size and those.min() < those.max():
                centred = those - math.fsum(those) / those.size
                deviation = math.sqrt(math.fsum(centred * centred) / those.size)
                total[first:last] += (rows - rows.mean(axis=0)) / deviation
    return total / len(scorer.members)
