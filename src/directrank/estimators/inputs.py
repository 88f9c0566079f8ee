"""Conversion of the arguments of `fit`, `predict` and `score`: rows, queries, weights, lists, workers."""

import inspect
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from directrank.data.cells import as_numbers, unmasked
from directrank.data.columns import name_of_ids
from directrank.data.encoding import encoded, encoding_of
from directrank.data.frame_columns import coded, column_names, in_names
from directrank.data.grouping import as_grades, checked_relevance, id_array, query_codes, refuse_other_order
from directrank.data.groups import QueryGroups, as_groups
from directrank.data.memory import as_dense
from directrank.data.supervision import SUPERVISION
from directrank.errors import DataError, listed
from directrank.estimators.documents import (
    FittedRanker,
    as_in_training,
    categorical_columns,
    in_order,
    validated,
    with_missing_as_in_training,
)
from directrank.features.rounding import rounded_features

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
#: What has been warned of, and where. Python's own record is lost whenever scikit-learn changes its filters.
WARNED: set[tuple[str, str, int]] = set()


class Rows(NamedTuple):
    """Documents as callers pass them: rows of features, relevance, queries by name or by size, weights."""

    X: Any
    y: Any = None
    qid: Any = None
    group: Any = None
    weight: Any = None


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
    _warn_once("qid is missing", f": all rows are taken as one query; {HOW_TO_PASS_QID}")
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
        stacklevel=7,
    )


def _warn_of_ids(columns: Sequence[str] | None) -> None:
    """Warn if a column of training data, which is a feature, is called like an id of queries."""
    for name in columns or ():
        if name_of_ids(name):
            warnings.warn(
                f"X has a column {name!r}, which is taken as a feature, and is called like ids of queries: "
                f"pass qid=X[{name!r}] and X.drop(columns={name!r}), or rename it",
                UserWarning,
                stacklevel=6,
            )


def _warn_of_rounding(groups: QueryGroups) -> None:
    """Warn of features that float32 rounds, as `check_data` reports them."""
    names = groups.feature_names or [f"feature {k + 1}" for k in range(groups.n_features)]
    steps = rounded_features(groups.features)
    if rounded := [f"{names[k]} to multiples of {step:.0f}" for k, step in steps.items()]:
        _warn_once(
            "X has values so large and close together that float32 rounds them",
            f" ({listed(rounded)}): subtract a constant",
        )


def _warn_once(subject: str, rest: str) -> None:
    """Warn once of a subject per call site in the user's code."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in INNER_PACKAGES:
            break
        frame, level = frame.f_back, level + 1
    file, line = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    if (subject, file, line) not in WARNED:
        warnings.warn(subject + rest, UserWarning, stacklevel=level)
        WARNED.add((subject, file, line))


def validation_rows(eval_set, eval_qid, eval_group) -> Rows:
    """Return the rows of the validation set, which may be the only entry of a list.

    Raises ValueError if a list holds several parts.
    """
    if isinstance(eval_set, list):
        if len(eval_set) != 1:
            raise ValueError(f"eval_set holds {len(eval_set)} parts; give the one to select by")
        eval_set = eval_set[0]
        eval_qid = eval_qid[0] if isinstance(eval_qid, list) else eval_qid
        eval_group = eval_group[0] if isinstance(eval_group, list) else eval_group
    if isinstance(eval_set, QueryGroups):
        return Rows(eval_set)
    X, y, *rest = eval_set
    return Rows(X, y, rest[0] if rest else eval_qid, eval_group)


def checked_target(y) -> np.ndarray:
    """Return relevance as a vector of numbers; ordered categories become grades (`as_grades`).

    Raises DataError that names the first value that is no number, or says that there is none.
    """
    column = as_numbers(as_grades(y), np.float64, "y")
    if not column.size:
        raise DataError("y is empty; expected the relevance of each row of X")
    if column.ndim == 2 and column.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected", DataConversionWarning, stacklevel=4
        )
        column = column.ravel()
    return np.atleast_1d(column)


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
    ranker: FittedRanker, rows: Rows, start: object, overwrite_X: bool
) -> tuple[QueryGroups, np.ndarray | None]:
    """Return the queries to train on, with their weights; the ranker learns the names of the features.

    Trees that are continued, the `start`, know their own categories; new ones are "other".
    """
    ranker.reading_ = getattr(rows.X, "reading", None)
    if isinstance(rows.X, QueryGroups):
        groups, weight = rows.X, rows.weight
        vars(ranker).pop("feature_names_in_", None)  # of an earlier fit
        if groups.feature_names is not None:
            ranker.feature_names_in_ = np.asarray(groups.feature_names, dtype=object)
    else:
        groups, weight = grouped_rows(ranker, rows, training=True, overwrite_X=overwrite_X)
    trained = getattr(start, "encoding_", None)
    continued = trained is not None and trained.columns == groups.feature_names
    ranker.encoding_ = trained if continued else encoding_of(groups) if groups.categories else None
    if ranker.encoding_ is not None:
        groups = encoded(groups, ranker.encoding_)
    if weight is None:
        return groups, None
    weights, confidence = weights_of(weight, groups)
    if confidence is None:
        return groups, weights
    queries = replace(groups.queries, confidence=confidence, _cache={})
    names, labelled = groups.feature_names, groups.labelled
    weighted = QueryGroups.from_inner(
        groups.source, queries, feature_names=names, name=groups.name, labelled=labelled
    )
    return weighted, None


def groups_of(ranker: FittedRanker, rows: Rows, most_without_qid: int = MOST_WITHOUT_QID) -> QueryGroups:
    """Return queries with relevance for a fitted ranker: its columns, missing values and categories."""
    if isinstance(rows.X, QueryGroups):
        return as_in_training(ranker, rows.X)
    groups, _ = grouped_rows(ranker, rows, training=False, most_without_qid=most_without_qid)
    return encoded(with_missing_as_in_training(ranker, groups), ranker.encoding_)


def grouped_rows(
    ranker: FittedRanker, rows: Rows, *, training: bool, overwrite_X: bool = False,
    most_without_qid: int = MOST_WITHOUT_QID,
) -> tuple[QueryGroups, Any]:  # fmt: skip
    """Return rows as queries, and their weights, without those that were numbers of copies of rows."""
    X, y, qid, group, weight = rows
    refuse_other_order({"X": X, "y": y, "qid": qid, "sample_weight": weight})
    if isinstance(X, (str, os.PathLike)):
        as_groups(X, "fit")
    if y is None:
        raise ValueError("This ranker requires y to be passed, but the target y is None: pass relevance")
    categories = {}
    if type(X) is not np.ndarray:  # whose columns have no names
        X = as_dense(X)
        X = in_names(X) if training else in_order(ranker, X)
        if training:
            _warn_of_ids(column_names(X))
        X, categories = coded(X, None if training else categorical_columns(ranker))
    features = validated(ranker, X, training, finite=False)  # `QueryGroups` checks that
    target = y if isinstance(y, SUPERVISION) else checked_target(y)
    if not isinstance(target, SUPERVISION):
        if len(target) != len(features):
            raise ValueError(f"X has {len(features)} rows but y has {len(target)}")
        target = checked_relevance(target, len(features))  # before rows are copied, whose numbers it names
    names = qid_of_rows(qid, group, len(features), 0 if ranker.strict_qid else most_without_qid)
    if weight is not None and len(names) == len(features) and not isinstance(target, SUPERVISION):
        times = copies(weight, names)
        if times is not None:
            features, target, names = (np.repeat(part, times, axis=0) for part in (features, target, names))
            weight = None
    groups = QueryGroups(
        features, target, names, feature_names=getattr(ranker, "feature_names_in_", None),
        categories=categories, overwrite_X=overwrite_X,
    )  # fmt: skip
    if training:
        _warn_of_rounding(groups)
    return groups, weight
