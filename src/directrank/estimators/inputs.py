"""Conversion of the arguments of `fit`, `predict` and `score`: rows, queries, weights, lists, workers."""

import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from directrank.contracts import Solver, Surrogate, fitting_solvers
from directrank.data.categories import Values
from directrank.data.cells import as_numbers, unmasked
from directrank.data.columns import name_of_ids, stand_ins
from directrank.data.encoding import encoded, encoding_of
from directrank.data.frame_columns import coded, column_names, in_names, numeric
from directrank.data.frames import columns_in_order
from directrank.data.grouping import as_grades, checked_qid, id_array, query_codes, refuse_other_order
from directrank.data.groups import QueryGroups, as_groups
from directrank.data.memory import as_dense
from directrank.data.queries import Queries
from directrank.data.supervision import SUPERVISION
from directrank.errors import DataError, UnfitPairError
from directrank.estimators.parameters import parameters_of
from directrank.estimators.sklearn_interface import check_fitted, unfitted
from directrank.features import ArrayFeatures, Features
from directrank.features.statistics import fill_query_minimum
from directrank.solvers import SOLVERS

__all__ = [
    "features_of",
    "missing_in_training",
    "names_of_columns",
    "names_of_features",
    "with_missing_as_in_training",
]

#: A `Ranker`, whose module imports this one.
FittedRanker = Any
#: The most rows that `fit`, and `score`, take as one query if qid is missing: as many as scikit-learn's own
#: checks use. Its functions score without qid, and say nothing, unless metadata routing is enabled.
MOST_WITHOUT_QID, MOST_SCORED_WITHOUT_QID = 150, 30
HOW_TO_PASS_QID = (
    "pass qid=… with the query of each row, or QueryGroups(X, y, qid). scikit-learn passes it on after "
    "sklearn.set_config(enable_metadata_routing=True): with "
    "ranker.set_fit_request(qid=True).set_score_request(qid=True), "
    "cv=GroupKFold().set_split_request(groups='qid') and params={'qid': qid}, or fit(X, y, qid=qid). "
    "permutation_importance passes no qid: use scoring=lambda ranker, X, y: ranker.score(X, y, qid=qid)"
)
#: The most rows that whole weights inside queries may make of the rows given.
MOST_COPIES = 100_000
#: Packages between the user's code and the check: their lines are no call sites.
INNER_PACKAGES = {"directrank", "sklearn", "joblib"}
#: Call sites that have been warned. Python's own record is lost whenever scikit-learn changes its filters.
WARNED: set[tuple[str, int]] = set()


def qid_of_rows(qid, group, n_docs: int, most: int) -> np.ndarray:
    """Return the query of each row, from `qid`, from group sizes, or one for all.

    Raises DataError if sizes do not add up, or qid is missing for more than `most` rows. Warns if all rows
    are taken as one query; once per call site.
    """
    if qid is not None and group is not None:
        raise DataError("pass either qid (the query of each row) or group (sizes of queries), not both")
    if qid is not None:
        return id_array(qid)
    if group is not None:
        sizes = np.asarray(group)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
            raise DataError(
                f"group has shape {sizes.shape} and type {sizes.dtype}, expected the number of rows of each "
                "query: whole numbers in a list or an array of one dimension"
            )
        if sizes.sum() != n_docs:
            raise DataError(f"group sizes add up to {sizes.sum()}, but there are {n_docs} rows")
        _warn_of_sorted_sizes(group, sizes)
        return np.repeat(np.arange(len(sizes)), sizes)
    if n_docs > most:
        raise DataError(f"qid is missing for {n_docs:,} rows: {HOW_TO_PASS_QID}")
    _warn_of_one_query()
    return np.zeros(n_docs, dtype=np.int64)


def _warn_of_sorted_sizes(group, sizes: np.ndarray) -> None:
    """Warn if sizes of queries are those of `value_counts` of pandas, by its index: the largest first."""
    index = getattr(group, "index", None)
    if callable(index) or getattr(index, "is_monotonic_increasing", True) or (np.diff(sizes) > 0).any():
        return
    warnings.warn(
        "group has sizes in descending order, as value_counts() sorts them, and its index is in no "
        "order; they must be in the order of the rows: pass qid=, or groupby(qid, sort=False).size()",
        UserWarning,
        stacklevel=6,
    )


def _warn_of_ids(columns: Sequence[str] | None) -> None:
    """Warn if a column of training data, which is a feature, is called like an id of queries."""
    for name in columns or ():
        if name_of_ids(name):
            warnings.warn(
                f"X has a column {name!r}, which is taken as a feature, and is called like ids of queries: "
                f"pass qid=X[{name!r}] and X.drop(columns={name!r}), or rename it",
                UserWarning,
                stacklevel=5,
            )


def _warn_of_one_query() -> None:
    """Warn once per call site in the user's code."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in INNER_PACKAGES:
            break
        frame, level = frame.f_back, level + 1
    site = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    if site not in WARNED:
        message = f"qid is missing: all rows are taken as one query; {HOW_TO_PASS_QID}"
        warnings.warn(message, UserWarning, stacklevel=level)
        WARNED.add(site)


def single_part(eval_set, eval_qid, eval_group) -> tuple[Any, Any, Any, Any]:
    """Return X, y, qid and group sizes of the validation set, which may be the only entry of a list.

    Raises ValueError if a list holds several parts.
    """
    if isinstance(eval_set, list):
        if len(eval_set) != 1:
            raise ValueError(f"eval_set holds {len(eval_set)} parts; give the one to select by")
        eval_set = eval_set[0]
        eval_qid = eval_qid[0] if isinstance(eval_qid, list) else eval_qid
        eval_group = eval_group[0] if isinstance(eval_group, list) else eval_group
    if isinstance(eval_set, QueryGroups):
        return eval_set, None, None, None
    X, y, *rest = eval_set
    return X, y, rest[0] if rest else eval_qid, eval_group


def checked_target(y) -> np.ndarray:
    """Return relevance as a vector of floats; ordered categories become grades (`as_grades`).

    Raises ValueError if values are complex, text or not finite.
    """
    column = np.asarray(unmasked(as_grades(y)))
    if column.ndim == 2 and column.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected", DataConversionWarning, stacklevel=4
        )
        column = column.ravel()
    from sklearn.utils import check_array

    numeric: Any = np.float64  # scikit-learn's stub knows names of types only
    return check_array(column, ensure_2d=False, dtype=numeric, input_name="y")


def check_width(groups: QueryGroups, ranker: FittedRanker) -> None:
    """Raise `ValueError`, in scikit-learn's words, if a fitted ranker has another number of features."""
    check_columns(groups.n_features, ranker)


def check_columns(n_columns: int, ranker: FittedRanker) -> None:
    """Raise `ValueError`, in scikit-learn's words, if a fitted ranker has another number of features."""
    if n_columns != ranker.n_features_in_:
        remedy = "; if it was trained on a file whose features count from 0, read with first_feature=0"
        raise ValueError(
            f"X has {n_columns} features, but {type(ranker).__name__} is expecting "
            f"{ranker.n_features_in_} features as input" + remedy * hasattr(ranker, "library_")
        )


def _in_order(ranker: FittedRanker, X) -> Any:
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
            stacklevel=4,
        )
    if isinstance(X, QueryGroups):
        return X
    import narwhals as nw

    numbers: Any = numeric(X)
    table = nw.from_native(numbers, eager_only=True)
    if names is None:
        return table.to_numpy()
    return table.rename(dict(zip(table.columns, instead, strict=True))).to_native()


def name_features(ranker: FittedRanker, names) -> None:
    """Set the names of features, or remove those of an earlier fit."""
    if names is not None:
        ranker.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(ranker, "feature_names_in_"):
        del ranker.feature_names_in_


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


def query_weights(sample_weight, groups: QueryGroups) -> np.ndarray:
    """Return the weight of each query from one weight per row, or one per query in order of appearance.

    Raises DataError if the shape fits neither, a weight is negative or missing, or rows of one query differ.
    """
    weights, confidence = weights_of(sample_weight, groups)
    if confidence is None:
        return weights
    raise DataError(f"sample_weight {groups.queries.differing(confidence)}: here weights belong to queries")


def weights_of(sample_weight, groups: QueryGroups) -> tuple[Any, np.ndarray | None]:
    """Return the weight of each query; where rows of a query differ, that of each document in its place.

    The weights of documents are in the inner order.
    """
    weights = np.asarray(unmasked(sample_weight), dtype=np.float64)
    if weights.ndim != 1 or len(weights) not in (groups.n_docs, groups.n_queries):
        raise DataError(
            f"sample_weight has shape {weights.shape}, expected ({groups.n_docs},), the weight of its query "
            f"on each row, or ({groups.n_queries},), one per query in order of appearance"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise DataError("sample_weight must be finite and not negative")
    if not weights.any():
        raise DataError("sample_weight is zero everywhere: nothing to train on")
    if len(weights) != groups.n_docs:
        return weights, None
    inner, queries = groups.to_inner(weights), groups.queries
    of_query = inner[queries.indptr[:-1]]
    is_same = (inner == np.repeat(of_query, queries.sizes)).all()
    return (of_query, None) if is_same else (None, inner)


def copies(sample_weight, qid: np.ndarray) -> np.ndarray | None:
    """Return how often each row is to be repeated, if weights are whole and differ inside a query.

    A document that counts as w documents is w documents; weights that are the same on all rows of each query
    belong to the queries instead, and None is returned. Raises DataError if there would be more than
    `MOST_COPIES` rows.
    """
    weights = np.asarray(unmasked(sample_weight), dtype=np.float64)
    if weights.shape != qid.shape or not weights.any():
        return None
    if not (np.isfinite(weights) & (weights >= 0) & (weights == np.floor(weights))).all():
        return None
    query = query_codes(qid)[0]
    first = np.unique(query, return_index=True)[1]
    if (weights == weights[first][query]).all():
        return None
    if weights.sum() > MOST_COPIES:
        raise DataError(
            f"sample_weight differs between rows of a query, and its whole numbers would make "
            f"{weights.sum():.3g} copies of rows, at most {MOST_COPIES} are made; give one weight per query"
        )
    return weights.astype(np.int64)


def training_data(
    ranker: FittedRanker, X, y, qid, group, sample_weight, overwrite_X: bool
) -> tuple[QueryGroups, np.ndarray | None]:
    """Return the queries to train on, with their weights; the ranker learns the names of the features."""
    refuse_other_order({"X": X, "y": y, "qid": qid, "sample_weight": sample_weight})
    if sample_weight is not None and not isinstance(X, QueryGroups) and y is not None:
        rows = len(y) if hasattr(y, "__len__") else 0
        qid = None if qid is None else id_array(qid)
        times = copies(sample_weight, np.zeros(rows) if qid is None else qid)
        if times is not None:
            y, X = np.repeat(np.asarray(as_grades(y)), times), as_dense(X)
            from sklearn.utils import _safe_indexing

            X = _safe_indexing(X, np.repeat(np.arange(len(times)), times))
            qid, sample_weight = None if qid is None else np.repeat(qid, times), None
    groups = groups_of(ranker, X, y, qid, group, reset=True, overwrite_X=overwrite_X)
    if sample_weight is None:
        return groups, None
    weights, confidence = weights_of(sample_weight, groups)
    if confidence is None:
        return groups, weights
    queries = replace(groups.queries, confidence=confidence, _cache={})
    names, labelled = groups.feature_names, groups.labelled
    weighted = QueryGroups.from_inner(
        groups.source, queries, feature_names=names, name=groups.name, labelled=labelled
    )
    return weighted, None


def groups_of(
    ranker: FittedRanker, X, y, qid, group, *, reset: bool, most_without_qid: int = MOST_WITHOUT_QID,
    overwrite_X: bool = False,
) -> QueryGroups:  # fmt: skip
    """Return queries with relevance; `reset` if the ranker is to learn the names of features.

    Categorical columns become features, as the ranker learned.
    """
    refuse_other_order({"X": X, "y": y, "qid": qid})
    if reset:
        ranker.reading_ = getattr(X, "reading", None)
    X = in_names(as_dense(X)) if reset else _in_order(ranker, as_dense(X))
    if isinstance(X, QueryGroups):
        if reset:
            name_features(ranker, X.feature_names)
        else:
            check_width(X, ranker)
            X = with_missing_as_in_training(ranker, X)
        return _encoded(ranker, X, reset)
    if isinstance(X, (str, os.PathLike)):
        as_groups(X, "fit")
    if y is None:
        raise ValueError("This ranker requires y to be passed, but the target y is None: pass relevance")
    if reset:
        _warn_of_ids(column_names(X))
    X, categories = coded(X, None if reset else categorical_columns(ranker))
    features = _validated(ranker, X, reset, finite=False)  # `QueryGroups` checks that
    target = y if isinstance(y, SUPERVISION) else checked_target(y)
    if not isinstance(target, SUPERVISION) and len(target) != len(features):
        raise ValueError(f"X has {len(features)} rows but y has {len(target)}")
    most = 0 if ranker.strict_qid else most_without_qid
    names = qid_of_rows(qid, group, len(features), most)
    trained_names = getattr(ranker, "feature_names_in_", None)
    groups = QueryGroups(
        features, target, names,
        feature_names=trained_names, categories=categories, overwrite_X=overwrite_X,
    )  # fmt: skip
    groups = groups if reset else with_missing_as_in_training(ranker, groups)
    return _encoded(ranker, groups, reset)


def categorical_columns(ranker: FittedRanker) -> tuple[str, ...]:
    """Return the names of a fitted ranker's categorical columns."""
    return () if ranker.encoding_ is None else tuple(ranker.encoding_.values)


def _encoded(ranker: FittedRanker, groups: QueryGroups, reset: bool) -> QueryGroups:
    if reset:
        # Trees that are continued know their own categories; new ones are "other".
        start = getattr(getattr(ranker, "starts_from", None), "encoding_", None)
        continued = start is not None and start.columns == groups.feature_names
        ranker.encoding_ = start if continued else encoding_of(groups)
    return encoded(groups, ranker.encoding_)


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
    X = _in_order(ranker, as_dense(X, dtype=dtype))
    if isinstance(X, QueryGroups):
        check_width(X, ranker)
        X = with_missing_as_in_training(ranker, X)
        return encoded(X, ranker.encoding_).source, X.to_caller
    X, categories = coded(X, categorical_columns(ranker))
    features = ArrayFeatures(_fill_rows(ranker, _validated(ranker, X, reset=False, dtype=dtype), qid))
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
        places = [f"documents, column {name!r}" for name in names_of_columns(ranker)]
        arrays = list(map(as_numbers, columns, [dtype] * len(columns), places))
        if len({array.shape for array in arrays}) > 1:
            raise DataError("documents have columns of different lengths, expected a value of each document")
        X = np.stack(arrays, axis=-1)
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


def _validated(
    ranker: FittedRanker, X, reset: bool, dtype: object = np.float32, *, finite: bool = True
) -> np.ndarray:
    """Return X as scikit-learn checks it; the first cell that is no number is named."""
    from sklearn.utils.validation import validate_data

    options: Any = {"dtype": dtype, "order": "C", "ensure_all_finite": "allow-nan" if finite else False}
    trained = not reset and hasattr(ranker, "feature_names_in_")
    numbers: Any = numeric(X, dtype, trained=trained)
    with np.errstate(over="ignore"):  # Numbers beyond the type are refused as infinite.
        checked: Any = validate_data(ranker, numbers, reset=reset, **options)
    return checked


#: Work for one query in one evaluation of a loss (`Surrogate.work`): about two seconds of one processor.
LARGEST_WORK = 5e8
#: Seconds of a step of work. Training that takes minutes for the lists of more than `LONG` documents is
#: announced, and training that takes hours for them is refused.
STEP, LONG, LONG_MINUTES, MOST_MINUTES = 4e-9, 1000, 10, 720
REMEDY = (
    "use a method whose cost grows as n log n, such as ranksvm, consistent-ndcg, listnet, svmmap, rankboost, "
    "approxndcg or ranknet; a measure with a cutoff for lambdarank, lambdaloss or coordinate-ascent, such as "
    "nDCG@10; or keep fewer documents of the query, such as the first of an earlier ranking"
)


def refuse_long_lists(
    method: str,
    surrogate: Surrogate,
    solver: Solver,
    queries: Queries,
    weights: np.ndarray | None,
    n_features: int,
) -> None:
    """Raise DataError if queries have so many documents that training would seem to hang; warn of minutes."""
    work = surrogate.work(queries) if weights is None else surrogate.work(queries) * (weights > 0)
    query = int(np.argmax(work)) if len(work) else 0
    if work.max(initial=0.0) <= LARGEST_WORK:
        steps = solver.n_evaluations(n_features) * work.sum(where=queries.sizes > LONG)
        if (minutes := STEP * steps / 60) <= LONG_MINUTES:
            return
        text = (
            f"{method}: training takes about {minutes:,.0f} minutes of a processor for the "
            f"{(queries.sizes > LONG).sum():,} queries of more than {LONG:,} documents, such as "
            f"{queries.qid[query]} with {queries.sizes[query]:,}; "
        )
        if minutes <= MOST_MINUTES:
            warnings.warn(f"{text}to save time, {REMEDY}", UserWarning, stacklevel=5)
            return
        raise DataError(f"{text}at most {MOST_MINUTES} are accepted; {REMEDY}")
    raise DataError(
        f"query {queries.qid[query]} has {queries.sizes[query]:,} documents, too many for {method}: one "
        f"evaluation of its loss takes {work[query]:.0e} steps there, and at most {LARGEST_WORK:.0e} are "
        f"accepted; {REMEDY}"
    )


#: Fewest shards, or steps of `Surrogate.work`, of a thread: with less it takes longer to start than to run.
SHARDS_A_THREAD, STEPS_A_THREAD = 2, 2**18


def useful_threads(surrogate: Surrogate, groups: QueryGroups, n_threads: int) -> int:
    """Return how many of some threads have enough to do in a pass over the data; 1 or more."""
    steps = float(surrogate.work(groups.queries).sum())
    enough = max(len(groups.shards) // SHARDS_A_THREAD, int(steps // STEPS_A_THREAD))
    return max(1, min(n_threads, enough))


#: Methods that workers can share, for messages.
OTHERS = "another method, such as approxndcg, ranksvm or adarank"
#: Parameters of rankers that decide whether workers can share the training.
DECIDING = ("solver", "search")


def check_distributed(
    ranker: FittedRanker, surrogate: Surrogate, solver: Solver, groups: QueryGroups
) -> None:
    """Raise `UnfitPairError` if features are in other processes, and the solver is no sum over shards."""
    if groups.source.workers is None or solver.sums_over_shards:
        return
    deciding = {name: values for name in DECIDING if (values := _choices(ranker, surrogate, name))}
    settings = [f"set {name} to {' or '.join(values)}" for name, values in deciding.items()]
    raise UnfitPairError(
        f"{type(ranker).__name__}: {type(solver).__name__} is no sum over shards, so that workers cannot "
        f"share it: {' or '.join(settings) or f'train {OTHERS}'}, or train in one process"
    )


def _choices(ranker: FittedRanker, surrogate: Surrogate, name: str) -> list[str]:
    """Return the values of a ranker's parameter with which workers can share the training."""
    parameter = parameters_of(type(ranker)).get(name)
    if parameter is None:
        able = [solver for solver in SOLVERS if solver.sums_over_shards]
        fitting = [solver.__name__ for solver in fitting_solvers(surrogate, able)]
        return fitting if name == "solver" and name in ranker.get_params(deep=False) else []
    names = []
    for option in get_args(parameter.kind):
        other: Any = unfitted(ranker)
        if other.set_params(**{name: option}).components()[1].sums_over_shards:
            names.append(repr(option))
    return names
