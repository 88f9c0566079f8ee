"""Read what callers pass to a ranker: arrays, frames, sparse matrices or query groups become query groups."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from directrank.data.categories import as_grades
from directrank.data.frames import columns_in_order, refuse_text
from directrank.data.grouping import qid_array
from directrank.data.groups import QueryGroups
from directrank.data.memory import as_dense
from directrank.data.supervision import SUPERVISION
from directrank.estimators.inputs.checks import (
    check_width,
    checked_target,
    copies,
    name_features,
    qid_of_rows,
    query_weights,
)
from directrank.features import ArrayFeatures, Features

#: The form of X: NaN is a missing value.
FEATURES: dict[str, Any] = {"dtype": np.float32, "order": "C", "ensure_all_finite": "allow-nan"}


def training_data(ranker: Any, X, y, qid, group, sample_weight) -> tuple[QueryGroups, np.ndarray | None]:
    """Return the queries to train on, with their weights; the ranker learns the names of the features."""
    if sample_weight is not None and not isinstance(X, QueryGroups) and y is not None:
        rows = len(y) if hasattr(y, "__len__") else 0
        qid = None if qid is None else qid_array(qid)
        times = copies(sample_weight, np.zeros(rows) if qid is None else qid)
        if times is not None:
            X = _validated(ranker, as_dense(X))
            y, X = np.repeat(np.asarray(as_grades(y)), times), np.repeat(X, times, axis=0)
            qid, sample_weight = None if qid is None else np.repeat(qid, times), None
    groups = groups_of(ranker, X, y, qid, group, reset=True)
    return groups, None if sample_weight is None else query_weights(sample_weight, groups)


def groups_of(ranker: Any, X, y, qid, group, *, reset: bool) -> QueryGroups:
    """Return queries with relevance; `reset` if the ranker is to learn the names of features."""
    X = as_dense(X) if reset else columns_in_order(as_dense(X), getattr(ranker, "feature_names_in_", None))
    if isinstance(X, QueryGroups):
        if reset:
            name_features(ranker, X.feature_names)
        else:
            check_width(X, ranker)
        return X
    if y is None:
        raise ValueError("This ranker requires y to be passed, but the target y is None: pass relevance")
    features = _validated(ranker, X, reset)
    target = y if isinstance(y, SUPERVISION) else checked_target(y)
    if not isinstance(target, SUPERVISION) and len(target) != len(features):
        raise ValueError(f"X has {len(features)} rows but y has {len(target)}")
    names = qid_of_rows(qid, group, len(features), ranker.strict_qid)
    return QueryGroups(features, target, names, feature_names=getattr(ranker, "feature_names_in_", None))


def features_of(ranker: Any, X) -> tuple[Features, Callable[[np.ndarray], np.ndarray]]:
    """Return the features to score, and the function that puts scores in the caller's order of rows."""
    check_is_fitted(ranker)
    dtype: Any = getattr(ranker.scorer_, "feature_dtype", np.float32)
    X = columns_in_order(as_dense(X, dtype=dtype), getattr(ranker, "feature_names_in_", None))
    if isinstance(X, QueryGroups):
        check_width(X, ranker)
        return X.source, X.to_caller
    return ArrayFeatures(_validated(ranker, X, reset=False, dtype=dtype)), np.asarray


def _validated(ranker: Any, X, reset: bool = True, dtype: Any = FEATURES["dtype"]) -> np.ndarray:
    """Return X as scikit-learn checks it; of a data frame, the first cell that is no number is named."""
    refuse_text(X)
    checked: Any = validate_data(ranker, X, reset=reset, **FEATURES | {"dtype": dtype})
    return checked
