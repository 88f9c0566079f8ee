"""Several rankers as one: a weighted sum of scorers, or the mean of scores standardised inside each query."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from directrank.contracts import Scorer
from directrank.errors import DataError
from directrank.scorers.linear import LINEAR, QueryLinear
from directrank.scorers.trees import Additive, Trees


class Sum:
    """f(x) = Σ_m w_m f_m(x), a function of one document where all its terms are.

    Parameters
    ----------
    terms : sequence of Scorer
        Scorers of the same features.
    weights : array of shape (n_terms,), float64
    """

    kind = "sum"
    #: Each term has its own.
    fill = None

    def __init__(self, terms: Sequence[Scorer] = (), weights: Any = ()):
        self.terms, self.weights = tuple(terms), np.asarray(weights, np.float64)

    def __repr__(self) -> str:
        return f"Sum({', '.join(map(repr, self.terms)) or 'not trained'})"

    def scores(self, features: np.ndarray, indptr: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,).

        Parameters
        ----------
        features : ndarray of shape (n_docs, n_features), float32
        indptr : ndarray of shape (n_queries + 1,), int64, optional
            Query q has the rows ``indptr[q]:indptr[q + 1]``; for terms that read whole queries.

        Raises
        ------
        DataError
            If a term reads whole queries, and they are not given.
        """
        total = np.zeros(len(features))
        for weight, term in zip(self.weights, self.terms, strict=True):
            total += weight * scores_in_queries(term, features, indptr)
        return total


def summed(scorers: Sequence[Scorer], weights: Sequence[float]) -> Scorer:
    """Return Σ_m w_m f_m as one scorer.

    Linear scorers of one scaling become one vector of weights, and trees of one kind one scorer. A sum with a
    single term is that term.
    """
    alike: dict[object, list[tuple[float, Any]]] = {}
    for weight, scorer in zip(weights, scorers, strict=True):
        inner = zip(weight * scorer.weights, scorer.terms, strict=True) if type(scorer) is Sum else None
        for term in inner or [(weight, scorer)]:
            alike.setdefault(_key(term[1]), []).append(term)
    terms = [_added(group) for group in alike.values()]
    if len(terms) == 1 and terms[0][0] == 1.0:
        return terms[0][1]
    return Sum([scorer for _, scorer in terms], [weight for weight, _ in terms])


def _key(scorer: Any) -> object:
    """Return what is equal for scorers that add up to one scorer of the same class."""
    if type(scorer) in LINEAR:
        arrays = (scorer.fill, getattr(scorer, "logarithm", None))
        return type(scorer), *(None if array is None else array.tobytes() for array in arrays)
    if type(scorer) is Trees:
        return Trees, scorer.feature_dtype
    return Additive if type(scorer) is Additive else id(scorer)


def _added(group: Sequence[tuple[float, Any]]) -> tuple[float, Any]:
    """Return a weight and the scorer that it multiplies, for scorers of one key."""
    first = group[0][1]
    if type(first) is Trees:
        return 1.0, Trees.concatenate([scorer.times(weight) for weight, scorer in group])
    if isinstance(first, Additive):
        return 1.0, Additive.concatenate([scorer.times(weight) for weight, scorer in group])
    if isinstance(first, LINEAR):
        coefficients = [weight * np.asarray(scorer.coefficients) for weight, scorer in group]
        return 1.0, first.at(np.sum(coefficients, axis=0))
    return math.fsum(weight for weight, _ in group), first


def mean_deviation(scores: np.ndarray, indptr: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the standard deviation of scores inside a query, as the weighted mean over queries."""
    deviations = [_deviation(scores[first:last])[1] for first, last in pairwise(indptr.tolist())]
    return float(np.average(deviations, weights=weights))


class StandardisedMean:
    """f(x) = Σ_m (f_m(x) − mean_q f_m) / deviation_q f_m / M, over the documents of the query of x.

    Scores of unlike rankers have unlike scales, and only their differences inside a query mean something. A
    member whose scores are equal on a query adds nothing to it.

    Parameters
    ----------
    members : sequence of Scorer
        Scorers of the same features.
    """

    kind = "standardised-mean"

    def __init__(self, members: Sequence[Scorer] = ()):
        self.members = tuple(members)

    def __repr__(self) -> str:
        return f"StandardisedMean({', '.join(map(repr, self.members)) or 'not trained'})"

    def scores(self, features: np.ndarray, indptr: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of documents, as `QueryLinear.scores` does."""
        if indptr is None:
            raise DataError(
                "the model averages scores inside each query: pass qid=… with the query of each row"
            )
        total = np.zeros(len(features))
        for member in self.members:
            total += standardised_scores(scores_in_queries(member, features, indptr), indptr)
        return total / len(self.members)


def reads_queries(scorer: Any) -> bool:
    """Return whether the score of a document depends on the other documents of its query."""
    if isinstance(scorer, Sum):
        return any(map(reads_queries, scorer.terms))
    return isinstance(scorer, (StandardisedMean, QueryLinear))


def scores_in_queries(scorer: Any, features: np.ndarray, indptr: np.ndarray | None) -> np.ndarray:
    """Return a scorer's scores, which some scorers compute from all documents of a query."""
    return scorer.scores(features, indptr) if reads_queries(scorer) else scorer.scores(features)


def standardised_scores(scores: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return scores with mean 0 and deviation 1 inside each query; 0 where all are equal."""
    out = np.zeros(len(scores))
    for first, last in pairwise(indptr.tolist()):
        centred, deviation = _deviation(scores[first:last])
        if deviation:
            out[first:last] = centred / deviation
    return out


def _deviation(scores: np.ndarray) -> tuple[np.ndarray, float]:
    """Return scores less their mean, and their standard deviation, which is 0 only where all are equal.

    Sums are exact (`math.fsum`), so that the order of the documents changes no bit.
    """
    if not (scores.size and scores.min() < scores.max()):
        return np.zeros(len(scores)), 0.0
    # Lists are added faster than arrays.
    centred = scores - math.fsum(scores.tolist()) / scores.size
    return centred, math.sqrt(math.fsum((centred * centred).tolist()) / scores.size)
