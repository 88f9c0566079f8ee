"""Methods of other libraries as rows of a comparison, trees stopped early among them."""

import contextlib
import copy
import inspect
import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from directrank.apps.evaluation import checked_scores
from directrank.apps.experiments.plan.entry import Entry, Learned, Task, thinned
from directrank.apps.experiments.store.identity import identity_of, library_of
from directrank.apps.experiments.store.records import Training
from directrank.data import QueryGroups
from directrank.errors import MethodError, install_line
from directrank.estimators.methods import grid_points
from directrank.estimators.parameters import Grid, Parameters, Point
from directrank.storage.strict_json import Plain, as_plain, dump


class Rows(NamedTuple):
    """Documents as other libraries take them: queries one after the other, rows in the caller's order.

    The inner order of `QueryGroups` is no choice: it is by relevance, and some libraries break ties by the
    order of rows. `sizes` are the documents of each query, `place` the caller's row of each document.
    """

    X: np.ndarray
    relevance: np.ndarray
    sizes: np.ndarray
    place: np.ndarray

    @property
    def query(self) -> np.ndarray:
        """The number of each document's query, ascending."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def to_caller(self, scores: np.ndarray) -> np.ndarray:
        """Return scores of these rows in the caller's row order."""
        in_order = np.empty_like(scores)
        in_order[self.place] = scores
        return in_order


def rows_of(groups: QueryGroups) -> Rows:
    """Return the documents of query groups, as other libraries take them."""
    queries = groups.queries
    order = np.lexsort((queries.row, queries.query))
    return Rows(groups.features[order], queries.relevance[order], queries.sizes, queries.row[order])


def without_relevance(groups: QueryGroups) -> QueryGroups:
    """Return documents without their relevance; neither their order nor their grades tell it."""
    return QueryGroups(
        groups.X, None, groups.qid, docid=groups.docid, feature_names=groups.feature_names, name=groups.name
    )


@dataclass(frozen=True)
class External(Entry):
    """A row that another library or a file makes: its scores are stored in place of a model.

    Attributes
    ----------
    grid, fixed : mapping
        Parameters that the validation set chooses, and other parameters.
    summary, paper, name : str
        What it does, where it was published, and its name on the command line.
    stops_early : bool
        Whether the measure of selection chooses inside a fit.
    """

    label: str
    _: KW_ONLY
    grid: Grid = field(default_factory=dict)
    fixed: Parameters = field(default_factory=dict)
    summary: str = ""
    paper: str = ""
    name: str = ""
    #: No measure of its own is known.
    measure = None
    stores_scores = True
    stops_early = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.label)

    @abstractmethod
    def scored(self, task: Task) -> Learned:
        """Return the scores of the validation and the test set."""

    def defaults(self) -> Point:
        """Return the parameters that can be set, with the values that they have otherwise."""
        return {}

    @property
    def method(self) -> Self:
        """Itself: it has what the table of methods says of a method, as `directrank.estimators.methods`."""
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The label, and the name on the command line."""
        return self.label, self.name

    def points(self) -> list[Point]:
        """Return the grid: one dict of parameters for each point."""
        return grid_points(self.grid)

    def parameters(self) -> Point:
        """Return all parameters that can be set, with their values."""
        return {**self.defaults(), **self.fixed}

    def check(self, point: Parameters) -> None:
        """Raise `ValueError` if a point of the grid cannot be set."""
        allowed = self.defaults()
        unknown = [name for name in (*self.fixed, *point) if name not in allowed]
        if unknown:
            raise ValueError(f"no parameter is called {unknown[0]!r}")

    def changed(self, fixed: Parameters, grid: Grid) -> Self:
        """Return the row with other fixed parameters and another grid."""
        row: Any = self
        return replace(row, fixed=fixed, grid=grid)

    def labelled(self, label: str) -> Self:
        """Return the row with another label."""
        row: Any = self
        return replace(row, label=label)

    def reads_select_by(self, parameters: Parameters) -> bool:
        """Say whether the measure of selection chooses inside a fit."""
        return self.stops_early

    def learn(self, task: Task) -> Learned:
        """Return the scores of a fold; what the estimator prints goes to the standard error.

        A last fit is on training and validation set together; the validation set alone chooses its rounds.
        """
        # As many threads as our kernels can use on these data: a small set is slower with more.
        n_threads = min(task.threads, len(task.train.shards))
        task = replace(task, parameters={**self.fixed, **task.parameters}, n_threads=n_threads)
        if task.together is None:
            return self._checked(task)
        rounds = self._checked(task).rounds if task.chooses else None
        return self._checked(replace(task, train=task.together, vali=None, monitor=None, rounds=rounds))

    def _checked(self, task: Task) -> Learned:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                result = self.scored(task)
        except SystemExit as error:
            raise MethodError(f"{self.label} ended with exit code {error.code}") from None
        vali = None if result.vali is None else self._scores("validation", result.vali, task.vali)
        return replace(result, vali=vali, test=self._scores("test", result.test, task.to_score))

    def _scores(self, what: str, scores: np.ndarray | None, groups: QueryGroups | None) -> np.ndarray:
        assert scores is not None
        assert groups is not None
        retrieved = ~np.isnan(scores) if self.partial else None
        values = checked_scores(scores, groups.n_docs, retrieved=retrieved)
        present = values if retrieved is None else values[retrieved]
        if len(present) > 1 and (present == present[0]).all() and len(present) == len(values):
            raise MethodError(f"{self.label} gives every document of the {what} set the score {present[0]:g}")
        return values


#: Arguments by which `fit` takes the query of each row, or the sizes of queries.
QUERY, SIZES = ("qid", "group_id"), "group"
#: Last parts of the names of parameters that are a seed or a number of threads.
SEEDS, THREADS = ("random_state", "random_seed", "seed"), ("n_jobs", "nthread", "thread_count", "num_threads")
#: Silences CatBoost, which takes only one of these.
VOICES = ("verbose", "logging_level", "verbose_eval", "silent")


def _takes(estimator: Any, argument: str) -> bool:
    """Say whether `fit` of an estimator has an argument."""
    return argument in inspect.signature(estimator.fit).parameters


def queries_for(estimator: object, rows: Rows) -> dict[str, np.ndarray]:
    """Return the argument by which `fit` takes queries; none if there is none."""
    for name in QUERY:
        if _takes(estimator, name):
            return {name: rows.query}
    return {SIZES: rows.sizes} if _takes(estimator, SIZES) else {}


def settings(estimator: object, seed: int, n_threads: int) -> Point:
    """Return the parameters that a comparison sets: seeds, threads, and what makes a fit repeatable."""
    parameters, seed = _parameters(estimator), seed % 2**31  # the libraries of trees take no larger one
    seeds, threads = _ending(parameters, SEEDS), _ending(parameters, THREADS)
    chosen: Point = dict.fromkeys(seeds, seed) | dict.fromkeys(threads, n_threads)
    library = _library(estimator)
    if library == "lightgbm":
        chosen |= {"deterministic": True, "force_row_wise": True, "verbosity": -1}
    if library == "catboost":
        chosen |= {} if seeds else {"random_seed": seed}
        chosen |= {} if threads else {"thread_count": n_threads}
        chosen |= {} if set(VOICES) & set(parameters) else {"verbose": False}
        chosen["allow_writing_files"] = False
    return chosen


def _predicted(predict: Callable[[np.ndarray], Any], groups: QueryGroups | None) -> np.ndarray | None:
    """Return predictions in the caller's row order, if there is a set; their number is checked later."""
    if groups is None:
        return None
    rows = rows_of(groups)
    scores = np.asarray(predict(rows.X))
    return rows.to_caller(scores) if scores.shape == rows.place.shape else scores


def _parameters(estimator: Any) -> Point:
    return estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}


def _ending(names, endings: tuple[str, ...]) -> list[str]:
    """Return the names, also of estimators inside others, whose last part is one of some words."""
    return [name for name in names if name.rpartition("__")[2] in endings]


def _library(estimator: object) -> str | None:
    """Return the library of trees that a class is from, or inherits from."""
    tops = [base.__module__.partition(".")[0] for base in type(estimator).__mro__]
    return next((top for top in tops if top in ("lightgbm", "xgboost", "catboost")), None)


@dataclass(frozen=True)
class ExternalEstimator(External):
    """A method of another library as a row of a comparison, beside those of directrank.

    It is trained on the same folds, on raw features, and the validation set chooses a point of its grid. If
    it has a parameter ``random_state`` (or ``random_seed``, ``seed``), three seeds are trained and the values
    of each query averaged, unless the comparison names its seeds.

    Parameters
    ----------
    label : str
        The name in tables.
    estimator : object
        Anything with ``fit(X, y)`` and ``predict(X)``. If ``fit`` has an argument ``qid``, ``group_id`` or
        ``group``, it gets the queries. The object itself is never fitted.
    grid : mapping of str to sequence, optional
        Parameters that the validation set chooses, as ``estimator.set_params`` takes them.
    fixed : mapping, optional
        Other parameters.
    summary, paper : str, optional
        What it does, in one line, and where it was published.
    name : str, optional
        The name on the command line.

    Attributes
    ----------
    label, estimator, grid, fixed, summary, paper, name
        As given.

    Raises
    ------
    ValueError
        If the object cannot be trained, or a value of the grid is not plain.

    Examples
    --------
    >>> from directrank import ExternalEstimator
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> forest = ExternalEstimator("forest", RandomForestRegressor(), grid={"min_samples_leaf": (1, 5, 20)})
    >>> len(forest.points())
    3
    """

    estimator: Any

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label.strip():
            raise ValueError(
                "an external estimator needs a name, such as ExternalEstimator('forest', …), not "
                f"{self.label!r}"
            )
        if not is_estimator(self.estimator):
            raise ValueError(f"{self.label}: {_object_text(self.estimator)} has no methods fit and predict")
        for name, values in self.grid.items():
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or not len(values):
                raise ValueError(f"{self.label}: the grid of {name} must be a list of one value or more")
            try:
                dump(as_plain(list(values)))
            except TypeError:
                problem = "must hold numbers, text, lists, true, false or none"
                raise ValueError(f"{self.label}: the grid of {name} {problem}") from None
        self.check(dict.fromkeys(self.grid))
        object.__setattr__(self, "summary", self.summary or _summary(self.estimator))
        super().__post_init__()

    @property
    def is_random(self) -> bool:
        """Whether the estimator has a parameter that is a seed."""
        return bool(_ending(self.defaults(), SEEDS)) or _library(self.estimator) == "catboost"

    def defaults(self) -> Point:
        """Return the parameters of the estimator, and of those inside it."""
        return _parameters(self.estimator)

    def check(self, point: Parameters) -> None:
        """Raise `ValueError` if a point of the grid cannot be set."""
        if (self.fixed or point) and not hasattr(self.estimator, "set_params"):
            name = type(self.estimator).__name__
            raise ValueError(f"{name} has no set_params, so its parameters cannot be chosen from a grid")
        if _library(self.estimator) is None:  # the libraries of trees have more than their objects list
            super().check(point)

    def libraries(self) -> dict[str, str]:
        """Return the package of the estimator with its version."""
        return library_of(type(self.estimator))

    def facts(self, fold: str, point: Parameters, chooses: bool) -> tuple[Plain, ...]:
        """Return the objects that decide what a fit on a fold learns."""
        return self.estimator, dict(self.fixed), point

    def check_storable(self) -> None:
        """Raise `ValueError` if results cannot be stored, as a rerun would not know the estimator again."""
        objects = [self.estimator, dict(self.fixed)]
        if identity_of(objects) != identity_of(objects):
            raise ValueError(
                f"{self.label}: results cannot be stored: a rerun could not tell it, or a parameter of it, "
                "from another; define it at the top of a module, or compare without a folder (out=None in "
                "Python)"
            )

    def scored(self, task: Task) -> Learned:
        """Fit a copy of the estimator and return its predictions."""
        from sklearn.base import clone  # slow to import

        estimator: Any = clone(self.estimator, safe=False)
        if estimator is self.estimator:
            estimator = copy.deepcopy(self.estimator)
        chosen = {**task.parameters, **settings(estimator, task.seed, task.threads)}
        if chosen:
            estimator.set_params(**chosen)
        train = rows_of(task.train)
        estimator.fit(train.X, train.relevance, **queries_for(estimator, train))
        # Forests add the predictions of their trees in the order in which threads end.
        single = dict.fromkeys(_ending(_parameters(estimator), ("n_jobs",)), 1)
        if single and task.threads > 1:
            estimator.set_params(**single)
        return Learned(_predicted(estimator.predict, task.vali), _predicted(estimator.predict, task.to_score))


def is_estimator(value: object) -> bool:
    """Whether an object can be trained and asked for scores."""
    return not isinstance(value, type) and has_methods(value)


def has_methods(value: object) -> bool:
    """Whether an object or a class has the methods of an estimator."""
    return all(callable(getattr(value, name, None)) for name in ("fit", "predict"))


def _summary(estimator: object) -> str:
    """Return what the documentation says of an estimator, in one line."""
    lines = (type(estimator).__doc__ or "").strip().splitlines()
    first = lines[0].strip().rstrip(".") if lines else ""
    name = type(estimator).__name__
    return f"{name}: {first[0].lower()}{first[1:]}" if first else name


def _object_text(value: object) -> str:
    is_class = isinstance(value, type)
    return f"the class {value.__name__} (give an object of it)" if is_class else repr(value)[:60]


#: From features and a number of rounds to scores by these first rounds.
Predict = Callable[[np.ndarray, int], np.ndarray]
#: A fit stops after this many rounds without a better validation value, or after as many as are allowed.
PATIENCE, ROUNDS = 50, 500


class Watch:
    """The validation value after each round, and whether to stop."""

    def __init__(self, monitor: Callable[[np.ndarray], float], rows: Rows):
        self.monitor, self.rows = monitor, rows
        self.values: list[float] = []

    def __call__(self, scores: np.ndarray) -> float:
        """Return the value of the scores of a round, in the order of the rows."""
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


@dataclass(frozen=True)
class BoostedTrees(External):
    """Trees grown for an objective of another library, which is called as there."""

    objective: str

    library: ClassVar[str]
    #: The library's estimator, whose parameters these are.
    estimator_name: ClassVar[str]
    #: The parameter that is the number of rounds.
    rounds_name: ClassVar[str] = "n_estimators"
    #: Parameters that the estimator takes and does not list.
    unlisted: ClassVar[tuple[str, ...]] = ()
    stops_early = True
    is_random = True

    @property
    def install(self) -> str:
        """The command that installs the library; empty if it can be imported."""
        return "" if find_spec(self.library) else install_line(self.library)

    @property
    def estimator(self) -> Any:
        """The class of the library's estimator."""
        return getattr(import_module(self.library), self.estimator_name)

    def facts(self, fold: str, point: Parameters, chooses: bool) -> tuple[Plain, ...]:
        """Return the library's estimator, the objective and the parameters."""
        return self.estimator, self.objective, PATIENCE, dict(self.fixed), point

    def libraries(self) -> dict[str, str]:
        """Return the library's version."""
        return library_of(self.estimator)

    def defaults(self) -> Point:
        """Return the parameters of the library's estimator."""
        return {**dict.fromkeys(self.unlisted), **self.estimator().get_params()}

    def scored(self, task: Task) -> Learned:
        """Grow trees until the validation value rises no more, and return the scores of the best round."""
        limit = int(task.parameters.get(self.rounds_name, ROUNDS))
        watch = None
        if task.vali is not None and task.monitor is not None:
            watch = Watch(task.monitor, rows_of(task.vali))
        predict = self.grow(task, rows_of(task.train), watch, task.rounds or limit)
        rounds = task.rounds or (watch.best if watch else limit)
        training = Training(
            status="complete",
            message=f"{rounds} of at most {limit} rounds",
            iterations=len(watch.values) if watch else rounds,
            history=thinned([{"monitor": value} for value in watch.values] if watch else []),
        )
        vali, test = (_predicted(lambda X: predict(X, rounds), part) for part in (task.vali, task.to_score))
        return Learned(vali, test, training, rounds=rounds)

    def configured(self, task: Task, rounds: int, **arguments: str) -> Any:
        """Return an estimator with these arguments of the constructor and the parameters of a task."""
        ranker = self.estimator(**arguments)
        chosen = {**task.parameters, self.rounds_name: rounds}
        return ranker.set_params(**chosen, **settings(ranker, task.seed, task.threads))

    @abstractmethod
    def grow(self, task: Task, train: Rows, watch: Watch | None, rounds: int) -> Predict:
        """Return a function that scores features by the first rounds of a model.

        `watch` is called after each round, and says when to stop; without one all rounds are made.
        """


#: Second names of parameters, which CatBoost refuses beside the first.
SYNONYMS = (
    "colsample_bylevel", "eta", "max_bin", "max_depth", "min_child_samples", "n_estimators",
    "num_boost_round", "num_leaves", "num_trees", "objective", "random_state", "reg_lambda",
)  # fmt: skip


class CatBoost(BoostedTrees):
    """CatBoost's `CatBoostRanker`.

    CatBoost does not tell a custom metric which queries there are, so all rounds are trained and their
    staged predictions are measured one by one, by the same rule of stopping.
    """

    library, estimator_name, rounds_name = "catboost", "CatBoostRanker", "iterations"

    def defaults(self) -> Point:
        """Return the parameters of the constructor: `get_params` lists only those that were given."""
        arguments = inspect.signature(self.estimator).parameters
        return {name: parameter.default for name, parameter in arguments.items() if name not in SYNONYMS}

    def grow(self, task: Task, train: Rows, watch: Watch | None, rounds: int) -> Predict:
        """Return the predictions of a fitted `CatBoostRanker`."""
        ranker = self.configured(task, rounds, loss_function=self.objective)
        ranker.fit(train.X, train.relevance, group_id=train.query)
        if watch is not None:
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

    def grow(self, task: Task, train: Rows, watch: Watch | None, rounds: int) -> Predict:
        """Return the predictions of a fitted `LGBMRanker`."""
        import lightgbm

        ranker = self.configured(task, rounds, objective=self.objective, metric="None")
        watched: Point = {}
        if watch is not None:
            vali = watch.rows
            # Version 4.7 has new names for the validation set.
            watched = {"eval_set": [(vali.X, vali.relevance)]}
            if _takes(ranker, "eval_X"):
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

    def grow(self, task: Task, train: Rows, watch: Watch | None, rounds: int) -> Predict:
        """Return the predictions of a booster."""
        import xgboost

        ranker = self.configured(task, rounds, objective=self.objective)
        parameters = {**ranker.get_xgb_params(), "disable_default_eval_metric": True}
        relevance = (train.relevance >= 1) * 1.0 if self.objective == BINARY else train.relevance
        data = xgboost.DMatrix(train.X, relevance, qid=train.query, nthread=task.threads)
        watched: Point = {}
        if watch is not None:
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
