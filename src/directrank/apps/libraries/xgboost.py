"""XGBoost: our objectives and measures in its training.

::

    import xgboost, directrank.xgboost
    data = xgboost.QuantileDMatrix(X, label=y, qid=qid)
    booster = xgboost.train(
        {"disable_default_eval_metric": True}, data, 100, obj=directrank.xgboost.objective("approxndcg"),
        evals=[(valid, "valid")], custom_metric=directrank.xgboost.eval_metric("nDCG@10"), maximize=True,
    )
"""

from collections.abc import Callable

import numpy as np

from directrank.apps.libraries.library_data import Labelled, TrainingSet, gradients_for, values_for
from directrank.contracts import Measure, Surrogate


def objective(
    method: str | Surrogate,
    groups: object = None,
    *,
    weights: object = None,
    n_jobs: int | None = None,
    **parameters,
) -> Callable[[np.ndarray, TrainingSet], tuple[np.ndarray, np.ndarray]]:
    """Return an objective for ``xgboost.train(obj=…)``; XGBRanker takes none of others.

    It is the sum over queries of the method's loss, with its curvature as the second derivative, times the
    power of two that brings the mean curvature of the rows, at the first scores, closest to 1.

    Parameters
    ----------
    method, groups, weights, n_jobs, **parameters
        As in `directrank.lightgbm.objective`; by default relevance, queries and weights are those of the
        `xgboost.DMatrix`.

    Returns
    -------
    callable
        From scores and a `xgboost.DMatrix` to the gradient and the curvature of each row.
    """
    return gradients_for(method, _look, groups, weights, n_jobs, parameters)


def eval_metric(
    measure: str | Measure, groups: object = None
) -> Callable[[np.ndarray, TrainingSet], tuple[str, float]]:
    """Return a measure for ``xgboost.train(custom_metric=…, maximize=True)``.

    Parameters
    ----------
    measure, groups
        As in `directrank.lightgbm.eval_metric`.

    Returns
    -------
    callable
        From scores and a `xgboost.DMatrix` to the measure's name and its mean over queries.
    """
    return values_for(measure, _look, groups)


def _look(data: TrainingSet) -> Labelled:
    relevance, weights = data.get_label(), data.get_weight()
    return Labelled(
        relevance if len(relevance) else None,
        np.diff(data.get_uint_info("group_ptr")),
        weights if len(weights) else None,
        data.num_col(),
    )
