"""One estimator: a surrogate, a solver and a scorer behind scikit-learn's interface."""

import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np

from directrank.contracts import (
    GOOD,
    InRounds,
    Measure,
    Solution,
    Solver,
    Surrogate,
    check_fit,
    fitting_solvers,
)
from directrank.data.columns import ReadOptions
from directrank.data.grouping import checked_qid, query_codes
from directrank.data.groups import QueryGroups, check_overwritable
from directrank.data.queries import Queries
from directrank.errors import DataError, MethodError, UnfitPairError, check_choice
from directrank.estimators.documents import (
    FittedRanker,
    as_in_training,
    documents_of,
    features_of,
    features_of_documents,
    names_of_features,
    options_for,
    rows_of,
)
from directrank.estimators.explanation import Explanation
from directrank.estimators.fitted import FITTED
from directrank.estimators.inputs import (
    MOST_SCORED_WITHOUT_QID,
    Rows,
    groups_of,
    query_weights,
    training_data,
    validation_rows,
)
from directrank.estimators.parameters import (
    FROM_1,
    Interval,
    check_parameters,
    estimator,
    parameters_of,
    understood,
)
from directrank.estimators.sklearn_interface import SklearnInterface, check_fitted, unfitted
from directrank.estimators.synonyms import OtherNames, check_callbacks, unknown_of_fit
from directrank.estimators.training import Components, Request, train
from directrank.features import ArrayFeatures, Features, processors, scored
from directrank.features.statistics import missing_counts
from directrank.measures import DEFAULT_MEASURE, default_measure, mean_value, parse_measure
from directrank.scorers import (
    LINEAR,
    SCORERS,
    Linear,
    Trees,
    contributions,
    contributions_by_paths,
    default_scorer,
    reads_queries,
    scores_in_queries,
)
from directrank.scorers.scaling import Scaling
from directrank.scorers.set_trees import SetTrees
from directrank.solvers import SOLVERS
from directrank.timing import Watcher, phase, watching

#: Parameters that limit a run, of which an estimator has one or two.
BUDGETS = ("max_iterations", "max_passes", "rounds", "cycles")
#: The remedy where features are raw, or nothing else can be changed.
SCALE = "scale the features"
#: Methods that workers can share, for messages.
OTHERS = "another method, such as approxndcg, ranksvm or adarank"
#: Parameters of rankers that decide whether workers can share the training.
DECIDING = ("solver", "search")


def scores_of(scorer: Any, features: Features, X: Any, qid=None) -> np.ndarray:
    """Return the scores of the features of X, which are in the order of its inner rows or of the caller's.

    Raises DataError if the model scales features or scores inside each query, and neither X nor `qid` tells
    the queries; or if a value is missing and a linear scorer has no medians.
    """
    if isinstance(scorer, LINEAR) and scorer.fill is None:
        columns = np.flatnonzero(missing_counts(features))
        if columns.size:
            raise DataError(
                f"X has no value in some rows of column {columns[0]}, and the model has no medians for "
                "missing values: fill them first, or train it again; in weights of signals say "
                '"reading": {"missing": 0}'
            )
    if not reads_queries(scorer):
        return scored(scorer.scores, features)
    if isinstance(X, QueryGroups):
        return np.concatenate(features.over_shards(_scores_in_queries, scorer))
    if qid is None:
        raise DataError(
            "qid is missing: the model scales features or scores inside each query; "
            "pass qid=… with the query of each row"
        )
    groups = QueryGroups(features.rows, None, np.asarray(qid))
    return groups.to_caller(scores_in_queries(scorer, groups.features, groups.queries.indptr))


def _scores_in_queries(features: np.ndarray, indptr: np.ndarray, blocks, scorer: Any) -> np.ndarray:
    return scorer.scores(features, indptr)


def check_finite(ranker: object, solution: Solution) -> None:
    """Raise `MethodError` if a coefficient or a number of the certificate is not finite."""
    coefficients = getattr(solution.scorer, "coefficients", 0.0)
    wrong = []
    if coefficients is None or not np.isfinite(np.asarray(coefficients, np.float64)).all():
        wrong.append("its coefficients are")
    for name, value in solution.certificate.items():
        if not np.isfinite(value):
            wrong.append(f"its {name.replace('_', ' ')} is")
    if wrong:
        easier = ", or ".join(_milder(ranker)) or SCALE
        raise MethodError(f"{type(ranker).__name__} has diverged, {wrong[0]} not finite: {easier}")


def remedy(ranker: FittedRanker) -> str:
    """Return what may let the training of a fitted ranker converge, or nothing if there is no need."""
    if ranker.status_ in GOOD:
        return ""
    limits = [name for name in BUDGETS if name in ranker.get_params(deep=False)]
    more = [f"raise {' or '.join(limits)}"] if ranker.status_ == "budget" and limits else []
    return ", or ".join([*more, *_milder(ranker)]) or SCALE


def _milder(ranker: FittedRanker) -> list[str]:
    """Return what makes a problem easier: features of one scale, and steps or a model that are held back."""
    parameters = ranker.get_params(deep=False)
    changes = {"penalty": "raise penalty", "C": "lower C", "rankers": "change these rankers"}
    milder = [text for name, text in changes.items() if name in parameters]
    is_scaled = getattr(ranker, "scaling_", "none") != "none" or {"members", "rankers"} & set(parameters)
    milder = milder if is_scaled else [SCALE, *milder]
    return [*milder, "lower learning_rate"] if parameters.get("solver") == "sgd" else milder


@contextmanager
def restoring(ranker: object) -> Iterator[None]:
    """Leave a ranker as it was where its training fails: its scorer has the features of the earlier fit."""
    before = dict(vars(ranker))
    try:
        yield
    except BaseException:
        vars(ranker).clear()
        vars(ranker).update(before)
        raise


@estimator
class Ranker(SklearnInterface, OtherNames):
    """A ranking function learned by any compatible surrogate, solver and scorer.

    Parameters
    ----------
    surrogate : Surrogate
        The loss to minimise, with its measure.
    solver : Solver
        Must need only oracles that the surrogate offers.
    scorer : Scorer, optional
        By default the first of `Linear` and `Additive` that the solver can train.
    scaling : {"auto", "none", "standard", "log", "query"}, default="auto"
        Scaling of the features of a linear scorer (`directrank.scorers.scaling`).

    Attributes
    ----------
    scorer_ : Scorer
    coef_ : ndarray of shape (n_features,), float64
        The weight of each feature, where the scorer is linear. No ranking depends on an intercept.
    feature_importances_ : ndarray of shape (n_features,), float64
        Share of each feature in the model, by the definition of its kind of scorer.
    feature_deviations_ : ndarray of shape (n_features,), float64
        Only of linear scorers: the mean over training queries of each feature's standard deviation inside the
        query, in the unit in which ``coef_`` multiplies it.
    scaling_, scaling_reason_ : str
        The scaling of features: as asked for, or as "auto" chose, and why.
    history_ : list of dict
        What the solver reported on the way, in order: a row for an iteration, round, epoch, pass or cycle,
        those after the one that is kept included, and from some solvers one for the end of a run. An ensemble
        has a row for each member. After a start, of this fit alone, with values of the whole model.
    status_ : str
        ``converged``, ``stopped``, ``budget`` or ``complete``; see `directrank.contracts.Solution`.
    message_ : str
        How training ended, in words.
    selection_measure_ : Measure
        The measure that chose among iterates, rounds and starts; a loaded ranker has only its name.
    selected_by_ : str
        The name of that measure.
    certificate_ : dict of str to float
        Evidence for the status, such as the norm of the gradient.
    refitted_ : bool
        Whether it was trained on the validation queries too, after they had chosen.
    rounds_ : int
        Only of boosting over documents and of trees: the number of rounds that this fit has kept. Trees of a
        start come before them: ``scorer_.n_trees`` is the number of all.
    left_out_ : ndarray
        The qid of skipped queries: nothing can be learned from one document, or from one grade. A loaded
        ranker does not have it.
    notes_ : list of str
        Messages about the data, such as skipped queries; the first row of the history repeats them.
    training_digest_ : str
        By which `trained_on` recognises the training documents.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        The names of the columns, only where they have names.
    encoding_ : Encoding or None
        How categorical columns become features, where there are any: ``encoding_.feature_names`` are those
        that `coef_` has weights of, such as ``brand=Acme`` and ``brand=other``, and ``encoding_.values`` the
        values of each column that at least 10 training queries have.
    reading_ : ReadingRecord or None
        How the file of the training documents was read: the columns of queries, grades and names, what was
        left out, and the meaning of a missing value. Files, data frames and missing values given to a fitted
        ranker are read in the same way. None if it was trained on arrays.

    Raises
    ------
    UnfitPairError
        At construction, if the solver needs what the surrogate does not offer.

    Examples
    --------
    >>> from directrank import Ranker
    >>> from directrank.measures import NDCG
    >>> from directrank.solvers import LBFGS
    >>> from directrank.surrogates import SmoothedPositions
    >>> ranker = Ranker(SmoothedPositions(NDCG(10)), LBFGS(penalty=0.001))
    >>> ranker.fit([[0.0], [1.0], [0.2], [0.9]], [0, 1, 0, 2], qid=[1, 1, 2, 2]).predict([[3.0]]).shape
    (1,)
    """

    requested: ClassVar[dict[str, tuple[str, ...]]] = {
        "fit": ("qid", "sample_weight"), "predict": ("qid",), "score": ("qid", "sample_weight")
    }  # fmt: skip

    select_by: Annotated[
        str | Measure | None,
        "The measure that chooses among iterates, rounds and starts, on `eval_set` if it is given and else "
        "on the training set; the surrogate's own measure by default, nDCG@10 if it has none. `score` "
        "reports it too.",
    ] = None
    random_state: Annotated[
        int | np.random.RandomState | None,
        "The same seed and data give bit-identical models.",
        Interval(0, 2**32 - 1),
    ] = 0
    n_jobs: Annotated[
        Literal[-1] | int | None,
        "Number of threads; all processors by default. Results do not depend on it.",
        FROM_1,
    ] = None
    strict_qid: Annotated[
        bool,
        "Refuse any rows without qid. By default up to 150 (in `score` 30) are one query, with a warning, as "
        "scikit-learn's own checks need, and more are refused.",
    ] = False
    # Only rankers that can have a linear scorer have the parameter.
    scaling = "none"
    refit = False
    encoding_: ClassVar[Any] = None
    reading_: ClassVar[Any] = None

    def __init__(
        self, surrogate=None, solver=None, scorer=None, *,
        scaling="auto", select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        if isinstance(surrogate, Surrogate) and isinstance(solver, Solver):
            check_fit(surrogate, solver, SOLVERS, scorer, SCORERS)
        self.surrogate, self.solver, self.scorer = surrogate, solver, scorer
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid, self.scaling = n_jobs, strict_qid, scaling

    def set_params(self, **params: object) -> Self:
        """Set parameters, by our names or as other libraries call them.

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        nested = {name: value for name, value in params.items() if "__" in name}
        direct = {name: value for name, value in params.items() if name not in nested}
        try:
            direct = understood(direct, list(self.get_params(deep=False)), type(self))
        except TypeError as error:
            raise ValueError(str(error)) from None
        for name, value in direct.items():
            setattr(self, name, value)
        for name, value in nested.items():
            of, _, inner = name.partition("__")
            part: Any = self.get_params(deep=False).get(of)
            if not hasattr(part, "set_params"):
                raise ValueError(f"{type(self).__name__} has no parameter {of} with parameters of its own")
            part.set_params(**{inner: value})
        return self

    def fit(
        self, X, y=None, qid=None, *,
        sample_weight=None, eval_set=None, eval_qid=None, group=None, eval_group=None,
        refit: bool | None = None, callbacks: Sequence[Watcher] = (), verbose: bool = False,
        init_model: object = None, overwrite_X: bool = False, **unknown: object,
    ) -> Self:  # fmt: skip
        """Learn a ranking function from queries; if it fails, the ranker is as before.

        Parameters
        ----------
        X : QueryGroups, or array, data frame or sparse matrix of shape (n_docs, n_features)
            NaN is a missing value. A sparse matrix becomes dense, up to the size that fits in memory.
        y : array of shape (n_docs,), PreferenceGraph or ObservedRankings
            Relevance, or supervision of another kind (`ConsistentRank`); not with QueryGroups.
        qid : array of shape (n_docs,), optional
            The query of each row, of any hashable type and in any order.
        sample_weight : array of shape (n_docs,) or (n_queries,), optional
            Weight of each query: the same on all its rows, or one per query in order of appearance. Numbers
            that differ inside a query are the confidence of each label, for losses that are sums over
            documents or pairs; others are refused. Whole numbers count as copies of rows, up to 100,000 rows
            in all, for every method.
        eval_set : QueryGroups, (X, y), (X, y, qid) or a list of one of these, optional
            The validation set.
        eval_qid, group, eval_group : array, optional
            The qid of `eval_set`; or sizes of consecutive queries instead of one qid per row.
        refit : bool, optional
            Whether to train on `eval_set` too, once it has chosen: the number of rounds of trees and stumps,
            and what `AutoRanker` chooses. There is no validation set then: other methods choose among
            iterates and starts on all these queries. Weights of validation queries are the mean of those of
            training queries. By default only `AutoRanker` does it.
        callbacks : sequence of callable, default=()
            Called with a name and a value: of the measure that chooses among iterates, rounds or passes, when
            it is computed; and of ``"objective"``, relative to zero scores, at each iterate of L-BFGS.
        verbose : bool, default=False
            Whether to print these values.
        init_model : Ranker, optional
            A fitted ranker from which this fit starts, in place of the parameter `start`: as LightGBM calls
            it.
        overwrite_X : bool, default=False
            Reorder and scale the rows of X itself, which saves the copy that a fit makes. X must be a
            writable array, float32 and C-contiguous. It is of no use afterwards, even if training fails, nor
            are views of it, `QueryGroups` that were made from it, or the file of a memory map. Weights and
            validation data have to be arrays or `QueryGroups` that do not share its memory, or lists of
            numbers.
        **unknown
            Arguments of other libraries are refused with what to use here.

        Returns
        -------
        Ranker
            Itself.

        Raises
        ------
        DataError
            If the data cannot be used or overwritten, or there is nothing to learn from in any query.
        TypeError
            If an argument is unknown, or a callback does not take a name and a value.
        """
        for name in unknown:
            raise TypeError(unknown_of_fit(name, type(self).__name__, [*self.get_params(deep=False)]))
        if callbacks:
            check_callbacks(callbacks, [*self.get_params(deep=False)])
        if init_model is not None:
            if "start" not in self.get_params(deep=False):
                raise TypeError(f"{type(self).__name__} starts from no model: omit init_model")
            parameters_of(type(self))["start"].check(init_model, f"init_model of {type(self).__name__}.fit")
        part = None if eval_set is None else validation_rows(eval_set, eval_qid, eval_group)
        if overwrite_X:
            check_overwritable(X, sample_weight, *(part or ()))
        return self._fit(
            Rows(X, y, qid, group, sample_weight), part, refit=refit, overwrite_X=overwrite_X,
            watchers=[*callbacks, *([print] if verbose else [])], start=init_model,
        )  # fmt: skip

    def _fit(
        self, rows: Rows, validation_rows: Rows | None = None, *, refit: bool | None = None,
        watchers: Sequence[Watcher] = (), overwrite_X: bool = False, start: Any = None,
        rounds: int | None = None, candidates: Sequence["Ranker | None"] = (), monitored: bool = True,
    ) -> Self:  # fmt: skip
        """`fit`, with what a `Request` has beside the data."""
        check_parameters(self)
        with restoring(self), watching(*watchers):
            for attribute in FITTED:
                if not attribute.of_all:
                    vars(self).pop(attribute.name, None)
            start = getattr(self, "start", None) if start is None else start
            with phase("grouping by query"):
                groups, weights = training_data(self, rows, start, overwrite_X)
                self.training_digest_ = groups.digest()
            self.n_features_in_ = groups.n_features if self.encoding_ is None else len(self.encoding_.columns)
            validation = None if validation_rows is None else groups_of(self, validation_rows)
            refit = self.refit and groups.source.workers is None if refit is None else refit
            self.refitted_ = refit and validation is not None
            is_copy = groups is not rows.X and groups.is_copy
            request = Request(
                groups, weights, validation, start, rounds, self.refitted_, is_copy, candidates, monitored
            )
            solution, measure = self._train(request)
            if validation is not None and self.refitted_:
                sizes = groups.n_queries, validation.n_queries
                parts = f"{sizes[0]} training, {sizes[1]} validation"
                message = f"{solution.message}; trained at the end on all {sum(sizes)} queries ({parts})"
                solution = replace(solution, message=message)
            return self._adopt(solution, measure)

    #: Whether it trains other rankers, and has no surrogate and solver.
    is_ensemble: ClassVar[bool] = False

    @property
    def chooses_rounds(self) -> bool:
        """Whether training chooses a number of rounds: of trees and stumps, unless all rounds are kept."""
        solver = self.components()[1]
        return isinstance(solver, InRounds) and solver.chooses_rounds

    def _train(self, request: Request) -> tuple[Solution, Measure]:
        """Return the solution, with a scorer of raw features, and the measure that selected it."""
        if request.refit:
            rounds = None
            if self.chooses_rounds:
                rounds = self._train(replace(request, refit=False, is_copy=False))[0].rounds
            return self._train(request.on_both(rounds))
        surrogate, solver, scorer = self.components()
        measure = self._selection_measure(surrogate, solver, scorer, request.groups.queries)
        if request.groups.source.workers is not None and not solver.sums_over_shards:
            raise self._not_distributable(surrogate, solver)
        seed = int(self._stream().randint(2**31))
        others = self._other_solvers(solver, request) if isinstance(solver, InRounds) else ()
        components = Components(
            type(self).__name__, surrogate, solver, scorer, measure, self.scaling, seed, self._n_threads(),
            self._initial_scorer, self._selects_on_training, others,
        )  # fmt: skip
        fit = train(components, request)
        if fit.deviations is not None:
            self.feature_deviations_ = fit.deviations
        self.left_out_, self.notes_ = fit.left_out, fit.notes
        self.scaling_, self.scaling_reason_ = fit.scaling.kind, fit.scaling.reason
        return fit.solution, measure

    def checked(self) -> Self:
        """Return the ranker itself, or raise the error of a parameter that `fit` would refuse."""
        check_parameters(self)
        surrogate, solver, scorer = self.components()
        self._selection_measure(surrogate, solver, scorer)
        return self

    def predict(self, X, qid=None) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,), in the order of the rows given.

        Parameters
        ----------
        X : QueryGroups, or array, data frame or sparse matrix of shape (n_docs, n_features)
            Columns with names are found by their names, in any order. A missing value is replaced as in
            training (`reading_`). A file is read by ``load_data(path, ranker=ranker)``.
        qid : array of shape (n_docs,), optional
            The query of each row. Only ensembles, models with ``scaling="query"`` and such as were trained
            on files with ``missing="query_min"`` read it, and they need it; a data frame may have it in the
            column of training.

        Raises
        ------
        DataError
            If a column of the training data is missing, or `qid` where the model needs it.
        """
        X, qid = documents_of(self, X, qid)
        features, in_caller_order = features_of(self, X, qid)
        return in_caller_order(scores_of(self.scorer_, features, X, qid))

    def trained_on(self, groups: QueryGroups) -> bool:
        """Return whether these are the training documents, by a digest: values on them promise nothing.

        Models of earlier releases, and of other libraries, have no digest.
        """
        digest = getattr(self, "training_digest_", "")
        return bool(digest) and as_in_training(self, groups).digest() == digest

    def read_options(self, how: ReadOptions) -> ReadOptions:
        """Return how to read a file for this ranker: the features that it needs, and as in training."""
        return options_for(self, how)

    def rank(self, documents: object) -> np.ndarray:
        """Return the rows of one query's documents in the order of their scores, the best one first.

        It is made for serving: a few documents are ranked in microseconds, from any number of threads.

        Parameters
        ----------
        documents : array of shape (n_docs, n_features), mappings, mapping, data frame or QueryGroups
            Features in the order of training; or each document's features by name, or columns by name. A
            feature that a document lacks, or that is None, NaN or masked, is missing there; other names are
            ignored. Models of categorical columns need names. Without documents the answer is empty. A
            missing value is replaced as in training (`reading_`).

        Returns
        -------
        ndarray of shape (n_docs,), int64
            Documents with equal scores are in the order given.

        Raises
        ------
        DataError
            If no document has one of the features, a cell is refused by `predict`: text that is no number
            (``"1_000"``), bytes, dates, infinity; documents are given by text or a path; or a data frame has
            several queries.

        Examples
        --------
        >>> from directrank import Regression
        >>> ranker = Regression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 1, 2], qid=[1, 1, 1])
        >>> ranker.rank([[0.5, 0.0], [2.0, 0.0], [1.0, 0.0]]).tolist()
        [1, 2, 0]
        """
        features = features_of_documents(self, documents)
        scores = scores_in_queries(self.scorer_, features, np.array([0, len(features)]))
        if np.isnan(scores).any():
            # Some scorers have nothing that stands for a missing value.
            scores = scores_of(self.scorer_, ArrayFeatures(features), features, np.zeros(len(features)))
        return np.argsort(-scores, kind="stable")

    def explain(self, X, qid=None, *, rows=None, against=None) -> Explanation:
        """Return what each feature adds to the scores of documents, against others of their queries.

        The contributions of a document are the Shapley values of the difference between its score and the
        mean score of the documents that it is compared with, to which they add up. They are exact for linear
        rankers, stumps, trees and their sums (`directrank.scorers.contributions`).

        Parameters
        ----------
        X, qid
            As in `predict`, with whole queries; without qid all rows are one query.
        rows : int or array of int, optional
            The rows of X to explain; all by default.
        against : int or array of int or "training", optional
            The rows of X that each of them is compared with; by default all rows of its query. With
            ``"training"`` the mean score of the training documents, by the counts in the nodes of trees
            (path-dependent TreeSHAP); for models of trees that LightGBM or XGBoost grew.

        Returns
        -------
        Explanation
            An array of shape (n_rows, n_features), float64, with ``to_frame()`` and ``plot()``.

        Raises
        ------
        DataError
            If `predict` would raise it; if a row does not exist; if an ensemble that standardises scores
            inside each query is to compare documents of several queries; or if the model has no counts.

        Examples
        --------
        >>> from directrank import Regression
        >>> ranker = Regression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 1, 2], qid=[1, 1, 1])
        >>> X = [[2.0, 5.0], [1.0, 5.0]]
        >>> why = ranker.explain(X, rows=0, against=1)  # why is the first document above the second?
        >>> bool(abs(why.sum() - (ranker.predict(X)[0] - ranker.predict(X)[1])) < 1e-9), float(why[0, 1])
        (True, 0.0)
        """
        X, qid = documents_of(self, X, qid)
        features, _ = features_of(self, X, qid)
        scores_of(self.scorer_, features, X, qid)  # refuses what `predict` refuses
        if isinstance(X, QueryGroups):
            order, indptr, inner = X.queries.row, X.queries.indptr, features.rows
        else:
            n_docs = features.shape[0]
            query = np.zeros(n_docs, np.int64) if qid is None else query_codes(checked_qid(qid, n_docs))[0]
            order = np.argsort(query, kind="stable")
            indptr = np.concatenate(([0], np.cumsum(np.bincount(query))))
            inner = features.rows[order]
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        numbers_of_rows = np.arange(len(place)) if rows is None else rows_of(rows, len(place))
        wanted = place[numbers_of_rows]
        explained = partial(Explanation.of, features=names_of_features(self), rows=numbers_of_rows)
        if isinstance(against, str):
            check_choice("against", against, ["training"])
            return explained(contributions_by_paths(self.scorer_, inner, wanted))
        if against is not None:
            others = place[rows_of(against, len(place))]
            return explained(contributions(self.scorer_, inner, wanted, others, indptr))
        out = np.empty((len(wanted), inner.shape[1]))
        query = np.searchsorted(indptr, wanted, "right") - 1
        for q in np.unique(query):
            (in_query,), (first, last) = np.nonzero(query == q), indptr[q : q + 2]
            numbers, ends = np.arange(last - first), np.array([0, last - first])
            out[in_query] = contributions(
                self.scorer_, inner[first:last], wanted[in_query] - first, numbers, ends
            )
        return explained(out)

    def score(self, X, y=None, qid=None, sample_weight=None) -> float:
        """Return the mean over queries of nDCG@10, or of `select_by` if it is given, with expected ties.

        Parameters
        ----------
        X, y, qid
            As in `fit`; without qid at most 30 rows are taken as one query, with a warning.
        sample_weight : array of shape (n_docs,) or (n_queries,), optional
            Weight of each query.

        Raises
        ------
        DataError
            If qid is missing for more rows: scikit-learn's functions pass it by metadata routing only.
        """
        check_fitted(self)
        X, qid = documents_of(self, X, qid)
        groups = groups_of(self, Rows(X, y, qid), MOST_SCORED_WITHOUT_QID)
        weights = None if sample_weight is None else query_weights(sample_weight, groups)
        if self.select_by is None and groups.queries.standardised:
            raise DataError(
                f"{DEFAULT_MEASURE} needs grades, not preferences or rankings: set select_by, such as WPD"
            )
        measure = default_measure(groups.queries) if self.select_by is None else parse_measure(self.select_by)
        return mean_value(measure, groups.queries, scores_of(self.scorer_, groups.source, groups), weights)

    @property
    def coef_(self) -> np.ndarray:
        """The weight of each feature, float64 (n_features,); only rankers with a linear scorer have it.

        Features are raw; if `scaling_` is "log" they are logarithms where ``scorer_.logarithm`` is true, and
        if it is "query" they are scaled to [0, 1].
        """
        scorer = getattr(self, "scorer_", None)
        if not isinstance(scorer, LINEAR):
            why = "is not fitted yet" if scorer is None else f"has the scorer {scorer!r}, which is not linear"
            raise AttributeError(f"{type(self).__name__} has no coef_: it {why}")
        return np.asarray(scorer.coefficients, np.float64)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the model, float64 (n_features,); they add up to 1, or are all 0.

        Of a linear scorer it is the share in Σ_k |w_k| σ_k, where w is ``coef_`` and σ_k the mean over
        training queries of the standard deviation of feature k inside the query (``feature_deviations_``):
        what differs between queries alone ranks nothing. Features that say the same share their weight. Of
        stumps it is the share in the absolute coefficients of weak rankers, of trees in the gain of all
        splits; sums of unlike scorers have none. `directrank.importance` measures what a ranking loses
        without a feature.

        Raises
        ------
        AttributeError
            If the ranker is not fitted, or its scorer or file has no such figure.
        """
        check_fitted(self)
        if importances := getattr(self.scorer_, "feature_importances", None):
            return importances(len(names_of_features(self)))
        if not hasattr(self, "feature_deviations_"):
            raise AttributeError(
                f"{type(self).__name__} has no feature_importances_: {self.scorer_!r} is not linear, nor "
                "stumps or trees, or is of an earlier release; use directrank.importance"
            )
        parts = np.abs(self.coef_) * self.feature_deviations_
        return parts / (parts.sum() or 1.0)

    def components(self) -> tuple[Any, Any, Any]:
        """Return the surrogate, the solver and the scorer that `fit` uses."""
        if self.surrogate is None or self.solver is None:
            raise TypeError("Ranker needs a surrogate and a solver; or use a named method such as ApproxRank")
        return self.surrogate, self.solver, self.scorer or default_scorer(self.solver.trains)

    def idle_parameters(self) -> Collection[str]:
        """Return the parameters that change nothing beside the others, so that a grid needs one value."""
        return ()

    def _initial_scorer(self, scorer, request: Request, scaling: Scaling):
        """Return the scorer of scaled features from which training starts; the request has such features."""
        if type(scorer) is Trees and request.groups.encoding is not None:
            return SetTrees.of_columns_alone(*request.groups.encoding.places)
        return scorer

    def _other_solvers(self, solver: Any, request: Request) -> Sequence[Any]:
        """Return solvers that the measure may choose in place of the one of `components`."""
        return ()

    @property
    def _selects_on_training(self) -> bool:
        """Whether the training queries choose among iterates though there are validation queries."""
        return False

    def _not_distributable(self, surrogate: Surrogate, solver: Solver) -> UnfitPairError:
        """Return the error of features in other processes where the solver is no sum over shards."""
        settings = [
            f"set {name} to {' or '.join(values)}"
            for name in DECIDING
            if (values := self._distributable(surrogate, name))
        ]
        return UnfitPairError(
            f"{type(self).__name__}: {type(solver).__name__} is no sum over shards, so that workers cannot "
            f"share it: {' or '.join(settings) or f'train {OTHERS}'}, or train in one process"
        )

    def _distributable(self, surrogate: Surrogate, name: str) -> list[str]:
        """Return the values of a parameter with which workers can share the training."""
        parameter = parameters_of(type(self)).get(name)
        if parameter is None:
            able = [solver for solver in SOLVERS if solver.sums_over_shards]
            fitting = [solver.__name__ for solver in fitting_solvers(surrogate, able)]
            return fitting if name == "solver" and name in self.get_params(deep=False) else []
        names = []
        for option in get_args(parameter.kind):
            other: Any = unfitted(self)
            if other.set_params(**{name: option}).components()[1].sums_over_shards:
                names.append(repr(option))
        return names

    def _seed(self) -> int:
        # A copy of the state: components are made more than once, and each time of the same seed.
        return int(deepcopy(self._stream()).randint(2**31))

    def _stream(self) -> np.random.RandomState:
        """Return the random numbers of `random_state`: those of NumPy itself without a seed."""
        state: Any = self.random_state
        if state is None:
            of_numpy: Any = np.random.randint
            return of_numpy.__self__
        return state if isinstance(state, np.random.RandomState) else np.random.RandomState(state)

    def _n_threads(self) -> int:
        return processors() if self.n_jobs in (None, -1) else max(1, int(self.n_jobs))

    def _selection_measure(self, surrogate, solver, scorer, queries: Queries | None = None):
        """Return the measure that chooses among iterates; check first that the solver fits the surrogate."""
        check_fit(surrogate, solver, SOLVERS, scorer, SCORERS)
        if self.scaling not in (*Scaling.choices, None):
            check_choice("scaling", self.scaling, Scaling.choices)
        if type(scorer) is not Linear and self.scaling not in ("auto", "none", None):
            raise ValueError(f"scaling={self.scaling!r} needs a linear scorer, not {scorer!r}: omit scaling")
        if self.select_by is not None:
            return parse_measure(self.select_by)
        if surrogate.measure is None and queries is not None:
            return default_measure(queries)
        return surrogate.measure or parse_measure(DEFAULT_MEASURE)

    def _adopt(self, solution: Solution, measure: Measure) -> Self:
        check_finite(self, solution)
        self.scorer_, self.history_ = solution.scorer, solution.trace
        if self.encoding_ is not None:
            self.notes_ = [self.encoding_.note, *self.notes_]
        if self.notes_ and self.history_:
            self.history_[0] = {**self.history_[0], "notes": self.notes_}
        self.status_, self.certificate_ = solution.status, solution.certificate
        self.message_, self.selected_by_, self.selection_measure_ = solution.message, measure.name, measure
        if solution.rounds is not None:
            self.rounds_ = solution.rounds
        if self.status_ == "stopped":
            text = f"{type(self).__name__} stopped early: {self.message_}; {remedy(self)}"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        return self
