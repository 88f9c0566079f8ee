"""Ensembles of rankers: of rankers that the caller names, and of those that held-out queries choose."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from directrank.apps.auto.shrinkage import HALF, HOPELESS, prior_scorer, share_of_prior, shares_of, signs_of
from directrank.contracts import GOOD, Measure, Solution, TraceRow
from directrank.data.division import Division
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.estimators.inputs import Rows, validation_rows
from directrank.estimators.method import Configured, configured_one
from directrank.estimators.parameters import AnyMeasure, Point, check_parameters, estimator, positional
from directrank.estimators.ranker import Ranker, scores_of
from directrank.estimators.rounds import ALL, FEW, PARTS, best_number, held_out
from directrank.estimators.sklearn_interface import unfitted
from directrank.estimators.training import Request
from directrank.features.sharing import sharing
from directrank.measures import DEFAULT_MEASURE, default_measure, parse_measure, values_of
from directrank.measures.names import split_specs
from directrank.scorers import LINEAR, Additive, Linear, StandardisedMean, Trees, summed
from directrank.scorers.ensemble import mean_deviation
from directrank.scorers.scaling import fit_scaling
from directrank.surrogates.objective import takes_real_labels


class BaseEnsemble(Ranker):
    """Base class of rankers that train other rankers."""

    is_ensemble = True
    rankers_: list[Any]
    feature_deviations_: np.ndarray

    @property
    def chooses_rounds(self) -> bool:
        """False: its members choose, each for itself."""
        return False

    def components(self):
        """Refuse: there is no one surrogate, solver and scorer."""
        raise TypeError(f"{type(self).__name__} has no surrogate and no solver of its own: it trains rankers")

    def checked(self):
        """Return the ranker itself, or raise the error of a parameter that `fit` would refuse."""
        check_parameters(self)
        return self

    def _train(self, request: Request) -> tuple[Solution, Measure]:
        """As `Ranker` does; members see what is to be refitted."""
        raise NotImplementedError


@estimator
class Ensemble(BaseEnsemble):
    """The sum of several rankers' scores, each divided by its mean deviation inside the training queries.

    Linear members of one scaling become one vector of weights. A member whose scores are equal inside every
    training query adds nothing. With ``standardise="query"`` scores are standardised inside each query that
    is scored, and `predict` needs the query of each row.

    Attributes
    ----------
    rankers_ : list of Ranker
        The fitted members; a loaded model does not have them.

    Examples
    --------
    >>> from directrank import Ensemble, ListNet, RankSVM, make_ranking
    >>> queries = make_ranking(10, 8, 4, random_state=0)
    >>> ranker = Ensemble([RankSVM(), ListNet()]).fit(queries)
    >>> [type(member).__name__ for member in ranker.rankers_]
    ['RankSVM', 'ListNet']
    """

    rankers: Annotated[Sequence[Ranker] | None, "Clones of these rankers are trained."] = positional(
        default=None
    )
    standardise: Annotated[
        Literal["training", "query"],
        "Divide scores by their mean deviation inside the training queries, or standardise them inside each "
        "query that is scored.",
    ] = "training"

    @sharing()
    def _train(self, request):
        groups, weights, validation = request.groups, request.weights, request.validation
        if not self.rankers:
            raise ValueError("Ensemble needs rankers, such as Ensemble([RankSVM(), ListNet()])")
        queries = groups.queries
        measure = default_measure(queries) if self.select_by is None else parse_measure(self.select_by)
        members: list[Any] = [unfitted(ranker) for ranker in self.rankers]
        for member in members:
            member.fit(groups, sample_weight=weights, eval_set=validation, refit=request.refit)
        if request.refit:
            both = request.on_both()
            groups, weights = both.groups, both.weights
        scorer = (
            StandardisedMean([member.scorer_ for member in members])
            if self.standardise == "query"
            else sum_of(members, groups, weights)
        )
        trace = [{"member": type(member).__name__} for member in members]
        return ensemble_of(self, members, scorer, trace, groups), measure


def sum_of(members: Sequence[Ranker], groups: QueryGroups, weights: np.ndarray | None) -> Any:
    """Return the sum of rankers' scores, each divided by its mean deviation inside the training queries.

    Members whose scores are equal inside every query are left out, unless those of all are.
    """
    return in_units([member.scorer_ for member in members], [1.0] * len(members), groups, weights)


def in_units(
    scorers: Sequence[object], shares: Sequence[float], groups: QueryGroups, weights: np.ndarray | None
) -> Any:
    """Return Σ s_m f_m / d_m, where d_m is the mean deviation of f_m inside the training queries."""
    sizes = [
        mean_deviation(scores_of(scorer, groups.source, groups), groups.queries.indptr, weights)
        for scorer in scorers
    ]
    factors = [share / size if size else 0.0 for share, size in zip(shares, sizes, strict=True)]
    terms = [(scorer, factor) for scorer, factor in zip(scorers, factors, strict=True) if factor]
    return summed(*zip(*terms, strict=True)) if terms else scorers[0]


def ensemble_of(
    ranker: BaseEnsemble,
    members: Sequence[Ranker],
    scorer: object,
    trace: list[TraceRow],
    groups: QueryGroups,
) -> Solution:
    """Return fitted rankers as one scorer; it has converged if all of them have.

    `ranker` receives its members, and remarks on the data; `trace` has a row for each member that was
    trained.
    """
    ended = {member.status_ for member in members}
    status = "converged" if ended == {"converged"} else "complete" if ended <= {*GOOD} else "budget"
    good = sum(member.status_ in GOOD for member in members)
    of = f"{good} of {len(members)} members converged or trained all their rounds"
    open_ends = [type(member).__name__ for member in members if member.status_ not in GOOD]
    of += f", not {', '.join(open_ends)}" if open_ends else ""
    ranker.rankers_ = list(members)
    # All members read features in one way, on the same queries; those of early models do not have them.
    if isinstance(scorer, LINEAR) and hasattr(members[0], "feature_deviations_"):
        ranker.feature_deviations_ = members[0].feature_deviations_
    ranker.left_out_ = groups.queries.qid[groups.queries.single_grade]
    ranker.notes_ = list(dict.fromkeys(note for member in members for note in member.notes_))
    ranker.scaling_ = ", ".join(dict.fromkeys(member.scaling_ for member in members))
    ranker.scaling_reason_ = next(
        (member.scaling_reason_ for member in members if member.scaling_reason_), ""
    )
    return Solution(
        scorer,
        status,
        {"members": float(len(members)), "converged": float(good)},
        [{"iteration": at, **row} for at, row in enumerate(trace)],
        of,
    )


#: Pairwise, listwise, smoothed, consistent, direct and boosted: their errors differ. Those of standardised
#: features are trained where ``scaling="auto"`` takes logarithms, which are better on some data only.
MEMBERS = (
    "lambdaloss(nDCG),approxap,consistent-norm-dcg,listnet,ranksvm,ndcgboost,frank,consistent-dcg,"
    "coordinate-ascent,trees-xendcg,trees-consistent-ndcg,"
    "consistent-norm-dcg(scaling=standard),listnet(scaling=standard),ranksvm(scaling=standard),"
    "consistent-dcg(scaling=standard)"
)
#: Members that a message offers where labels are of clicks.
MEMBERS_OF_CLICKS = "coordinate-ascent,lambdarank(ClickDCG@10),ranksvm"

#: The values of grids that are tried with fewer than `FEW` judged queries.
FEW_VALUES: Mapping[str, tuple] = {
    "penalty": (1.0, 0.1, 0.01, 0.001), "steepness": (10.0,), "leaves": (7,), "learning_rate": (0.1,),
}  # fmt: skip
#: Those where features outnumber documents, which larger trees learn by heart.
WIDE_VALUES: Mapping[str, tuple] = {"leaves": (7,)}
#: Parameters of members that are trained on a fold, only to judge.
ON_FOLDS: Mapping[str, int] = {"runs": 1}
#: Parameters that are searched one after the other; of other parameters all values are tried.
SEARCHED = ("penalty", "learning_rate", "leaves")
#: A search goes no further in a direction after so many values of a parameter in a row that are no better.
WORSE = 2
#: If the validation set or the first fold has so many queries, it alone judges; several splits need half.
ENOUGH = 150
#: The prior among the kinds of functions, and the words for these.
PRIOR = "prior"
KINDS = {Linear.kind: "linear", Additive.kind: "stumps", Trees.kind: "trees"}


@dataclass(frozen=True, eq=False)
class Split:
    """Queries to train on and others that judge: a fold of the training queries, or the validation set."""

    division: Division  # of the training queries
    weights: np.ndarray | None
    validation: Any = None  # A QueryGroups, or None of a fold
    judging: np.ndarray | None = None  # (n_queries,): Of a fold, the training queries that judge

    @cached_property
    def rest(self) -> np.ndarray | None:
        """The weights of the queries of a fold that train."""
        return None if self.weights is None or self.judging is None else self.weights[~self.judging]

    def parts(self) -> tuple[QueryGroups, np.ndarray | None, QueryGroups]:
        """Return the queries to train on with their weights, and those that judge.

        Those of a fold stay until the parts of another split are asked for.
        """
        if self.judging is None:
            self.division.end()
            return self.division.groups, self.weights, self.validation
        train, judged = self.division.at(self.judging)
        return train, self.rest, judged

    @property
    def n_judged(self) -> int:
        """The number of queries that judge."""
        return self.validation.n_queries if self.judging is None else int(np.count_nonzero(self.judging))


def judged_scores(scorer: object, train: QueryGroups, weights, judged: QueryGroups) -> np.ndarray:
    """Return scores of judged documents, divided by their mean deviation inside the training queries."""
    size = mean_deviation(scores_of(scorer, train.source, train), train.queries.indptr, weights)
    return scores_of(scorer, judged.source, judged) / (size or 1.0)


class Judged(NamedTuple):
    """The queries of all splits that judge, the members that have scores of all of them, and the prior's."""

    queries: Queries
    members: list[Any]
    prior: np.ndarray | None


@dataclass(eq=False)
class Trained:
    """A member at a point of its grid."""

    method: Configured
    point: Point
    ranker: Any = None  # Fitted to the first split, and at the end to all queries
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))  # On each query that chose the point
    # (n_docs,): Its scores of the documents of all splits that judge
    scores: np.ndarray = field(default_factory=lambda: np.zeros(0))
    unit: float = 1.0  # What these are divided by, beside the deviation of scores of training documents
    rounds: int | None = None
    fits: list[Any] = field(default_factory=list)  # A ranker for each split
    warned: list[warnings.WarningMessage] = field(default_factory=list)

    @property
    def block(self) -> str:
        """The kind of functions that it learns: linear ones, stumps or trees."""
        kinds = (
            scorer_class.kind
            for scorer_class in (Additive, Trees)
            if isinstance(self.ranker.scorer_, scorer_class)
        )
        return next(kinds, Linear.kind)


@estimator
class AutoRanker(BaseEnsemble):
    r"""Several different methods combined into one scoring function, with nothing to tune.

    Every decision is made on scores of queries that the scored model was not trained on: those of the
    validation set, and those of the training queries in folds (five with the validation set, or one for each
    of fewer queries); the first of these is enough if it has 150 queries, and several if they have 75. They
    choose the point of each member's grid, and of trees and stumps the number of rounds; with 30 queries or
    more the validation set, or the first fold, chooses alone: penalties, rates, then leaves are tried
    outward from the default until two in a row are no better. On folds coordinate ascent has one run. No
    member is chosen by its figure: on few queries the best of many is the luckiest. Members of a kind
    (linear, stumps, trees) weigh alike. The ensemble is the mean over all subsets of kinds, weighted by their
    values on these queries, and that of all kinds 50 times as much; a kind whose share is below 1 % is left
    out.
    At the end members are trained on all queries, those of the validation set too unless ``refit=False``.
    Default members that can learn from no query are left out, with a note. Where linear ones take the
    logarithm of features, four are trained on standardised features too; if the sum of these four, or of the
    same four methods in logarithms, is better by over one paired standard error, it alone stays.

    The score is :math:`f(x) = (1 - s) \sum_b w_b / n_b \sum_{m \in b} f_m(x) / d_m + s \, p(x)`, where
    :math:`d_m` is the mean standard deviation of member m's scores inside a query, for the
    :math:`n_b` members of kind b; the sum and the prior are divided by theirs. Deviations are those on
    held-out queries, as trees spread the documents that they learn from more than others. The prior p is a
    sum of features weighted by their correlation with the grades inside training queries; its weight s is at
    most 20 / (n + 20) for n queries, and falls as they tell that it is of no use. The score is a function of
    the document alone.

    Attributes
    ----------
    members_ : list of dict
        Of each member its ``name``, ``parameters``, ``validation`` (mean of the measure on the queries that
        judged it, if there are such), ``status``, ``rounds`` (of trees and stumps), and whether it was
        ``kept``: it has a weight.
    shares_ : dict of str to float
        The weights of the kinds that were kept (``linear``, ``additive``, ``trees``) and of the ``prior``;
        they add up to 1.
    rankers_ : list of Ranker
        The fitted members that were kept; a loaded model does not have them.

    Examples
    --------
    >>> from directrank import AutoRanker, make_ranking
    >>> train, vali = make_ranking(10, 8, 4, random_state=0), make_ranking(10, 8, 4, random_state=1)
    >>> ranker = AutoRanker(measure="nDCG@10", members="ranksvm,listnet").fit(train, eval_set=vali)
    >>> [member["name"] for member in ranker.members_ if member["kept"]]
    ['ranksvm', 'listnet']
    >>> ranker.coef_.shape  # Linear members of one scaling are one vector of weights.
    (4,)
    """

    measure: Annotated[AnyMeasure, "The measure that chooses parameters and judges the ensemble."] = (
        positional(default=DEFAULT_MEASURE)
    )
    members: Annotated[
        str,
        "Names of methods, with commas, as on the command line; ``ranksvm(penalty=0.1)`` fixes a parameter.",
    ] = MEMBERS
    prior: Annotated[
        str | int | None,
        "What the ensemble is shrunk towards where there are few queries: features by name or number, with "
        "commas, such as the score of the first stage (``-price`` where less is better); by default all "
        "features, weighted by their correlation with the grades; None for nothing.",
    ] = "auto"
    refit: Annotated[
        bool,
        "Whether members are trained on the validation queries too, once these have chosen; `fit` may say "
        "otherwise. `compare` does it for all rows or none.",
    ] = True

    def checked(self):
        """Return the ranker itself, or raise the error of a parameter that `fit` would refuse."""
        check_parameters(self)
        for method in self._methods(parse_measure(self.measure)):
            method.check(method.points()[0])
        return self

    def candidates(self) -> list[tuple[Configured, Point]]:
        """Return the members at each point of their grids, among which the measure chooses.

        Without the default members of standardised features, as `fit` alone knows where they are trained.

        Returns
        -------
        list of (Configured, dict)
            ``method.build(point)`` is the unfitted ranker of each. Fitted to the training set, with the
            validation set as `eval_set`, they are what `fit_among` takes.
        """
        return self._candidates(parse_measure(self.measure))

    def _candidates(self, measure: Measure) -> list[tuple[Configured, Point]]:
        methods = self._methods(measure)
        if self.members == MEMBERS:
            methods = [method for method in methods if "scaling" not in method.method.fixed]
        return [(method, point) for method in methods for point in method.points()]

    def fit_among(
        self, fitted: Sequence[Ranker | None], X, y=None, qid=None, *, sample_weight=None, eval_set=None,
        eval_qid=None, refit: bool | None = None,
    ):  # fmt: skip
        """Fit as `fit` does, with all candidates already fitted to these training and validation sets.

        Parameters
        ----------
        fitted : sequence of Ranker or None
            The `candidates`, fitted, in their order; in other processes, for example. Where one is None it is
            trained if it is needed.
        X, y, qid, sample_weight, eval_set, eval_qid, refit
            As in `fit`; there has to be an `eval_set`.

        Returns
        -------
        AutoRanker
            Itself.

        Raises
        ------
        ValueError
            If not every candidate is fitted, or there is no validation set.
        """
        n_candidates = len(self.candidates())
        if len(fitted) != n_candidates:
            raise ValueError(f"there are {n_candidates} candidates, and {len(fitted)} fitted rankers")
        if eval_set is None:
            raise ValueError("candidates are chosen on a validation set: pass eval_set")
        rows = Rows(X, y, qid, weight=sample_weight)
        return self._fit(rows, validation_rows(eval_set, eval_qid, None), refit=refit, candidates=fitted)

    def _methods(self, measure: Measure) -> list[Configured]:
        """Return the members by their names."""
        from directrank.estimators.methods import METHODS  # which has this class, too

        table = [method for method in METHODS if not method.estimator.is_ensemble]
        members = [configured_one(spec, table, measure) for spec in split_specs(self.members)]
        if not members:
            raise ValueError("members is empty; name methods, such as members='ranksvm,listnet'")
        return members

    def _train(self, request):
        groups, weights, validation = request.groups, request.weights, request.validation
        refit = request.refit
        largest = max(part.queries.max_relevance for part in (groups, validation) if part is not None)
        measure = parse_measure(self.measure).with_largest_grade(largest)
        methods, notes = self._methods(measure), []
        if groups.queries.real:
            refuse_members_of_grades(methods)
        # Labels are compared with the largest grade in them, as in ERR(max=3).
        keys = [(method.label, repr(point)) for method, point in self._candidates(measure)]
        fitted = dict(zip(keys, request.candidates, strict=False))
        if self.members == MEMBERS:
            methods, more = informed(methods, groups)
            notes += more
            if fit_scaling("auto", groups, weights, self._n_threads()).kind != "log":
                methods = [method for method in methods if "scaling" not in method.method.fixed]
        division = Division(groups, request.is_copy)
        splits = self._splits(methods, measure, division, weights, validation)
        names = None if self.prior is None or groups.source.workers is not None else str(self.prior)
        if names not in (None, "auto"):
            signs_of(names, groups)  # Refuses unknown features before anything is trained.
        members, judged = self._judged(methods, fitted, measure, splits, names)
        division.end()
        both = request.on_both() if request.refit else request
        together, all_weights = both.groups, both.weights
        prior = None if names is None else prior_scorer(names, together, all_weights, self._n_threads())
        if judged is None:
            ensemble, sentence, size = members, "", 1.0
            self._fit_to_all(ensemble, together, all_weights)
            kinds = by_kind(ensemble)
            weight = {kind: len(alike) / len(ensemble) for kind, alike in kinds.items()}
            prior_share = HALF / (HALF + groups.n_queries)
            notes.append(
                "too few queries to hold one out: members have their default parameters; pass eval_set (on "
                "the command line --valid) to choose them"
            )
        else:
            kinds = by_kind(of_better_scaling(judged.members, measure, judged.queries))
            shares, prior_share, scores, size = _shares(kinds, measure, judged)
            weight = dict(zip(kinds, shares, strict=True))
            ensemble = [member for kind, alike in kinds.items() for member in alike if weight[kind]]
            sentence = _validation_line(members, ensemble, measure, judged, scores)
            if validation is None or refit:
                self._fit_to_all(ensemble, together, all_weights)
            else:
                for warned in [warned for member in ensemble for warned in member.warned]:
                    warnings.warn_explicit(warned.message, warned.category, warned.filename, warned.lineno)
        factors = [weight[member.block] / len(kinds[member.block]) / member.unit for member in ensemble]
        scorer = in_units([member.ranker.scorer_ for member in ensemble], factors, together, all_weights)
        if prior is None or judged is None:
            scorer, size = in_units([scorer], [1.0], together, all_weights), 1.0
        if prior is None:
            prior_share = 0.0
        else:
            prior = in_units([prior], [1.0], together, all_weights)
            scorer = summed([scorer, prior], [(1.0 - prior_share) / (size or 1.0), prior_share])
        self.shares_ = {kind: (1.0 - prior_share) * share for kind, share in weight.items() if share}
        self.shares_ |= {PRIOR: prior_share} if prior_share else {}
        self.members_ = [
            {
                "name": member.method.label,
                "parameters": dict(member.point),
                **({"validation": float(member.values.mean())} if splits else {}),
                "status": member.ranker.status_,
                **({"rounds": member.ranker.rounds_} if hasattr(member.ranker, "rounds_") else {}),
                "kept": member in ensemble,
            }
            for member in members
        ]
        trace = [
            {"member": member.method.label, **({"monitor": float(member.values.mean())} if splits else {})}
            for member in members
        ]
        solution = ensemble_of(self, [member.ranker for member in ensemble], scorer, trace, together)
        numbers = [
            f"{member.method.label} {member.rounds}" for member in ensemble if member.rounds is not None
        ]
        if numbers and (validation is None or refit):
            notes.append(f"rounds, chosen on held-out queries and trained on all: {', '.join(numbers)}")
        self.notes_ = [*notes, *self.notes_]
        words = ", ".join(f"{KINDS.get(kind, kind)} {share:.2f}" for kind, share in self.shares_.items())
        solution.message = "; ".join(filter(None, [sentence, f"weights: {words}", solution.message]))
        return solution, measure

    def _fit_to_all(self, members: Sequence[Trained], groups: QueryGroups, weights) -> None:
        """Train members with what was chosen on all queries."""
        for alike in by_scorer(members):
            with sharing():
                for member in alike:
                    ranker = self._built(member.method, member.point)
                    member.ranker = ranker._fit(Rows(groups, weight=weights), rounds=member.rounds)

    def _built(self, method: Configured, point: Point, on_fold: bool = False) -> Ranker:
        ranker = method.build(point)
        fewer = {name: value for name, value in ON_FOLDS.items() if on_fold and name in method.parameters()}
        return ranker.set_params(random_state=self.random_state, n_jobs=self.n_jobs, **fewer)

    def _splits(
        self, methods: Sequence[Configured], measure: Measure, division: Division, weights, validation
    ) -> list[Split]:
        """Return the validation set and folds of training queries: each query judges once.

        The first ones are enough if they have many queries. Those queries judge whose measure depends on the
        ranking, or from which all methods can learn: the latter alone if a fold left a method without any.
        """
        groups = division.groups
        splits = [] if validation is None else [Split(division, weights, validation)]
        if validation is not None and groups.source.workers is not None:
            return splits
        counted = np.ones(groups.n_queries, bool) if weights is None else weights > 0.0
        learnable = counted & learnable_queries(methods, groups)
        by_all = np.all(learnable, axis=0)
        varies = counted & ~measure.uninformative(groups.queries)
        for usable in (by_all | varies, by_all):
            masks = held_out(groups, usable, self._seed(), PARTS - len(splits), few=np.inf)
            if all((learnable & ~mask).any(axis=1).all() for mask in masks):
                break
        splits += [Split(division, weights, judging=mask) for mask in masks]
        judged = np.cumsum([split.n_judged for split in splits])
        alone = bool(splits) and judged[0] >= ENOUGH
        return splits[: 1 if alone else max(2, 1 + int(np.searchsorted(judged, ENOUGH // 2)))]

    @sharing()
    def _judged(
        self, methods: Sequence[Configured], fitted: Mapping[tuple[str, str], Ranker], measure: Measure,
        splits: Sequence[Split], names: str | None,
    ) -> tuple[list[Trained], Judged | None]:  # fmt: skip
        """Return each method at the point of its grid that is best on judged queries, with scores of all.

        With fewer than `FEW` judged queries all of them choose the point and the number of rounds; else those
        of the first split, and the others judge what they have chosen. One split is in memory at a time.
        """
        if not splits:
            return [Trained(method, {}) for method in methods], None
        few = sum(split.n_judged for split in splits) < FEW
        choosing = splits if few else splits[:1]
        train = splits[0].division.groups
        fewer = FEW_VALUES if few else WIDE_VALUES if train.n_features > train.n_docs else {}
        grid = [Trained(method, point) for method in methods for point in method.points(fewer)]

        def value_of(member: Trained) -> float:
            self._try(member, splits[0], fitted, False)
            return judge(member, splits[0], 0, measure)

        for split in choosing:
            split.parts()  # Before the copies of one group of members, which go with it.
            for alike in by_scorer(grid):
                with sharing():
                    for method in methods:
                        points = [member for member in alike if member.method is method]
                        if few:
                            for member in points:
                                self._try(member, split, fitted, True)
                        elif points:
                            search(points, value_of)
        tried = [member for member in grid if member.fits]
        for member in tried:
            member.rounds = self._rounds_of(member.fits, [split.n_judged for split in choosing])
            if categories := getattr(member.fits[0], "categories_", None):
                member.point = {**member.point, "categories": categories}
        for place, split in enumerate(choosing if few else ()):
            for member in tried:
                if member.rounds is not None:
                    if split.validation is None and member.rounds <= member.fits[place].rounds_:
                        member.fits[place] = first_rounds(member.fits[place], member.rounds)
                    else:
                        member.fits[place] = self._again(member, split)
                judge(member, split, place, measure)
        members = [
            max(
                (member for member in tried if member.method is method),
                key=lambda member: member.values.mean(),
            )
            for method in methods
        ]
        for member in members:
            member.ranker = member.fits[0]
        queries, prior, threads, racing = [], [], self._n_threads(), members
        for place, split in enumerate(splits):
            queries.append(split.parts()[-1].queries)
            for alike in by_scorer(racing):
                with sharing():
                    for member in alike:
                        if place >= len(choosing):
                            member.fits.append(self._again(member, split))
                        scores = judged_scores(member.fits[place].scorer_, *split.parts())
                        member.scores = np.append(member.scores, scores)
            if names is not None:
                scorer = prior_scorer(names, *split.parts()[:-1], threads)
                prior.append(judged_scores(scorer, *split.parts()))
            if place == 0 and not few:
                racing = race(members, measure, queries[0])
        every = Queries.concatenate(queries)
        for member in racing:
            member.unit = mean_deviation(member.scores, every.indptr) or 1.0
            member.scores = member.scores / member.unit
        return members, Judged(every, racing, np.concatenate(prior) if prior else None)

    def _try(self, member: Trained, split: Split, fitted: Mapping, keep_all: bool) -> None:
        """Fit a member to a split; it keeps the warnings of the first one."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            member.fits.append(self._on_split(member, split, fitted, keep_all))
        if len(member.fits) == 1:
            member.warned = caught

    def _on_split(self, member: Trained, split: Split, fitted: Mapping, keep_all: bool) -> Ranker:
        """Return a member as it is in `fitted`, or fitted to a split whose queries choose its rounds."""
        ranker = None if split.validation is None else fitted.get((member.method.label, repr(member.point)))
        if ranker is not None:
            return ranker
        train, weights, judged = split.parts()
        ranker = self._built(member.method, member.point, split.judging is not None)
        return ranker._fit(
            Rows(train, weight=weights),
            Rows(judged),
            rounds=ALL if keep_all and split.validation is None else None,
        )

    def _again(self, member: Trained, split: Split) -> Ranker:
        """Return a member with its number of rounds, fitted to the training queries of a split."""
        train, weights, _ = split.parts()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker = self._built(member.method, member.point, on_fold=True)
            solver = ranker.components()[1]
            # Nothing is ranked in each round where that changes no solution.
            chooses = member.rounds is None and getattr(solver, "chooses_rounds", solver.chooses)
            return ranker._fit(Rows(train, weight=weights), rounds=member.rounds, monitored=chooses)

    def _rounds_of(self, fits: Sequence[Any], sizes: Sequence[int]) -> int | None:
        """Return the number of rounds that is best on all judged queries; None where there is no choice."""
        if not fits[0].chooses_rounds:
            return None
        if len(fits) == 1:
            return fits[0].rounds_
        return best_number([[row["monitor"] for row in fit.history_] for fit in fits], sizes) or None


def judge(member: Trained, split: Split, place: int, measure: Measure) -> float:
    """Add the values of a member on the queries of a split that judge; return the mean of all."""
    judged = split.parts()[-1]
    scores = scores_of(member.fits[place].scorer_, judged.source, judged)
    member.values = np.append(member.values, values_of([measure], judged.queries, scores)[0])
    return float(member.values.mean())


def search(grid: Sequence[Trained], value_of: Callable[[Trained], float]) -> None:
    """Ask for the values of members along one of the `SEARCHED` parameters after the other.

    The first has most defaults. From the best so far values of a parameter are tried in both directions,
    until `WORSE` in a row are no better than those before. Each point of other parameters has its own search.
    """
    searched = dict.fromkeys(SEARCHED)
    others = {**grid[0].point, **searched}
    alike = [member for member in grid if {**member.point, **searched} == others]
    usual = grid[0].method.parameters()
    best = max(alike, key=lambda member: sum(usual[name] == value for name, value in member.point.items()))
    values = {best: value_of(best)}
    for name in [name for name in SEARCHED if name in best.point]:
        line = [member for member in alike if {**member.point, name: None} == {**best.point, name: None}]
        at = line.index(best)
        for direction in (line[at + 1 :], line[:at][::-1]):
            top, worse = values[best], 0
            for member in direction:
                if worse < WORSE:
                    values[member] = values[member] if member in values else value_of(member)
                    worse = 0 if values[member] > top else worse + 1
                    top = max(top, values[member])
        best = max(line, key=lambda member: values.get(member, -np.inf))
    if rest := [member for member in grid if member not in alike]:
        search(rest, value_of)


def first_rounds(ranker: Ranker, rounds: int) -> Ranker:
    """Return a ranker with its first rounds, as training of so many rounds gives them."""
    shorter: Any = copy(ranker)
    shorter.scorer_, shorter.rounds_ = shorter.scorer_.first(rounds), rounds
    return shorter


def by_scorer(members: Sequence[Trained]) -> list[list[Trained]]:
    """Return members in groups of one scorer, which share what they compute from features."""
    scorers = [type(member.method.build().components()[-1]) for member in members]
    return [
        [member for member, scorer in zip(members, scorers, strict=True) if scorer is each]
        for each in dict.fromkeys(scorers)
    ]


def by_kind(members: Sequence[Trained]) -> dict[str, list[Trained]]:
    """Return members by the kind of functions that they learn."""
    kinds = {kind: [member for member in members if member.block == kind] for kind in KINDS}
    return {kind: alike for kind, alike in kinds.items() if alike}


def of_better_scaling(members: Sequence[Trained], measure: Measure, queries: Queries) -> list[Trained]:
    """Return the members without those of a scaling of features that is worse by over one paired error.

    The sum of the members whose scaling is fixed is compared with that of the same methods without.
    """
    fixed = [member for member in members if "scaling" in member.method.method.fixed]
    names = {member.method.method.name for member in fixed}
    twins = [member for member in members if member.method.method.name in names and member not in fixed]
    if not twins:
        return list(members)
    twin_values, fixed_values = (
        values_of([measure], queries, np.sum([member.scores for member in alike], axis=0))[0]
        for alike in (twins, fixed)
    )
    gains = twin_values - fixed_values
    # |Σ g| > √(Σ g²) says that the mean is larger than its error, with n − 1 in the variance.
    total = fsum(gains)
    worse = [] if total**2 <= fsum(gains**2) else fixed if total > 0.0 else twins
    return [member for member in members if member not in worse]


def sums_of(kinds: Mapping[str, Sequence[Trained]]) -> tuple[list[np.ndarray], list[int]]:
    """Return the sum of the scores of each kind's members, and their number."""
    sums = [np.sum([member.scores for member in members], axis=0) for members in kinds.values()]
    return sums, [len(members) for members in kinds.values()]


def race(members: Sequence[Trained], measure: Measure, queries: Queries) -> list[Trained]:
    """Return the members of the kinds that one split has not ruled out, whose share there is `HOPELESS`."""
    units = [mean_deviation(member.scores, queries.indptr) or 1.0 for member in members]
    scaled = [
        replace(member, scores=member.scores / unit) for member, unit in zip(members, units, strict=True)
    ]
    kinds = by_kind(of_better_scaling(scaled, measure, queries))
    shares = dict(zip(kinds, shares_of(*sums_of(kinds), measure, queries, HOPELESS), strict=True))
    return [member for member in members if shares[member.block]]


def _shares(
    kinds: Mapping[str, Sequence[Trained]], measure: Measure, judged: Judged
) -> tuple[list[float], float, np.ndarray, float]:
    """Return the weights of kinds and of the prior, the scores of judged documents with them, and their unit.

    The unit is the mean deviation of the members' sum, by which it is divided before the prior is added.
    """
    queries = judged.queries
    sums, sizes = sums_of(kinds)
    shares = shares_of(sums, sizes, measure, queries)
    scores = np.einsum("k,kd->d", shares / sizes, sums)
    size = mean_deviation(scores, queries.indptr)
    scores /= size or 1.0
    if judged.prior is None:
        return shares.tolist(), 0.0, scores, size
    share = share_of_prior(scores, judged.prior, measure, queries)
    return shares.tolist(), share, (1.0 - share) * scores + share * judged.prior, size


def refuse_members_of_grades(methods: Sequence[Configured]) -> None:
    """Raise `DataError` if some method cannot train on labels such as clicks over propensities."""
    names = [method.label for method in methods if not takes_real_labels(method.build().components()[0])]
    if names:
        raise DataError(
            f"auto: members that read grades cannot train on clicks: {', '.join(names)}. Name members that "
            f"can: --set 'members={MEMBERS_OF_CLICKS}' (in Python, members=…)"
        )


def informed(methods: Sequence[Configured], groups: QueryGroups) -> tuple[list[Configured], list[str]]:
    """Return methods that learn from half as many queries as another, or all, and a note of the rest.

    AP, for one, is 1 for every ranking if every document is relevant.
    """
    numbers = learnable_queries(methods, groups).sum(axis=1)
    able = [method for method, n in zip(methods, numbers, strict=True) if n and 2 * n >= numbers.max()]
    without = ", ".join(method.label for method in methods if method not in able)
    if not able or not without:
        return list(methods), []
    return able, [f"of most queries every ranking is equally good for {without}: trained without"]


def learnable_queries(methods: Sequence[Configured], groups: QueryGroups) -> np.ndarray:
    """Return from which queries each method can learn, bool (n_methods, n_queries)."""
    surrogates = [method.build().components()[0] for method in methods]
    return ~np.array([surrogate.uninformative(groups.queries) for surrogate in surrogates])


def _validation_line(
    members: Sequence[Trained],
    ensemble: Sequence[Trained],
    measure: Measure,
    judged: Judged,
    scores: np.ndarray,
) -> str:
    """Return the figure on the judged queries, beside that of the best member, and who is left out."""
    values, *figures = (
        values_of([measure], judged.queries, ranking)[0]
        for ranking in (scores, *(member.scores for member in judged.members))
    )
    best = int(np.argmax([row.mean() for row in figures]))
    n_queries = f"{len(values)} quer{'y' if len(values) == 1 else 'ies'}"
    left_out = ", ".join(member.method.label for member in members if member not in ensemble)
    sentence = (
        f"ensemble of {len(ensemble)}: validation {measure.name} {_mean(values)} ({n_queries} out of fold), "
        f"{_mean(values - figures[best], '+')} beside its best member, {judged.members[best].method.label}"
    )
    return sentence + (f"; left out, as held-out queries advise: {left_out}" if left_out else "")


def _mean(values: np.ndarray, sign: str = "") -> str:
    """Return the mean of values, with its standard error of two or more."""
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}" if len(values) > 1 else ""
    return f"{values.mean():{sign}.4f}{error}"
