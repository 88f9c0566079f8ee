"""XGBoost's ranking objectives."""

from collections.abc import Callable
from typing import Any

import numpy as np

from directrank.experiments.rivals.boosted import PATIENCE, BoostedTrees, Watch
from directrank.experiments.rivals.foreign import settings
from directrank.experiments.rivals.learner import Rows, Task

#: The objective that takes two grades only.
BINARY = "rank:map"


class XGBoost(BoostedTrees):
    """XGBoost's ranking objectives, with the parameters of `XGBRanker`.

    `XGBRanker` itself calls a metric query by query; `xgboost.train` passes all scores at once.
    """

    library, estimator_name = "xgboost", "XGBRanker"
    unlisted = (
        "lambdarank_normalization", "lambdarank_num_pair_per_sample", "lambdarank_pair_method",
        "lambdarank_score_normalization", "ndcg_exp_gain",
    )  # fmt: skip

    def grow(
        self, task: Task, train: Rows, watch: Watch, rounds: int
    ) -> Callable[[np.ndarray, int], np.ndarray]:
        """Return the predictions of a booster."""
        import xgboost

        ranker = self.estimator(objective=self.objective)
        ranker.set_params(**task.parameters, **settings(ranker, task.seed, task.n_threads))
        parameters = {**ranker.get_xgb_params(), "disable_default_eval_metric": True}
        relevance = (train.relevance >= 1) * 1.0 if self.objective == BINARY else train.relevance
        data = xgboost.DMatrix(train.X, relevance, qid=train.query, nthread=task.n_threads)
        watched: dict[str, Any] = {}
        if watch.monitor is not None and watch.rows is not None:
            vali = xgboost.DMatrix(watch.rows.X, nthread=task.n_threads)
            watched = {
                "evals": [(vali, "vali")],
                "custom_metric": lambda scores, _: ("value", watch(scores)),
                "maximize": True,
                "early_stopping_rounds": PATIENCE,
                "verbose_eval": False,
            }
        booster = xgboost.train(parameters, data, rounds, **watched)
        return lambda X, rounds: booster.predict(xgboost.DMatrix(X), iteration_range=(0, rounds))
