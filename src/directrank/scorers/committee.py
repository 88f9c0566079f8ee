"""Committee: the mean of several rankers' scores, each standardised inside each query."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from directrank.errors import DataError
from directrank.scorers.linear import QueryLinear


class Committee:
    """f(x) = Σ_m (f_m(x) − mean_q f_m) / deviation_q f_m / M, over the documents of the query of x.

    Scores of unlike rankers have unlike scales, and only their differences inside a query mean something. A
    member whose scores are equal on a query adds nothing to it.

    Parameters
    ----------
    members : sequence of Scorer
        Scorers of the same features.
    """

    kind = "committee"

    def __init__(self, members: Sequence[Any] = ()):
        self.members = tuple(members)

    def __repr__(self) -> str:
        return f"Committee({', '.join(map(repr, self.members)) or 'not trained'})"

    def scores(self, features: np.ndarray, indptr: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,).

        Parameters
        ----------
        features : ndarray of shape (n_docs, n_features), float32
        indptr : ndarray of shape (n_queries + 1,), int64
            Query q has the rows ``indptr[q]:indptr[q + 1]``.

        Raises
        ------
        DataError
            If the queries are not given.
        """
        if indptr is None:
            raise DataError(
                "the model averages scores inside each query: pass qid=… with the query of each row"
            )
        total = np.zeros(len(features))
        for member in self.members:
            total += standardised_scores(scores_in_queries(member, features, indptr), indptr)
        return total / len(self.members)


def scores_in_queries(scorer: Any, features: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return a scorer's scores, which some scorers compute from all documents of a query."""
    reads = isinstance(scorer, (Committee, QueryLinear))
    return scorer.scores(features, indptr) if reads else scorer.scores(features)


def standardised_scores(scores: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return scores with mean 0 and deviation 1 inside each query; 0 where all are equal.

    Sums are exact (`math.fsum`), so that the order of the documents changes no bit.
    """
    out = np.zeros(len(scores))
    for first, last in pairwise(indptr.tolist()):
        those = scores[first:last]
        if those.size and those.min() < those.max():
            centred = those - math.fsum(those) / those.size
            out[first:last] = centred / math.sqrt(math.fsum(centred * centred) / those.size)
    return out
