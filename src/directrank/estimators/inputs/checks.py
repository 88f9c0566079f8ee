"""Checks of what users pass to `fit` and `predict`."""

import inspect
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from directrank.data.grouping import as_grades, qid_array, query_codes
from directrank.data.groups import QueryGroups
from directrank.errors import DataError

#: The most rows that are taken as one query if qid is missing: as many as scikit-learn's own checks use.
MOST_WITHOUT_QID = 150
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


def qid_of_rows(qid, group, n_docs: int, strict: bool) -> np.ndarray:
    """Return the query of each row, from `qid`, from group sizes, or one for all.

    Raises
    ------
    DataError
        If sizes do not add up, or qid is missing for more than `MOST_WITHOUT_QID` rows, or under `strict`.

    Warns
    -----
    UserWarning
        If all rows are taken as one query; once per call site.
    """
    if qid is not None and group is not None:
        raise DataError("pass either qid (the query of each row) or group (sizes of queries), not both")
    if qid is not None:
        return qid_array(qid)
    if group is not None:
        sizes = np.asarray(group)
        if sizes.sum() != n_docs:
            raise DataError(f"group sizes add up to {sizes.sum()}, but there are {n_docs} rows")
        return np.repeat(np.arange(len(sizes)), sizes)
    if strict or n_docs > MOST_WITHOUT_QID:
        raise DataError(f"qid is missing for {n_docs:,} rows: {HOW_TO_PASS_QID}")
    _warn_of_one_query()
    return np.zeros(n_docs, dtype=np.int64)


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

    Raises
    ------
    ValueError
        If a list holds several parts.
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

    Raises
    ------
    ValueError
        If values are complex, text or not finite.
    """
    column = np.asarray(as_grades(y))
    if column.ndim == 2 and column.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected", DataConversionWarning, stacklevel=4
        )
        column = column.ravel()
    numeric: Any = np.float64  # scikit-learn's stub knows names of types only
    return check_array(column, ensure_2d=False, dtype=numeric, input_name="y")


def check_width(groups: QueryGroups, ranker: Any) -> None:
    """Raise `ValueError`, in scikit-learn's words, if a fitted ranker has another number of features."""
    if groups.n_features != ranker.n_features_in_:
        remedy = "; if it was trained on a file whose features count from 0, read with first_feature=0"
        raise ValueError(
            f"X has {groups.n_features} features, but {type(ranker).__name__} is expecting "
            f"{ranker.n_features_in_} features as input" + remedy * hasattr(ranker, "library_")
        )


def name_features(ranker: Any, names) -> None:
    """Set the names of features, or remove those of an earlier fit."""
    if names is not None:
        ranker.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(ranker, "feature_names_in_"):
        del ranker.feature_names_in_


def query_weights(sample_weight, groups: QueryGroups) -> np.ndarray:
    """Return the weight of each query from one weight a row, or one a query in order of appearance.

    Raises
    ------
    DataError
        If the shape fits neither, a weight is negative or missing, or rows of one query differ.
    """
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim != 1 or len(weights) not in (groups.n_docs, groups.n_queries):
        raise DataError(
            f"sample_weight has shape {weights.shape}, expected ({groups.n_docs},), the weight of its query "
            f"on each row, or ({groups.n_queries},), one a query in order of appearance"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise DataError("sample_weight must be finite and not negative")
    if not weights.any():
        raise DataError("sample_weight is zero everywhere: nothing to train on")
    if len(weights) != groups.n_docs:
        return weights
    inner = groups.to_inner(weights)
    first = inner[groups.queries.indptr[:-1]]
    differs = inner != np.repeat(first, groups.queries.sizes)
    if differs.any():
        query = np.repeat(np.arange(groups.n_queries), groups.queries.sizes)[np.argmax(differs)]
        raise DataError(
            f"sample_weight differs between rows of query {groups.queries.qid[query]}: weights belong to "
            "queries. Only whole numbers are taken as copies of rows."
        )
    return first


def copies(sample_weight, qid: np.ndarray) -> np.ndarray | None:
    """Return how often each row is to be repeated, if weights are whole and differ inside a query.

    A document that counts as w documents is w documents; weights that are the same on all rows of each query
    belong to the queries instead, and None is returned.

    Raises
    ------
    DataError
        If there would be more than `MOST_COPIES` rows.
    """
    weights = np.asarray(sample_weight, dtype=np.float64)
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
            f"{weights.sum():.3g} copies of rows, at most {MOST_COPIES} are made; give one weight a query"
        )
    return weights.astype(np.int64)
