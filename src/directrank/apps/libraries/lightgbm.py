"""LightGBM: our objectives and measures in its training.

::

    import lightgbm, directrank.lightgbm
    data = lightgbm.Dataset(X, label=y, group=sizes)
    params = {"objective": directrank.lightgbm.objective("approxndcg"), "metric": "none"}
    feval = directrank.lightgbm.eval_metric("nDCG@10")
    booster = lightgbm.train(params, data, valid_sets=[valid], feval=feval)
    ranker = lightgbm.LGBMRanker(objective=directrank.lightgbm.objective("approxndcg"))
    ranker.fit(X, y, group=sizes)
"""

from collections.abc import Callable
from typing import Any

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
) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return an objective for ``lightgbm.train(params={"objective": …})`` and ``LGBMRanker(objective=…)``.

    It is the sum over queries of the method's loss, with its curvature as the second derivative, times the
    power of two that brings the mean curvature of the rows, at the first scores, closest to 1.

    Parameters
    ----------
    method : str or Surrogate
        A method of directrank whose loss has a gradient and a curvature, such as ``lambdarank(nDCG@10)``,
        ``approxndcg``, ``consistent-ndcg`` or ``listnet``; or a surrogate.
    groups : QueryGroups, or array of shape (n_docs,), optional
        The queries of the rows, in any order: with their relevance, or only the qid of each row. By default
        the data set's own label and group.
    weights : array of shape (n_docs,) or (n_queries,), optional
        The weight of each query; by default the data set's own.
    n_jobs : int, optional
        Threads of the gradient; all processors by default. Results do not depend on it.
    **parameters
        Of the method, such as ``steepness=3.0``.

    Returns
    -------
    callable
        From scores and a `lightgbm.Dataset`, or the arrays that `LGBMRanker` passes in place of one, to the
        gradient and the curvature of each row.
    """
    return _for_both_interfaces(gradients_for(method, _look, groups, weights, n_jobs, parameters))


def eval_metric(measure: str | Measure, groups: object = None) -> Callable[..., tuple]:
    """Return a measure for ``lightgbm.train(feval=…)`` and ``LGBMRanker.fit(eval_metric=…)``.

    It is the mean over the queries of each data set.

    Parameters
    ----------
    measure : str or Measure
        Such as ``nDCG@10`` or ``AP``; ties count with their expected value.
    groups : QueryGroups, or array of shape (n_docs,), optional
        As in `objective`; then every data set that is evaluated must have these rows.

    Returns
    -------
    callable
        From scores and a `lightgbm.Dataset`, or the arrays that `LGBMRanker` passes in place of one, to the
        measure's name, its mean and True: larger is better.
    """
    judge = values_for(measure, _look, groups)
    return _for_both_interfaces(lambda scores, data: (*judge(scores, data), True))


def _for_both_interfaces(function: Callable[[np.ndarray, TrainingSet], tuple]) -> Callable[..., tuple]:
    """Return a function of scores and a data set, or of the four arrays that `LGBMRanker` passes."""
    seen: list[_Rows] = []

    def call(scores_or_relevance, data_or_scores, weights=None, sizes=None):
        if not isinstance(data_or_scores, np.ndarray):
            return function(scores_or_relevance, data_or_scores)
        rows = _Rows(scores_or_relevance, weights, sizes)
        same = next((earlier for earlier in seen if earlier.equals(rows)), None)
        if same is None:
            seen.append(same := rows)
        return function(data_or_scores, same)

    return call


class _Rows:
    """The data set of arrays that `LGBMRanker` passes; it does not say how many features there are."""

    def __init__(self, relevance: Any, weights: Any, sizes: Any):
        self._arrays = relevance, weights, sizes

    def equals(self, other: "_Rows") -> bool:
        return all(map(np.array_equal, self._arrays, other._arrays))

    def get_label(self) -> Any:
        return self._arrays[0]

    def get_weight(self) -> Any:
        return self._arrays[1]

    def get_group(self) -> Any:
        return self._arrays[2]

    def num_feature(self) -> int:
        return 1


def _look(data: TrainingSet) -> Labelled:
    return Labelled(data.get_label(), data.get_group(), data.get_weight(), data.num_feature())
