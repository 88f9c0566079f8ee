"""What a fitted ranker reads: documents, with columns and missing values as in training."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from directrank.data.categories import Values
from directrank.data.cells import as_numbers
from directrank.data.columns import ReadOptions
from directrank.data.encoding import encoded
from directrank.data.frame_columns import coded, column_names, in_names, numeric
from directrank.data.frames import columns_in_order
from directrank.data.grouping import checked_qid, refuse_other_order
from directrank.data.groups import QueryGroups
from directrank.data.memory import as_dense
from directrank.errors import DataError
from directrank.estimators.sklearn_interface import check_fitted
from directrank.features import ArrayFeatures, Features
from directrank.features.statistics import fill_query_minimum

#: A `Ranker`, whose module imports this one.
FittedRanker = Any


class LibraryReading(NamedTuple):
    """How files are read for models of another library: see `ReadOptions`."""

    names: str = ""  # Of features without names
    counts_fit: bool = False  # Its files may count features from 0
    skips_beyond: bool = False
    left_out_are_missing: bool = False


LIBRARIES = {
    "LightGBM": LibraryReading("Column_{}", counts_fit=True),
    "XGBoost": LibraryReading("f{}", counts_fit=True, left_out_are_missing=True),
    "RankLib": LibraryReading(skips_beyond=True),
}


def library_reading(ranker: FittedRanker) -> LibraryReading:
    """Return how files are read for a model of another library; for rankers of ours nothing differs."""
    return LIBRARIES.get(getattr(ranker, "library_", ""), LibraryReading())


def stand_ins(ranker: FittedRanker) -> list[str]:
    """Return the names that a library has for features without names, if the ranker is such a model of it."""
    form = library_reading(ranker).names
    names = [form.format(at) for at in range(ranker.n_features_in_)] if form else []
    own_names = getattr(ranker, "feature_names_in_", None)
    return names if own_names is None or list(own_names) == names else []


def options_for(ranker: FittedRanker, how: ReadOptions) -> ReadOptions:
    """Return how to read a file for a fitted ranker: the features that it needs, and as in training."""
    instead, encoding, library = stand_ins(ranker), ranker.encoding_, library_reading(ranker)
    names = None if instead else getattr(ranker, "feature_names_in_", None)
    return replace(
        how, features=list(names) if how.features is None and names is not None else how.features,
        stand_ins=instead, n_features=ranker.n_features_in_,
        categorical=list(encoding.values) if encoding else (), training=ranker.reading_,
        counts_fit=library.counts_fit, skips_beyond=library.skips_beyond,
        left_out_are_missing=library.left_out_are_missing,
    )  # fmt: skip


def check_columns(n_columns: int, ranker: FittedRanker) -> None:
    """Raise `ValueError`, in scikit-learn's words, if a fitted ranker has another number of features."""
    if n_columns != ranker.n_features_in_:
        remedy = "; if it was trained on a file whose features count from 0, read with first_feature=0"
        raise ValueError(
            f"X has {n_columns} features, but {type(ranker).__name__} is expecting "
            f"{ranker.n_features_in_} features as input" + remedy * hasattr(ranker, "library_")
        )


def in_order(ranker: FittedRanker, X) -> Any:
    """Return the columns of a data frame, or of query groups, in the order of the features of a ranker.

    Columns for a library's model without names are found by the names that stand for them, or else by their
    places, and a warning says so.
    """
    names, instead = getattr(ranker, "feature_names_in_", None), stand_ins(ranker)
    X = in_names(X, names, trained=True)
    columns = X.feature_names if isinstance(X, QueryGroups) else column_names(X)
    if not instead or columns is None or not all(isinstance(name, str) for name in columns):
        return columns_in_order(X, names)
    if set(instead) <= set(columns):
        X = columns_in_order(X, instead)
    else:
        check_columns(len(columns), ranker)
        warnings.warn(
            f"the model has no names of features: columns are read by their places, {columns[0]!r} as "
            f"{instead[0]}, {columns[-1]!r} as {instead[-1]}",
            stacklevel=5 if isinstance(X, QueryGroups) else 4,
        )
    if isinstance(X, QueryGroups):
        return X
    import narwhals as nw

    numbers: Any = numeric(X)
    table = nw.from_native(numbers, eager_only=True)
    if names is None:
        return table.to_numpy()
    return table.rename(dict(zip(table.columns, instead, strict=True))).to_native()


def names_of_columns(ranker: FittedRanker) -> tuple[str, ...]:
    """Return the names of a fitted ranker's columns.

    Without names they are those by which the model's library calls them, such as Column_0, or f1, f2, … as
    LETOR text counts.
    """
    default = stand_ins(ranker) or [f"f{number + 1}" for number in range(ranker.n_features_in_)]
    return tuple(map(str, getattr(ranker, "feature_names_in_", default)))


def names_of_features(ranker: FittedRanker) -> tuple[str, ...]:
    """Return the names of the features of a fitted ranker's scorer: several for a categorical column."""
    encoding = ranker.encoding_
    return names_of_columns(ranker) if encoding is None else encoding.feature_names


def categorical_columns(ranker: FittedRanker) -> tuple[str, ...]:
    """Return the names of a fitted ranker's categorical columns."""
    return () if ranker.encoding_ is None else tuple(ranker.encoding_.values)


def refuse_text(documents: object) -> None:
    """Raise DataError if documents are given by text or a path.

    A server that hands on what its clients send would read its files for them.
    """
    if isinstance(documents, (str, bytes, bytearray, os.PathLike)):
        raise DataError(
            "documents are given by an array, a data frame or QueryGroups, not by text or a path: "
            "read a file by load_data(path, ranker=ranker)"
        )


def documents_of(ranker: FittedRanker, X, qid) -> tuple[Any, Any]:
    """Return documents for a fitted ranker, and the query of each row.

    Of a data frame, the query is in the column of training where there is one.
    """
    check_fitted(ranker)
    if isinstance(X, QueryGroups):
        return X, qid
    refuse_text(X)
    column, names = ranker.reading_.qid if ranker.reading_ else None, column_names(X) or ()
    if qid is None and column is not None and column in names:
        qid = np.asarray(X[column])
    refuse_other_order({"X": X, "qid": qid})
    return X, qid


def missing_in_training(ranker: FittedRanker) -> str | float | None:
    """Return what replaced a missing value when the training data were read; None if nothing did."""
    rule = ranker.reading_.missing if ranker.reading_ else None
    return None if rule in ("nan", "error") else rule


def with_missing_as_in_training(ranker: FittedRanker, groups: QueryGroups) -> QueryGroups:
    """Return documents whose missing values are what they were in training, unless their reader was told."""
    rule = missing_in_training(ranker)
    if rule is None or (groups.reading is not None and groups.reading.missing is not None):
        return groups
    return groups.with_features(groups.source.transformed(_filled, rule))


def as_in_training(ranker: FittedRanker, groups: QueryGroups) -> QueryGroups:
    """Return documents with the columns, missing values and categories of training."""
    if groups.feature_names is not None:
        groups = in_order(ranker, groups)
    check_columns(groups.n_features, ranker)
    groups = with_missing_as_in_training(ranker, groups)
    has_categories = groups.categories or ranker.encoding_ is not None
    return encoded(groups, ranker.encoding_) if has_categories else groups


def _filled(features: np.ndarray, indptr, blocks, rule: str | float, out: np.ndarray) -> None:
    out[:] = features
    if rule == "query_min":
        fill_query_minimum(out, indptr)
    else:
        out[np.isnan(out)] = rule


def _fill_rows(ranker: FittedRanker, X: np.ndarray, qid) -> np.ndarray:
    """Return rows whose missing values are what they were in training.

    Raises DataError if that depends on the queries, and they are not told.
    """
    rule = missing_in_training(ranker)
    if rule is None or not np.isnan(X).any():
        return X
    if rule != "query_min":
        return np.where(np.isnan(X), X.dtype.type(rule), X)
    if qid is None:
        raise DataError(
            "qid is missing: in training a missing value was the least of its query (missing='query_min'); "
            "pass qid=… with the query of each row"
        )
    groups = QueryGroups(X, None, checked_qid(qid, len(X)))
    return groups.to_caller(groups.source.transformed(_filled, rule).rows)


def features_of(ranker: FittedRanker, X, qid=None) -> tuple[Features, Callable[[np.ndarray], np.ndarray]]:
    """Return the features to score, and the function that puts scores in the caller's order of rows.

    `qid` is read where a missing value is the least of its query.
    """
    check_fitted(ranker)
    dtype: Any = getattr(ranker.scorer_, "feature_dtype", np.float32)
    if isinstance(X, QueryGroups):
        groups = as_in_training(ranker, X)
        return groups.source, groups.to_caller
    X, categories = coded(in_order(ranker, as_dense(X, dtype=dtype)), categorical_columns(ranker))
    features = ArrayFeatures(_fill_rows(ranker, validated(ranker, X, training=False, dtype=dtype), qid))
    encoding = ranker.encoding_
    return features if encoding is None else encoding.features(features, categories), np.asarray


def features_of_documents(ranker: FittedRanker, documents) -> np.ndarray:
    """Return the features of documents for `Ranker.rank`, without scikit-learn's checks: they take longer."""
    check_fitted(ranker)
    dtype: Any = getattr(ranker.scorer_, "feature_dtype", np.float32)
    refuse_text(documents)
    documents = as_dense(documents, "documents", dtype)
    if hasattr(documents, "__len__") and not len(documents):
        return np.zeros((0, len(names_of_features(ranker))), dtype)
    if isinstance(documents, QueryGroups) or hasattr(documents, "columns"):
        return _features_of_one_query(ranker, documents)
    encoding, categories = ranker.encoding_, {}
    columns: list[Any] = []
    # Names are made only where they are read: for rows of numbers they would take half of the time.
    if isinstance(documents, Mapping):
        names = names_of_columns(ranker)
        if lacking := [name for name in names if name not in documents]:
            raise DataError(
                f"the documents have no feature {lacking[0]!r}; where it is not known give it as None"
            )
        columns = [documents[name] for name in names]
    elif isinstance(documents, Sequence) and documents and isinstance(documents[0], Mapping):
        for number, document in enumerate(documents):
            if not isinstance(document, Mapping):
                raise DataError(
                    f"document {number} is given by {type(document).__name__}, expected its features by "
                    "name, as those of document 0"
                )
        names = names_of_columns(ranker)
        if lacking := [name for name in names if not any(name in document for document in documents)]:
            raise DataError(
                f"no document has the feature {lacking[0]!r}; where it is not known give it as None"
            )
        columns = [[document.get(name) for document in documents] for name in names]
    for at, name in enumerate(names_of_columns(ranker)) if columns and encoding else ():
        if name in encoding.values:
            codes = Values()
            try:
                columns[at], categories[name] = codes.codes(columns[at]), tuple(codes)
            except TypeError as error:
                raise DataError(f"documents, column {name!r}: {error}") from None
    if columns:
        X = _joined(columns, names_of_columns(ranker), dtype)
    else:
        X = as_numbers(documents, dtype, "documents", lambda: names_of_columns(ranker))
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(X, dtype)
    if X.ndim != 2 or X.shape[1] != ranker.n_features_in_:
        raise DataError(
            f"documents have the shape {X.shape}, expected rows of {ranker.n_features_in_} features"
        )
    if np.isinf(X).any():
        name = names_of_columns(ranker)[np.isinf(X).any(axis=0).argmax()]
        raise DataError(f"feature {name!r} is infinite, or too large for {X.dtype}, in one of the documents")
    X = _fill_rows(ranker, X, np.zeros(len(X)))
    return X if encoding is None else encoding.features(ArrayFeatures(X), categories).rows


def _joined(columns: Sequence[Any], names: Sequence[str], dtype: Any) -> np.ndarray:
    """Return columns of numbers as one array (n_docs, n_columns)."""
    if not any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, columns))):
        try:
            numbers = np.asarray(columns)
        except (TypeError, ValueError):  # one column after the other says which has what
            numbers = np.empty(0, object)
        if numbers.ndim == 2 and numbers.dtype.kind in "biuf":
            return numbers.T
    arrays = [
        as_numbers(column, dtype, f"documents, column {name!r}")
        for name, column in zip(names, columns, strict=True)
    ]
    if len({array.shape for array in arrays}) > 1:
        raise DataError("documents have columns of different lengths, expected a value of each document")
    return np.stack(arrays, axis=-1)


def _features_of_one_query(ranker: FittedRanker, documents) -> np.ndarray:
    X, qid = documents_of(ranker, documents, None)
    names = X.qid if isinstance(X, QueryGroups) else np.zeros(len(X)) if qid is None else qid
    count = len(set(names.tolist()))
    if count > 1:
        raise DataError(
            f"the documents are of {count} queries, expected one: predict scores those of several"
        )
    features, in_caller_order = features_of(ranker, X, names)
    return in_caller_order(features.rows)


def rows_of(chosen, n_docs: int) -> np.ndarray:
    """Return numbers of rows, int64 (n_rows,), of one number or several.

    Raises DataError if there is none, or a row does not exist.
    """
    rows = np.atleast_1d(chosen)
    if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu":
        raise DataError(f"rows are given by one number or several, not by {chosen!r}")
    if rows.min() < 0 or rows.max() >= n_docs:
        raise DataError(f"there is no row {rows.max() if rows.max() >= n_docs else rows.min()} of {n_docs}")
    return rows.astype(np.int64)


def validated(
    ranker: FittedRanker, X, training: bool, dtype: Any = np.float32, *, finite: bool = True
) -> Any:
    """Return X as scikit-learn checks it; the first cell that is no number is named.

    Arrays that are right are seen to be so without scikit-learn, whose import takes longer than most fits.
    """
    if not training and getattr(X, "shape", ())[:1] == (0,):
        raise DataError("X has no rows; expected the features of one document or more")
    trained = not training and hasattr(ranker, "feature_names_in_")
    is_array = type(X) is np.ndarray
    numbers: Any = as_numbers(X, dtype) if is_array else numeric(X, dtype, trained=trained)
    with np.errstate(over="ignore", invalid="ignore"):  # Numbers beyond the type are refused as infinite.
        if is_array and numbers.ndim == 2 and numbers.size and not trained:
            n_features = numbers.shape[1]
            if training:
                ranker.n_features_in_ = n_features
                vars(ranker).pop("feature_names_in_", None)
            checked = np.ascontiguousarray(numbers, dtype)
            if ranker.n_features_in_ == n_features and (not finite or np.isfinite(checked.sum())):
                return checked
        from sklearn.utils.validation import validate_data

        options: Any = {"dtype": dtype, "order": "C", "ensure_all_finite": "allow-nan" if finite else False}
        return validate_data(ranker, numbers, reset=training, **options)
