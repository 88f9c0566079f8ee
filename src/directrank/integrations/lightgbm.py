"""LightGBM: our objectives and measures in its training, and trees that it grows for us.

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
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from directrank.contracts import Measure, Surrogate
from directrank.data.encoding import LEAST_QUERIES
from directrank.errors import DataError
from directrank.features.sharing import once
from directrank.integrations.library_data import Labelled, TrainingSet, gradients_for, values_for
from directrank.integrations.tree_growing import LibraryTrees, library
from directrank.models.readers.lightgbm_text import read
from directrank.scorers import Trees
from directrank.scorers.set_trees import SetTrees
from directrank.scorers.trees import at_most

__all__ = ["LightGBMTrees", "eval_metric", "objective"]


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


#: Splits on sets of categories: as many documents at least as queries that give a feature its value, and no
#: penalty of leaves beside that of `GrownTrees`. Chosen on validation (docs/trees.md).
SETS = {"min_data_per_group": LEAST_QUERIES, "cat_l2": 0.0}


class LightGBMTrees(LibraryTrees):
    """Trees grown by LightGBM; see `directrank.solvers.trees.boosting.GrownTrees`."""

    def grower(self, features, monitored, total, seed, n_threads, scorer) -> "_Grower":
        """Return a booster without trees."""
        lightgbm = library("lightgbm")
        # Sums of `on_a_grid` are exact, so that the order of the loops changes no tree. Threads share rows.
        by_column = n_threads == 1 or features.shape[1] > len(features)
        leaves, bins = self.limits(features)
        parameters = {
            "objective": "none", "metric": "none", "verbose": -1, "num_threads": n_threads,
            "deterministic": True, "force_row_wise": not by_column, "force_col_wise": by_column, "seed": seed,
            "learning_rate": self.learning_rate, "num_leaves": leaves, "max_bin": bins,
            "min_data_in_bin": 1, "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": self.leaf_share * total, "lambda_l2": self.penalty * total,
            "feature_fraction": self.feature_share, **SETS,
        }  # fmt: skip
        return _Grower(lightgbm, parameters, features, monitored, scorer)


class _Grower:
    """A booster, and the data sets whose scores it keeps."""

    def __init__(self, lightgbm: ModuleType, parameters: dict, features, monitored, scorer: Trees):
        self.both_are_one, self.scorer, self.n_features = monitored is features, scorer, features.shape[1]
        columns = (scorer.source, scorer.width) if isinstance(scorer, SetTrees) else ()
        inputs = features, monitored, *columns, parameters["max_bin"], parameters["seed"]
        data, other, self.places = once(
            "data sets of LightGBM",
            inputs,
            lambda: _data_sets(lightgbm, parameters, features, monitored, scorer),
        )
        self.booster = lightgbm.Booster(parameters, data)
        if not self.both_are_one:
            self.booster.add_valid(other, "monitored")

    def grow(self, gradient: np.ndarray, curvature: np.ndarray) -> None:
        """Add one tree."""
        self.booster.update(fobj=lambda scores, data: (gradient, curvature))

    def scores(self) -> np.ndarray:
        """Return the scores of the training documents."""
        return self._scores(self.booster.eval_train)

    def monitored(self) -> np.ndarray:
        """Return the scores of the documents that the monitor judges."""
        return self.scores() if self.both_are_one else self._scores(self.booster.eval_valid)

    def trees(self, n_trees: int) -> Trees:
        """Return the first trees."""
        trees = read(self.booster.model_to_string(num_iteration=n_trees).encode()).scorer
        trees = replace(trees, threshold=at_most(trees.threshold, or_equal=True))
        if isinstance(self.scorer, SetTrees):
            return self.scorer.columns_alone().of_codes(trees, self.places, self.n_features)
        return trees

    def _scores(self, evaluate: Callable) -> np.ndarray:
        parts: list[np.ndarray] = []

        def keep(scores: np.ndarray, data: object) -> tuple[str, float, bool]:
            parts.append(scores.copy())
            return "", 0.0, True

        evaluate(keep)
        return parts[0]


def _data_sets(
    lightgbm: ModuleType, parameters: dict, features, monitored, scorer: Trees
) -> tuple[Any, Any, Any]:
    """Return the data sets of documents to train on and to judge, and where categorical columns begin."""
    places, categories, both_are_one = None, [], monitored is features
    if isinstance(scorer, SetTrees):
        columns = scorer.columns_alone()
        monitored = columns.coded(monitored)[0]
        features, places = columns.coded(features)
        categories = np.searchsorted(places, columns.source).tolist()
    # The objective knows the relevance, and LightGBM does not ask for it.
    data = lightgbm.Dataset(
        features, label=np.zeros(len(features)), params=parameters, categorical_feature=categories
    ).construct()
    if not any(data.feature_num_bin(k) for k in range(features.shape[1])):
        raise DataError(
            "no feature tells documents apart for LightGBM, which takes numbers of at most 1e-35 for 0: "
            "multiply the features, or let XGBoost grow the trees (engine='xgboost', on the command line "
            "--set engine=xgboost)"
        )
    other = None
    if not both_are_one:
        other = data.create_valid(monitored, label=np.zeros(len(monitored)), params=parameters)
    return data, other, places
