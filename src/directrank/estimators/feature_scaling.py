"""The scaling of a ranker's features: fitted before training, part of the scorer afterwards."""

from typing import Any

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.errors import DataError, check_choice
from directrank.scorers import Linear, Scaling, scores_in_queries
from directrank.scorers.scaling import CHOICES, fit_scaling

UNSCALED = Scaling("none")


def check_scaling(kind: str, scorer: Any) -> None:
    """Raise `ValueError` if a scaling is unknown, or the scorer is not linear and one is asked for."""
    check_choice("scaling", kind, CHOICES)
    if type(scorer) is not Linear and kind not in ("auto", "none"):
        raise ValueError(f"scaling={kind!r} needs a linear scorer, not {scorer!r}: omit scaling")


def scaling_for(
    kind: str, scorer: Any, groups: QueryGroups, weights: np.ndarray | None, n_threads: int
) -> Scaling:
    """Return the scaling fitted to training queries; none for a scorer that is not linear."""
    check_scaling(kind, scorer)
    return fit_scaling(kind, groups, weights, n_threads) if type(scorer) is Linear else UNSCALED


def scores_of(scorer: Any, groups: QueryGroups) -> np.ndarray:
    """Return the scores of documents in the inner order; some scorers also read the queries."""
    return scores_in_queries(scorer, groups.features, groups.queries.indptr)


def grouped(X: np.ndarray, qid) -> QueryGroups:
    """Return rows as queries, for a model that scales features or scores inside each query.

    Raises
    ------
    DataError
        If `qid` is missing.
    """
    if qid is None:
        raise DataError(
            "qid is missing: the model scales features or scores inside each query; "
            "pass qid=… with the query of each row"
        )
    return QueryGroups(X, None, np.asarray(qid))
