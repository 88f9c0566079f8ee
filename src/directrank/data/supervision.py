"""Supervision that is not a grade per document: preferences, observed rankings, and real labels.

Each has a standard form: one number r ≥ 0 per document, by whose expectation documents are ranked best. It
replaces relevance (see `directrank.surrogates.OrderPreserving`).
"""

import numpy as np

from directrank.data.grouping import query_codes
from directrank.errors import DataError


class PreferenceGraph:
    r"""Preferences between documents of one query: edges with weights.

    Its standard form, for the weighted pairwise disagreement under low noise, is

    .. math:: r_i = c_q + \sum_k (a_{ik} - a_{ki})

    with a the weight of preferring i to k and c the least constant of the query that leaves r ≥ 0 (the paper
    takes a larger one; the order of documents does not depend on it). Edges of several observers add up.

    Parameters
    ----------
    better, worse : array of int, shape (n_edges,)
        Rows of the documents, in the caller's order; both of one query.
    weight : array of shape (n_edges,), optional
        a > 0; 1 by default.

    Attributes
    ----------
    better, worse, weight : ndarray of shape (n_edges,)

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, section 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from directrank import PreferenceGraph
    >>> PreferenceGraph([0, 1], [1, 2]).standard_form(np.array(["q", "q", "q"]))
    array([2., 1., 0.])
    """

    def __init__(self, better, worse, weight=None):
        self.better, self.worse = np.asarray(better), np.asarray(worse)
        self.weight = np.ones(self.better.shape) if weight is None else np.asarray(weight, np.float64)

    def standard_form(self, qid: np.ndarray) -> np.ndarray:
        """Return r of each document, float64 (n_docs,), in the caller's row order.

        Raises
        ------
        DataError
            If an edge leaves the rows or its query, or a weight is not positive and finite.
        """
        codes, names = query_codes(qid)
        self._check(codes, names)
        n_docs = len(codes)
        net = np.bincount(self.better, self.weight, n_docs) - np.bincount(self.worse, self.weight, n_docs)
        least = np.zeros(len(names))
        np.minimum.at(least, codes, net)
        return net - least[codes]

    def _check(self, codes: np.ndarray, names: np.ndarray) -> None:
        shapes = {self.better.shape, self.worse.shape, self.weight.shape}
        if len(shapes) > 1 or self.better.ndim != 1 or not len(self.better):
            raise DataError("better, worse and weight must be vectors of one length: one entry an edge")
        ends = np.concatenate((self.better, self.worse))
        if ends.dtype.kind not in "iu" or ends.min() < 0 or ends.max() >= len(codes):
            raise DataError(f"edges join rows 0 to {len(codes) - 1}; expected whole numbers in that range")
        if not (np.isfinite(self.weight).all() and (self.weight > 0).all()):
            raise DataError("the weight of an edge must be positive and finite")
        if (self.better == self.worse).any():
            row = self.better[np.argmax(self.better == self.worse)]
            raise DataError(f"an edge joins row {row} to itself; expected two documents")
        apart = codes[self.better] != codes[self.worse]
        if apart.any():
            better, worse = self.better[np.argmax(apart)], self.worse[np.argmax(apart)]
            raise DataError(
                f"an edge joins row {better} of query {names[codes[better]]} and row {worse} of query "
                f"{names[codes[worse]]}; expected one query"
            )


class ObservedRankings:
    r"""Observed rankings of all documents of each query.

    The standard form of a ranking y, for the 0/1 error of permutations, counts Borda's points:
    :math:`r_i = n + 1 - y(i)`; of several rankings, their mean.

    Parameters
    ----------
    positions : array of shape (n_docs,) or (n_docs, n_rankings)
        The position of each document in its query, 1 to n, each once.

    Attributes
    ----------
    positions : ndarray of shape (n_docs,) or (n_docs, n_rankings)

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, section 5.4.

    Examples
    --------
    >>> import numpy as np
    >>> from directrank import ObservedRankings
    >>> ObservedRankings([2, 1, 3]).standard_form(np.array([7, 7, 7]))
    array([2., 3., 1.])
    """

    def __init__(self, positions):
        self.positions = np.asarray(positions)

    def standard_form(self, qid: np.ndarray) -> np.ndarray:
        """Return r of each document, float64 (n_docs,), in the caller's row order.

        Raises
        ------
        DataError
            If the positions of a query are not 1 to n, each once.
        """
        codes, names = query_codes(qid)
        table = self.positions[:, None] if self.positions.ndim == 1 else self.positions
        if table.ndim != 2 or len(table) != len(codes) or not table.shape[1]:
            raise DataError(
                f"positions have shape {self.positions.shape}, expected one position a row and ranking"
            )
        sizes = np.bincount(codes, minlength=len(names))
        place = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        for column in table.T:
            ranked = np.lexsort((column, codes))
            wrong = column[ranked] != place + 1
            if wrong.any():
                query = names[codes[ranked[np.argmax(wrong)]]]
                raise DataError(f"positions of query {query} are not 1 to n, each once")
        return sizes[codes] + 1.0 - table.mean(axis=1)


#: Every kind of supervision that can replace relevance.
class RealLabels:
    """Labels that may be any finite number, such as clicks divided by propensities; also below 0.

    Measures made for them, `ClickDCG` and its kin, are linear in labels: a label of 2 is worth two of 1.
    All other measures refuse them.

    Parameters
    ----------
    values : array of shape (n_docs,)

    Examples
    --------
    >>> from directrank import QueryGroups
    >>> from directrank.data import RealLabels
    >>> QueryGroups([[0.0], [1.0]], RealLabels([0.7, -0.1]), ["q", "q"]).relevance
    array([ 0.7, -0.1])
    """

    def __init__(self, values):
        self.values = np.asarray(values, np.float64)

    def checked(self, n_docs: int, where: str = "") -> np.ndarray:
        """Return the labels, float64 (n_docs,).

        Raises
        ------
        DataError
            If a label is not finite, or there is not one per document; the message begins with `where`.
        """
        shape = self.values.shape
        if shape != (n_docs,):
            raise DataError(f"{where}labels have shape {shape}, expected ({n_docs},): one per document")
        wrong = np.flatnonzero(~np.isfinite(self.values))
        if len(wrong):
            value = self.values[wrong[0]]
            raise DataError(f"{where}label of row {wrong[0]} is {value}; expected finite labels")
        return self.values


SUPERVISION = (PreferenceGraph, ObservedRankings)
