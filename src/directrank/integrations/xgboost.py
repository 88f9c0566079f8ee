"""XGBoost: our objectives and measures in its training, and trees that it grows for us.

::

    import xgboost, directrank.xgboost
    data = xgboost.QuantileDMatrix(X, label=y, qid=qid)
    booster = xgboost.train(
        {"disable_default_eval_metric": True}, data, 100, obj=directrank.xgboost.objective("approxndcg"),
        evals=[(valid, "valid")], custom_metric=directrank.xgboost.eval_metric("nDCG@10"), maximize=True,
    )
"""

from collections.abc import Callable
from types import ModuleType

import numpy as np

from directrank.contracts import Measure, Surrogate
from directrank.integrations.library_data import Labelled, TrainingSet, gradients_for, values_for
from directrank.integrations.tree_growing import LibraryTrees, library
from directrank.models.readers.xgboost_json import read
from directrank.scorers import Trees

__all__ = ["XGBoostTrees", "eval_metric", "objective"]


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


class XGBoostTrees(LibraryTrees):
    """Trees grown by XGBoost; see `directrank.solvers.trees.boosting.GrownTrees`."""

    def grower(self, features, monitored, total, seed, n_threads, scorer) -> "_Grower":
        """Return a booster without trees; features of 0 and 1 say what category a document has."""
        xgboost = library("xgboost")
        leaves, bins = self.limits(features)
        parameters = {
            "objective": "reg:squarederror", "base_score": 0.0, "disable_default_eval_metric": True,
            "tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0, "verbosity": 0,
            "nthread": n_threads, "seed": seed, "learning_rate": self.learning_rate,
            "max_leaves": leaves, "max_bin": bins,
            "min_child_weight": self.leaf_share * total, "reg_lambda": self.penalty * total,
            "colsample_bytree": self.feature_share,
        }  # fmt: skip
        return _Grower(xgboost, parameters, features, monitored)


class _Grower:
    """A booster, and the data sets whose scores it keeps."""

    def __init__(self, xgboost: ModuleType, parameters: dict, features: np.ndarray, monitored: np.ndarray):
        # The objective knows the relevance, and XGBoost does not ask for it.
        n_threads = parameters["nthread"]
        self.data = self.other = xgboost.QuantileDMatrix(
            features, max_bin=parameters["max_bin"], nthread=n_threads
        )
        if monitored is not features:
            self.other = xgboost.DMatrix(monitored, nthread=n_threads)
        self.booster = xgboost.Booster(parameters, [self.data, self.other])
        self.n_trees = 0

    def grow(self, gradient: np.ndarray, curvature: np.ndarray) -> None:
        """Add one tree."""
        self.booster.boost(self.data, iteration=self.n_trees, grad=gradient, hess=curvature)
        self.n_trees += 1

    def scores(self) -> np.ndarray:
        """Return the scores of the training documents."""
        return self.booster.predict(self.data, output_margin=True)

    def monitored(self) -> np.ndarray:
        """Return the scores of the documents that the monitor judges."""
        return self.booster.predict(self.other, output_margin=True)

    def trees(self, n_trees: int) -> Trees:
        """Return the first trees."""
        return read(bytes(self.booster[:n_trees].save_raw("json"))).scorer
