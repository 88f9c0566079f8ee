"""LightGBM's rankers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from directrank.experiments.rivals.boosted import PATIENCE, BoostedTrees, Watch
from directrank.experiments.rivals.foreign import settings
from directrank.experiments.rivals.learner import Rows, Task


class LightGBM(BoostedTrees):
    """LightGBM's `LGBMRanker`."""

    library, estimator_name = "lightgbm", "LGBMRanker"
    unlisted = (
        "bagging_by_query", "extra_trees", "feature_fraction_bynode", "label_gain", "lambdarank_norm",
        "lambdarank_truncation_level", "max_bin", "min_data_in_bin", "path_smooth",
    )  # fmt: skip

    def grow(
        self, task: Task, train: Rows, watch: Watch, rounds: int
    ) -> Callable[[np.ndarray, int], np.ndarray]:
        """Return the predictions of a fitted `LGBMRanker`."""
        import lightgbm

        ranker = self.estimator(objective=self.objective, metric="None")
        given = {**task.parameters, self.rounds_name: rounds}
        ranker.set_params(**given, **settings(ranker, task.seed, task.n_threads))
        watched: dict[str, Any] = {}
        if watch.monitor is not None and watch.rows is not None:
            vali = watch.rows
            # Version 4.7 has new names for the validation set.
            watched = {"eval_set": [(vali.X, vali.relevance)]}
            if has_fit_parameter(ranker, "eval_X"):
                watched = {"eval_X": (vali.X,), "eval_y": (vali.relevance,)}
            watched |= {
                "eval_group": [vali.sizes],
                "eval_metric": lambda _, scores: ("value", watch(scores), True),
                "callbacks": [lightgbm.early_stopping(PATIENCE, verbose=False)],
            }
        ranker.fit(train.X, train.relevance, group=train.sizes, **watched)
        return lambda X, rounds: ranker.predict(X, num_iteration=rounds)
