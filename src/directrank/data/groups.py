"""Documents of queries in memory: features, relevance, qid."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from numbers import Number
from os import PathLike
from types import MappingProxyType
from typing import Any

import numpy as np

from directrank.data.cells import as_numbers
from directrank.data.coded_rows import CodedRows
from directrank.data.frame_columns import coded, column_names, in_names, numeric
from directrank.data.grouping import (
    checked_qid,
    checked_relevance,
    group_rows,
    id_array,
    refuse_other_order,
    whole_numbers,
)
from directrank.data.memory import as_dense
from directrank.data.queries import Queries
from directrank.data.supervision import SUPERVISION, RealLabels
from directrank.data.tabular import SHOWN, Bars, Tabular
from directrank.errors import DataError
from directrank.features import ArrayFeatures, Features
from directrank.features.shards import Shard, make_shards
from directrank.kernels.aligned import aligned_zeros

#: Columns whose rows are copied at a time when an array is reordered in place.
COLUMNS_AT_ONCE = 8
#: How many documents a digest reads.
DIGESTED = 64


class QueryGroups(Tabular):
    """Documents as feature vectors, grouped by query, with their relevance.

    All public attributes are in the caller's row order. Internally, queries are contiguous and their
    documents are sorted by descending relevance (see `Queries`), as kernels need them.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_docs, n_features)
        Finite features; stored as dense float32. Columns of text and of categories are categorical.
    relevance : array of shape (n_docs,), PreferenceGraph, ObservedRankings or RealLabels, optional
        Grades, finite and not negative, or ordered categories. None for documents without relevance. Other
        supervision is converted to its standard form, but for real labels, which stay as they are.
    qid : array of shape (n_docs,)
        The query of each document, of any hashable type and in any order.
    docid : array of shape (n_docs,), optional
        Names of documents.
    feature_names : sequence of str, optional
        By default the names of the columns of a data frame.
    name : str, default=""
        Source of the data, for messages.
    categories : mapping of str to tuple of str, optional
        The sorted values of each categorical column, whose features are codes: the place of the value, and
        -1 where it is missing. By default those of a data frame.
    overwrite_X : bool, default=False
        Reorder the rows of X itself, which saves a copy. It must be a writable array, float32 and
        C-contiguous, and is of no use if an error follows; nor are views of it, or other groups of it.

    Attributes
    ----------
    X : ndarray of shape (n_docs, n_features), float32
    relevance : ndarray of shape (n_docs,), float64
        Zeros for documents without relevance.
    qid, docid : ndarray of shape (n_docs,)
        `docid` is None if none was given.
    feature_names : tuple of str, or None
    categories : dict of str to tuple of str
    n_docs, n_queries, n_features : int

    Raises
    ------
    DataError
        If lengths differ, a feature is infinite, relevance is not a grade, or X cannot be overwritten.

    Examples
    --------
    >>> from directrank import QueryGroups
    >>> groups = QueryGroups([[0.5], [1.0], [0.2]], [0, 1, 1], ["a", "a", "b"])
    >>> groups.n_docs, groups.n_queries
    (3, 2)
    """

    #: Whether the features may be written to: they were copied to bring them into the inner order, or X may
    #: be overwritten.
    is_copy = False
    #: The features, wherever they lie.
    source: Features
    #: The `directrank.data.reading_record.ReadingRecord` of the file, if the documents are of one.
    reading: Any = None
    #: The `directrank.data.encoding.Encoding` that made the features from categorical columns, if one did.
    encoding: Any = None

    def __init__(
        self, X, relevance=None, qid=None, *, docid=None, feature_names=None, name="", categories=None,
        overwrite_X=False,
    ):  # fmt: skip
        if overwrite_X:
            check_overwritable(X)
        refuse_other_order({"X": X, "relevance": relevance, "qid": qid, "docid": docid})
        names_of_columns = None
        if type(X) is not np.ndarray:
            X = np.asarray(X) if isinstance(X, CodedRows) and categories is not None else in_names(X)
            names_of_columns = column_names(X)
            if categories is None and names_of_columns is not None:
                X, categories = coded(X)
            X = as_dense(X, name or "X") if names_of_columns is None else numeric(X)
        features = checked_features(X, name)
        n_docs = len(features)
        if qid is None:
            raise DataError("qid is missing: give the query of each row")
        names = checked_qid(qid, n_docs, name)
        standardised = isinstance(relevance, SUPERVISION)
        relevance = relevance.standard_form(names) if standardised else relevance
        real = isinstance(relevance, RealLabels)
        if isinstance(relevance, RealLabels):
            grades = relevance.checked(n_docs, f"{name}: " if name else "")
        else:
            grades = np.zeros(n_docs) if relevance is None else checked_relevance(relevance, n_docs, name)
        docid = (
            None if docid is None else whole_numbers(id_array(docid, f"{name}: docid" if name else "docid"))
        )
        if docid is not None and docid.shape != (n_docs,):
            raise DataError(f"docid has shape {docid.shape}, expected ({n_docs},): one name per row")
        queries, order = group_rows(grades, names, docid, name=name)
        queries = replace(queries, standardised=standardised, real=real)
        if not np.array_equal(order, np.arange(n_docs)):
            features = (reorder if overwrite_X else aligned_rows)(features, order)
            self.is_copy = True
        self.is_copy |= overwrite_X
        self._adopt(
            ArrayFeatures(features, queries.indptr),
            queries,
            names_of_columns if feature_names is None else feature_names,
            name,
            labelled=relevance is not None,
            categories=categories or {},
        )

    @classmethod
    def from_inner(
        cls, features, queries, *, feature_names=None, name="", labelled=True,
        categories: Mapping[str, tuple[str, ...]] = MappingProxyType({}), reading=None,
    ) -> "QueryGroups":  # fmt: skip
        """Make query groups from features whose rows are already in the inner order, without a copy."""
        groups, source = cls.__new__(cls), features
        if isinstance(features, np.ndarray):
            if not (features.dtype == np.float32 and features.flags.c_contiguous):
                raise DataError("features must be float32 and C-contiguous")
            source = ArrayFeatures(features, queries.indptr)
        groups._adopt(source, queries, feature_names, name, labelled, categories)
        groups.reading = reading
        return groups

    def _adopt(self, source: Features, queries: Queries, feature_names, name, labelled, categories):
        self.source = source
        self.queries = queries
        self.name = name
        self.labelled = labelled
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))
        names = self.feature_names or ()
        if self.feature_names is not None and len(names) != self.n_features:
            raise DataError(f"{len(names)} feature names for {self.n_features} features; expected one each")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"two features are called {twice!r}; expected different names")
        if categories and not names:
            raise DataError("categorical columns need feature_names")
        # Some of the columns may have been left out.
        self.categories = {name: categories[name] for name in names if name in categories}

    def digest(self) -> str:
        """Return a digest of the grades and of some documents; "" if features are in other processes."""
        if self.source.workers is not None:
            return ""
        digest = blake2b(self.queries.indptr.tobytes(), digest_size=8)
        digest.update(self.queries.relevance.tobytes())
        digest.update(self.features[:: max(1, len(self.features) // DIGESTED)].tobytes())
        return digest.hexdigest()

    def select(self, queries) -> "QueryGroups":
        """Return the selected queries, with their documents in the caller's row order.

        Parameters
        ----------
        queries : array of bool, shape (n_queries,), or of int
            The queries to select, in the order of `queries.qid`; each at most once.

        Raises
        ------
        DataError
            If a query is selected twice or does not exist.
        """
        return self._with(*self.queries.chosen(_mask_of(queries, self.n_queries)))

    def select_documents(self, documents) -> "QueryGroups":
        """Return the selected documents, in the caller's row order; queries without one are left out.

        Parameters
        ----------
        documents : array of bool, shape (n_docs,)
            Whether to select each row.

        Raises
        ------
        DataError
            If there is not one value per row.
        """
        which = np.asarray(documents)
        if which.shape != (self.n_docs,) or which.dtype != np.bool_:
            raise DataError(f"documents are selected by {self.n_docs} values of bool, one per row")
        return self._with(*self.queries.with_documents(self.to_inner(which)))

    def _with(self, part: Queries, docs: np.ndarray) -> "QueryGroups":
        """Return the documents at some places of the inner order, whose label side is `part`."""
        if self.source.workers is not None:
            raise TypeError("features are in other processes: select before they are distributed")
        return self.of_part(part, aligned_rows(self.features, docs))

    def of_part(self, part: Queries, features: np.ndarray) -> "QueryGroups":
        """Return some of the documents, whose label side is `part`, with their features."""
        row = np.empty_like(part.row)
        row[np.argsort(part.row)] = np.arange(len(features))
        selected = self.with_features(features, queries=replace(part, row=row))
        selected.encoding = self.encoding
        return selected

    @classmethod
    def concatenate(cls, parts: "Sequence[QueryGroups]") -> "QueryGroups":
        """Return the queries of several groups with the same features as one collection.

        Raises
        ------
        DataError
            If categorical columns have other values, or labels are of another kind.
        """
        first = parts[0]
        if any(part.categories != first.categories for part in parts):
            raise DataError(
                "the sets have different values in categorical columns; read all queries as one set"
            )
        together = first.with_features(
            np.concatenate([part.features for part in parts]),
            queries=Queries.concatenate([part.queries for part in parts]),
        )
        together.encoding = first.encoding
        return together

    def with_features(
        self, features: Features | np.ndarray, feature_names=None, *, queries: Queries | None = None
    ) -> "QueryGroups":
        """Return the same queries, or some of them, with other features."""
        return QueryGroups.from_inner(
            features,
            self.queries if queries is None else queries,
            feature_names=self.feature_names if feature_names is None else feature_names,
            name=self.name,
            labelled=self.labelled,
            categories=self.categories,
            reading=self.reading,
        )

    @property
    def features(self) -> Any:
        """Features, float32 (n_docs, n_features), in the inner order: an array, if this process has them."""
        return self.source.rows

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
        return self.source.shape[1]

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        sizes = f"{self.n_queries} queries, {self.n_docs} documents, {self.n_features} features"
        return f"<QueryGroups{name}: {sizes}>"

    def _table(self) -> dict[str, Any]:
        return self._rows(slice(None))

    def _rows(self, rows: slice) -> dict[str, Any]:
        """Return the columns of some documents by name, as `from_frame` reads them: ids, grades, features."""
        names = self.feature_names or tuple(f"f{number + 1}" for number in range(self.n_features))
        columns = {role: getattr(self.reading, role, None) for role in ("qid", "label", "docid")}
        ids = {columns["qid"] or "qid": self.qid[rows]}
        if self.docid is not None:
            ids[columns["docid"] or "docid"] = self.docid[rows]
        if self.labelled:
            ids[columns["label"] or "relevance"] = self.relevance[rows]
        if both := sorted({*ids} & {*names}):
            raise DataError(f"a feature is called {both[0]!r}, as the column of ids or grades; rename it")
        return {**ids, **CodedRows.of(np.asarray(self.X)[rows], names, self.categories).table()}

    def _title(self) -> str:
        return repr(self)[1:-1]

    def _first_rows(self) -> tuple[dict[str, Any], int]:
        return self._rows(slice(SHOWN)), self.n_docs

    def _bars(self) -> Bars:
        grades, counts = np.unique(self.relevance, return_counts=True)
        return Bars("documents of each grade", [f"{grade:g}" for grade in grades], counts.tolist())

    def to_caller(self, inner: np.ndarray) -> np.ndarray:
        """Reorder values of documents from the inner order to the caller's row order."""
        values = np.empty_like(inner)
        values[self.queries.row] = inner
        return values

    def to_inner(self, values: np.ndarray) -> np.ndarray:
        """Reorder values of documents from the caller's row order to the inner order."""
        return values[self.queries.row]

    @property
    def X(self) -> np.ndarray:  # noqa: N802 - the field's name
        """Features, float32 of shape (n_docs, n_features), in the caller's row order (a copy).

        Of categorical columns they are codes. Rows of it, such as ``X[:20]``, keep what the codes stand for.
        """
        X = self.to_caller(self.features)
        return CodedRows.of(X, self.feature_names or (), self.categories) if self.categories else X

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
        """Runs of whole queries, over which work is split; they depend on the data alone."""
        return make_shards(self.queries.indptr, self.n_features)


def as_groups(data, function: str) -> QueryGroups:
    """Return the query groups that a function was given; raise DataError if the data are of another kind."""
    if isinstance(data, QueryGroups):
        return data
    if isinstance(data, (str, PathLike)):
        raise DataError(f"{function} takes query groups, not a path: pass load_data({str(data)!r})")
    how = "from_frame(frame, …)" if column_names(data) else "QueryGroups(X, relevance, qid)"
    raise DataError(f"{function} takes query groups, not {type(data).__name__}: pass {how}")


def _mask_of(queries, n_queries: int) -> np.ndarray:
    wanted = np.asarray(queries)
    if wanted.dtype == np.bool_:
        if wanted.shape != (n_queries,):
            raise DataError(
                f"the mask has shape {wanted.shape}, expected ({n_queries},): one value per query"
            )
        return wanted
    mask = np.zeros(n_queries, np.bool_)
    if not wanted.size:
        return mask
    if wanted.dtype.kind not in "iu" or wanted.min() < -n_queries or wanted.max() >= n_queries:
        raise DataError(f"queries are selected by numbers below {n_queries}, or by a mask")
    mask[wanted] = True
    if mask.sum() != wanted.size:
        raise DataError("a query is selected twice; each can be selected once")
    return mask


def check_overwritable(X, *read_later: object) -> None:
    """Raise DataError if the rows of X cannot be reordered and scaled where they are.

    Nor can they if other data, which are read after that, are a view of them, or may be.
    """
    found = type(X).__name__
    if isinstance(X, np.ndarray):
        found = f"an array of {X.dtype}"
        if not X.flags.carray:
            found += " in another order" if X.flags.writeable else " that is read-only"
    if not (isinstance(X, np.ndarray) and X.dtype == np.float32 and X.flags.carray):
        raise DataError(
            f"overwrite_X needs a writable, C-contiguous array of float32, not {found}: convert it first, or "
            "omit overwrite_X"
        )
    arrays = [array for data in read_later for array in _not_scalars(data)]
    if not all(isinstance(array, np.ndarray) for array in arrays):
        raise DataError(
            "overwrite_X: give weights and validation data as arrays, lists of numbers or QueryGroups, of "
            "which it is known whether they share their memory with X, or omit it"
        )
    if any(np.may_share_memory(X, array) for array in arrays):
        raise DataError(
            "overwrite_X: weights or validation data share their memory with X: copy them, or omit it"
        )


def _not_scalars(data: object) -> Iterator[object]:
    """Yield the features of a `QueryGroups`, and of other data all but numbers and text, in lists too."""
    if isinstance(data, list | tuple):
        for each in data:
            yield from _not_scalars(each)
    elif not isinstance(data, Number | np.generic | str | None):
        yield data.features if isinstance(data, QueryGroups) else data


def checked_features(X, name: str = "") -> np.ndarray:
    """Return X as C-contiguous float32.

    Raises DataError if X is not two-dimensional and numeric, or holds infinity or a number beyond float32:
    the first such value is named. NaN is a missing value.
    """
    where = f"{name}: " if name else ""
    values = as_numbers(X, np.float32, f"{where}X")
    with np.errstate(over="ignore"):
        features = np.ascontiguousarray(values, dtype=np.float32)
    if values.ndim != 2:
        raise DataError(f"{where}X has {values.ndim} dimension(s), expected 2: documents × features")
    # A sum is finite only if all its terms are. If finite terms overflow, each is checked for nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        total = features.sum()
    if not np.isfinite(total):
        row, column = np.unravel_index(np.argmax(np.isinf(features)), features.shape)
        if np.isinf(features[row, column]):
            raise DataError(
                f"{where}X holds {values[row, column]} in row {row}, column {column}; "
                "expected finite float32 values, at most 3.4e38, or NaN where a value is missing"
            )
    return features


def aligned_rows(features: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return ``features[rows]``, aligned."""
    out = aligned_zeros((len(rows), features.shape[1]), features.dtype)
    return np.take(features, rows, axis=0, out=out, mode="clip")


def reorder(features: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the array itself, which becomes ``features[rows]``; `rows` has each row once."""
    for first in range(0, features.shape[1], COLUMNS_AT_ONCE):
        columns = features[:, first : first + COLUMNS_AT_ONCE]
        columns[:] = columns[rows]
    return features
