"""CatBoost's rankers."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from directrank.experiments.rivals.boosted import BoostedTrees, Watch
from directrank.experiments.rivals.foreign import settings
from directrank.experiments.rivals.learner import Rows, Task

#: Second names of parameters, which CatBoost refuses beside the first.
SYNONYMS = (
    "colsample_bylevel", "eta", "max_bin", "max_depth", "min_child_samples", "n_estimators",
    "num_boost_round", "num_leaves", "num_trees", "objective", "random_state", "reg_lambda",
)  # fmt: skip


class CatBoost(BoostedTrees):
    """CatBoost's `CatBoostRanker`.

    CatBoost does not tell a metric of one's own which queries there are, so all rounds are trained and their
    staged predictions are measured one by one, by the same rule of stopping.
    """

    library, estimator_name, rounds_name = "catboost", "CatBoostRanker", "iterations"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the constructor: `get_params` lists only those that were given."""
        known = inspect.signature(self.estimator).parameters
        return {name: each.default for name, each in known.items() if name not in SYNONYMS}

    def grow(
        self, task: Task, train: Rows, watch: Watch, rounds: int
    ) -> Callable[[np.ndarray, int], np.ndarray]:
        """Return the predictions of a fitted `CatBoostRanker`."""
        ranker = self.estimator(loss_function=self.objective)
        given = {**task.parameters, self.rounds_name: rounds}
        ranker.set_params(**given, **settings(ranker, task.seed, task.n_threads))
        ranker.fit(train.X, train.relevance, group_id=train.query)
        if watch.monitor is not None and watch.rows is not None:
            for scores in ranker.staged_predict(watch.rows.X, thread_count=task.n_threads):
                watch(scores)
                if watch.is_over:
                    break
        return lambda X, rounds: ranker.predict(X, ntree_end=rounds, thread_count=task.n_threads)
