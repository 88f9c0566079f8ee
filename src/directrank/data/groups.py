"""Documents of queries in memory: features, relevance, qid."""

from functools import cached_property

import numpy as np

from directrank.data.grouping import checked_relevance, group_rows
from directrank.data.queries import Queries
from directrank.data.shards import Shard, make_shards
from directrank.errors import DataError


class QueryGroups:
    """Documents as feature vectors, grouped by query, with their relevance.

    What is public is in the caller's row order. Inside, queries are contiguous and documents sorted by
    descending relevance (see `Queries`), which is what kernels run on.

    Parameters
    ----------
    X : array of shape (n_docs, n_features)
        Finite features; kept as float32.
    relevance : array of shape (n_docs,), optional
        Grades, finite and not negative. None for documents that are only to be ranked.
    qid : array of shape (n_docs,)
        The query of each document, of any hashable type and in any order.
    docid : array of shape (n_docs,), optional
        Names of documents.
    feature_names : sequence of str, optional
    name : str, default=""
        Where the data came from; messages use it.

    Raises
    ------
    DataError
        If lengths differ, a feature is missing or infinite, or relevance is not a grade.

    Examples
    --------
    >>> groups = QueryGroups([[0.5], [1.0], [0.2]], [0, 1, 1], ["a", "a", "b"])
    >>> groups.n_docs, groups.n_queries
    (3, 2)
    """

    def __init__(self, X, relevance=None, qid=None, *, docid=None, feature_names=None, name=""):
        features = checked_features(X, name)
        n_docs = len(features)
        if qid is None:
            raise DataError("qid is missing: give the query of each row")
        qid = np.asarray(qid)
        if qid.shape != (n_docs,):
            raise DataError(f"qid has shape {qid.shape}, expected ({n_docs},): one query a row")
        grades = np.zeros(n_docs) if relevance is None else checked_relevance(relevance, n_docs)
        docid = None if docid is None else np.asarray(docid)
        queries, order = group_rows(grades, qid, docid)
        in_order = np.array_equal(order, np.arange(n_docs))
        self._adopt(
            features if in_order else np.ascontiguousarray(features[order]),
            queries,
            feature_names,
            name,
            labelled=relevance is not None,
        )

    @classmethod
    def from_inner(cls, features, queries, *, feature_names=None, name="", labelled=True) -> "QueryGroups":
        """Adopt rows that are already in the inner order, without a copy (for readers)."""
        groups = cls.__new__(cls)
        groups._adopt(features, queries, feature_names, name, labelled)
        return groups

    def _adopt(self, features, queries: Queries, feature_names, name, labelled):
        if not (features.dtype == np.float32 and features.flags.c_contiguous):
            raise DataError("features must be float32 and C-contiguous")
        self.features = features
        self.queries = queries
        self.name = name
        self.labelled = labelled
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return self.queries.n_docs

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.queries.n_queries

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.features.shape[1]

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"<QueryGroups{name}: {self.n_queries} queries, {self.n_docs} documents, {self.n_features} features>"

    def to_caller(self, inner: np.ndarray) -> np.ndarray:
        """Bring values of documents from the inner order to the caller's row order."""
        values = np.empty_like(inner)
        values[self.queries.row] = inner
        return values

    def to_inner(self, values: np.ndarray) -> np.ndarray:
        """Bring values of documents from the caller's row order to the inner order."""
        return values[self.queries.row]

    @property
    def X(self) -> np.ndarray:
        """Features, float32 of shape (n_docs, n_features), in the caller's row order (a copy)."""
        return self.to_caller(self.features)

    @property
    def relevance(self) -> np.ndarray:
        """Relevance, float64 of shape (n_docs,), in the caller's row order."""
        return self.to_caller(self.queries.relevance)

    @property
    def qid(self) -> np.ndarray:
        """The query of each document, in the caller's row order."""
        return self.to_caller(np.repeat(self.queries.qid, self.queries.sizes))

    @property
    def docid(self) -> np.ndarray | None:
        """Names of documents in the caller's row order, or None."""
        return None if self.queries.docid is None else self.to_caller(self.queries.docid)

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """The atoms of work: runs of whole queries, a function of the data alone."""
        return make_shards(self.queries.indptr, self.n_features)


def checked_features(X, name: str = "") -> np.ndarray:
    """Return X as C-contiguous float32, or name the first value that is not finite.

    Raises
    ------
    DataError
        If X is not two-dimensional and numeric, or holds NaN or infinity.
    """
    features = np.ascontiguousarray(X, dtype=np.float32)
    if features.ndim != 2:
        raise DataError(f"X has {features.ndim} dimension(s), expected 2: documents × features")
    # A sum is finite if all its terms are; a sum that overflows only costs the second look.
    if not np.isfinite(features.sum(dtype=np.float64)):
        wrong = np.argwhere(~np.isfinite(features))
        if len(wrong):
            row, column = wrong[0]
            where = f"{name}: " if name else ""
            raise DataError(
                f"{where}X holds {features[row, column]} in row {row}, column {column}; "
                "expected finite float32 values. Fill missing values first."
            )
    return features
