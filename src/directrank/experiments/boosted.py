"""Boosted trees of other libraries, stopped early by the measure of selection on the validation set."""

import inspect
from abc import abstractmethod
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from directrank.data import QueryGroups
from directrank.errors import install_line
from directrank.experiments.identity import described, library_of
from directrank.experiments.rivals import Learned, Learner, Rows, Task, rows_of, settings

#: From features and a number of rounds to scores by these first rounds.
Predict = Callable[[np.ndarray, int], np.ndarray]
#: A fit stops after this many rounds without a better validation value, or after as many as are allowed.
PATIENCE, ROUNDS = 50, 500


class Watch:
    """The validation value after each round, and whether to stop; without a monitor it never stops."""

    def __init__(self, monitor: Callable[[np.ndarray], float] | None, rows: Rows | None):
        self.monitor, self.rows = monitor, rows
        self.values: list[float] = []

    def __call__(self, scores: np.ndarray) -> float:
        """Return the value of the scores of a round, in the order of the rows."""
        assert self.monitor is not None
        assert self.rows is not None
        self.values.append(self.monitor(self.rows.to_caller(np.asarray(scores))))
        return self.values[-1]

    @property
    def best(self) -> int:
        """The number of rounds with the largest value, the first of equal ones."""
        return 1 + int(np.argmax(self.values))

    @property
    def is_over(self) -> bool:
        """Whether there was no better value for `PATIENCE` rounds."""
        return len(self.values) - self.best >= PATIENCE


class BoostedTrees(Learner):
    """Trees grown for an objective of another library, which is called as there."""

    library: ClassVar[str]
    #: The library's estimator, whose parameters these are.
    estimator_name: ClassVar[str]
    #: The parameter that is the number of rounds.
    rounds_name: ClassVar[str] = "n_estimators"
    #: Parameters that the estimator takes and does not list.
    unlisted: ClassVar[tuple[str, ...]] = ()
    stops_early = True
    is_random = True

    def __init__(self, objective: str):
        self.objective = objective

    @property
    def install(self) -> str:
        """The command that installs the library; empty if it can be imported."""
        return "" if find_spec(self.library) else install_line(self.library)

    @property
    def estimator(self) -> Any:
        """The class of the library's estimator."""
        return getattr(import_module(self.library), self.estimator_name)

    def describe(self, fold: str) -> Any:
        """Return the objective and the library."""
        return [described(self.estimator), self.objective, PATIENCE]

    def libraries(self) -> dict[str, str]:
        """Return the library's version."""
        found = library_of(self.estimator)
        return {} if found is None else dict([found])

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the library's estimator."""
        return {**dict.fromkeys(self.unlisted), **self.estimator().get_params()}

    def learn(self, task: Task) -> Learned:
        """Grow trees until the validation value rises no more, and return the scores of the best round."""
        limit = int(task.parameters.get(self.rounds_name, ROUNDS))
        watch = Watch(task.monitor, None if task.vali is None else rows_of(task.vali))
        predict = self.grow(task, rows_of(task.train), watch, task.rounds or limit)
        rounds = task.rounds or (watch.best if watch.values else limit)

        def scored(groups: QueryGroups | None) -> np.ndarray | None:
            if groups is None:
                return None
            rows = rows_of(groups)
            return rows.to_caller(np.asarray(predict(rows.X, rounds)))

        message = f"{rounds} of at most {limit} rounds"
        scores = scored(task.vali), scored(task.to_score)
        return Learned(*scores, "complete", message, rounds, tuple(watch.values))

    @abstractmethod
    def grow(self, task: Task, train: Rows, watch: Watch, rounds: int) -> Predict:
        """Return a function that scores features by the first rounds of a model.

        Where `watch` has a monitor it is called after each round, and says when to stop.
        """


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

    def grow(self, task: Task, train: Rows, watch: Watch, rounds: int) -> Predict:
        """Return the predictions of a fitted `CatBoostRanker`."""
        ranker = self.estimator(loss_function=self.objective)
        given = {**task.parameters, self.rounds_name: rounds}
        ranker.set_params(**given, **settings(ranker, task.seed, task.threads))
        ranker.fit(train.X, train.relevance, group_id=train.query)
        if watch.monitor is not None and watch.rows is not None:
            for scores in ranker.staged_predict(watch.rows.X, thread_count=task.threads):
                watch(scores)
                if watch.is_over:
                    break
        return lambda X, rounds: ranker.predict(X, ntree_end=rounds, thread_count=task.threads)


class LightGBM(BoostedTrees):
    """LightGBM's `LGBMRanker`."""

    library, estimator_name = "lightgbm", "LGBMRanker"
    unlisted = (
        "bagging_by_query", "extra_trees", "feature_fraction_bynode", "label_gain", "lambdarank_norm",
        "lambdarank_truncation_level", "max_bin", "min_data_in_bin", "path_smooth",
    )  # fmt: skip

    def grow(self, task: Task, train: Rows, watch: Watch, rounds: int) -> Predict:
        """Return the predictions of a fitted `LGBMRanker`."""
        import lightgbm

        ranker = self.estimator(objective=self.objective, metric="None")
        given = {**task.parameters, self.rounds_name: rounds}
        ranker.set_params(**given, **settings(ranker, task.seed, task.threads))
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

    def grow(self, task: Task, train: Rows, watch: Watch, rounds: int) -> Predict:
        """Return the predictions of a booster."""
        import xgboost

        ranker = self.estimator(objective=self.objective)
        ranker.set_params(**task.parameters, **settings(ranker, task.seed, task.threads))
        parameters = {**ranker.get_xgb_params(), "disable_default_eval_metric": True}
        relevance = (train.relevance >= 1) * 1.0 if self.objective == BINARY else train.relevance
        data = xgboost.DMatrix(train.X, relevance, qid=train.query, nthread=task.threads)
        watched: dict[str, Any] = {}
        if watch.monitor is not None and watch.rows is not None:
            vali = xgboost.DMatrix(watch.rows.X, nthread=task.threads)
            watched = {
                "evals": [(vali, "vali")],
                "custom_metric": lambda scores, _: ("value", watch(scores)),
                "maximize": True,
                "early_stopping_rounds": PATIENCE,
                "verbose_eval": False,
            }
        booster = xgboost.train(parameters, data, rounds, **watched)
        return lambda X, rounds: booster.predict(xgboost.DMatrix(X), iteration_range=(0, rounds))
