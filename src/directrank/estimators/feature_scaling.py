"""The scaling of a ranker's features: fitted before training, part of the scorer afterwards."""

import logging
from typing import Any

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.errors import DataError, check_choice
from directrank.features import Features, scored
from directrank.features.medians import missing_counts
from directrank.scorers import LINEAR, Linear, reads_queries, scores_in_queries
from directrank.scorers.scaling import CHOICES, Scaling, fit_scaling

UNSCALED = Scaling("none")


def check_scaling(kind: Any, scorer: Any) -> None:
    """Raise `ValueError` if a scaling is unknown, or the scorer is not linear and one is asked for."""
    # The command line reads the word none as None.
    if kind is None:
        return
    check_choice("scaling", kind, CHOICES)
    if type(scorer) is not Linear and kind not in ("auto", "none"):
        raise ValueError(f"scaling={kind!r} needs a linear scorer, not {scorer!r}: omit scaling")


def scaling_for(
    kind: Any, scorer: Any, groups: QueryGroups, weights: np.ndarray | None, n_threads: int
) -> Scaling:
    """Return the scaling fitted to training queries; none for a scorer that is not linear.

    Only linear scorers need a number in place of a missing value.
    """
    check_scaling(kind, scorer)
    if type(scorer) is not Linear:
        return UNSCALED
    found = fit_scaling(kind or "none", groups, weights, n_threads)
    logging.getLogger("directrank").info("scaling=%s: %s %s", kind, found.kind, found.reason)
    return found


def scores_of(scorer: Any, features: Features, X: Any, qid=None) -> np.ndarray:
    """Return the scores of the features of X, which are in the order of its inner rows or of the caller's.

    Raises DataError if the model scales features or scores inside each query, and neither X nor `qid` tells
    the queries; or if a value is missing and a linear scorer has no medians.
    """
    if isinstance(scorer, LINEAR) and scorer.fill is None:
        _refuse_missing(features)
    if not reads_queries(scorer):
        return scored(scorer, features)
    if isinstance(X, QueryGroups):
        return np.concatenate(features.over_shards(_scores_in_queries, scorer))
    if qid is None:
        raise DataError(
            "qid is missing: the model scales features or scores inside each query; "
            "pass qid=… with the query of each row"
        )
    groups = QueryGroups(features.rows, None, np.asarray(qid))
    return groups.to_caller(scores_in_queries(scorer, groups.features, groups.queries.indptr))


def _scores_in_queries(features: np.ndarray, indptr: np.ndarray, blocks, scorer: Any) -> np.ndarray:
    return scorer.scores(features, indptr)


def _refuse_missing(features: Features) -> None:
    columns = np.flatnonzero(missing_counts(features))
    if columns.size:
        raise DataError(
            f"X has no value in some rows of column {columns[0]}, and the model has no medians for missing "
            "values: it is from an earlier release; train it again, or fill them first"
        )


def coefficients_of(ranker: Any) -> np.ndarray:
    """Return the coefficients of a ranker's scorer, float64 (n_features,).

    Raises AttributeError if it is not fitted or not linear.
    """
    scorer = getattr(ranker, "scorer_", None)
    if not isinstance(scorer, LINEAR):
        why = "is not fitted yet" if scorer is None else f"has the scorer {scorer!r}, which is not linear"
        raise AttributeError(f"{type(ranker).__name__} has no coef_: it {why}")
    return np.asarray(scorer.coefficients, np.float64)
