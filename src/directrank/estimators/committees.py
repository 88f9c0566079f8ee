"""Committees of rankers: an ensemble of given ones, and the ones that validation chooses."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Literal

import numpy as np
from scipy.stats import ttest_1samp
from sklearn.base import clone

from directrank.contracts import Measure, Solution
from directrank.data.groups import QueryGroups
from directrank.estimators.method import Configured, configured_one, split_specs
from directrank.estimators.parameters import AnyMeasure, check_parameters, estimator, positional
from directrank.estimators.presets import PRESETS
from directrank.estimators.ranker import GOOD, Ranker, scores_of
from directrank.estimators.rounds import FEW, held_out
from directrank.features.sharing import sharing
from directrank.measures import DEFAULT_MEASURE, default_measure, parse_measure
from directrank.measures.evaluation import values_of
from directrank.scorers import LINEAR, Additive, Committee, Linear, Trees, summed
from directrank.scorers.committee import mean_deviation


class CommitteeRanker(Ranker):
    """Base class of rankers that train other rankers."""

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


@estimator
class Ensemble(CommitteeRanker):
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
    >>> [type(each).__name__ for each in ranker.rankers_]
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
    def _train(self, groups, weights, validation, is_copy=False):
        if not self.rankers:
            raise ValueError("Ensemble needs rankers, such as Ensemble([RankSVM(), ListNet()])")
        queries = groups.queries
        measure = default_measure(queries) if self.select_by is None else parse_measure(self.select_by)
        members: list[Any] = [clone(each) for each in self.rankers]
        for each in members:
            each.fit(groups, sample_weight=weights, eval_set=validation)
        scorer = (
            Committee([each.scorer_ for each in members])
            if self.standardise == "query"
            else sum_of(members, groups, weights)
        )
        trace = [{"member": type(each).__name__} for each in members]
        return committee_of(self, members, scorer, trace, groups), measure


def sum_of(members: Sequence[Ranker], groups: QueryGroups, weights: np.ndarray | None) -> Any:
    """Return the sum of rankers' scores, each divided by its mean deviation inside the training queries.

    Members whose scores are equal inside every query are left out, unless those of all are.
    """
    indptr = groups.queries.indptr
    deviations = [
        mean_deviation(scores_of(each.scorer_, groups.source, groups), indptr, weights) for each in members
    ]
    terms = [(each.scorer_, 1.0 / size) for each, size in zip(members, deviations, strict=True) if size]
    return summed(*zip(*terms, strict=True)) if terms else members[0].scorer_


def committee_of(
    ranker: CommitteeRanker,
    members: Sequence[Ranker],
    scorer: Any,
    trace: list[dict[str, Any]],
    groups: QueryGroups,
) -> Solution:
    """Return fitted rankers as one scorer; it has converged if all of them have.

    `ranker` receives its members, and what is said of the data; `trace` has a row for each member that was
    trained.
    """
    ended = {each.status_ for each in members}
    status = "converged" if ended == {"converged"} else "complete" if ended <= {*GOOD} else "budget"
    good = sum(each.status_ in GOOD for each in members)
    of = f"{good} of {len(members)} members converged or trained all their rounds"
    open_ends = [type(each).__name__ for each in members if each.status_ not in GOOD]
    of += f", not {', '.join(open_ends)}" if open_ends else ""
    ranker.rankers_ = list(members)
    # All members read features in one way, on the same queries; those of a comparison do not know them.
    if isinstance(scorer, LINEAR) and hasattr(members[0], "feature_deviations_"):
        ranker.feature_deviations_ = members[0].feature_deviations_
    ranker.left_out_ = groups.queries.qid[groups.queries.single_grade]
    ranker.notes_ = list(dict.fromkeys(note for each in members for note in each.notes_))
    ranker.scaling_ = ", ".join(dict.fromkeys(each.scaling_ for each in members))
    ranker.scaling_reason_ = next((each.scaling_reason_ for each in members if each.scaling_reason_), "")
    return Solution(
        scorer,
        status,
        {"members": float(len(members)), "converged": float(good)},
        [{"iteration": at, **row} for at, row in enumerate(trace)],
        of,
    )


#: Pairwise, listwise, smoothed, consistent, direct and boosted: their errors differ.
MEMBERS = (
    "lambdaloss,approxap,consistent-norm-dcg,listnet,ranksvm,ndcgboost,frank,consistent-dcg,"
    "coordinate-ascent,trees-xendcg,trees-consistent-ndcg"
)
#: Without a validation set, one query in this many is held out to choose parameters.
HELD_OUT = 5
#: Members leave if the committee without them is better at this level, divided by the number of tests.
LEVEL = 0.05
#: Gains that differ by less than this share of the largest one are equal but for rounding.
EQUAL = 1e-12


@dataclass(eq=False)
class Trained:
    """A member at the point of its grid that is best on the validation set."""

    method: Configured
    point: dict[str, Any]
    ranker: Ranker
    values: np.ndarray  # (n_queries,): The measure of its scores on each validation query
    # (n_docs,): Its scores of the validation documents, divided by their mean deviation inside the training
    # queries
    scores: np.ndarray

    @property
    def block(self) -> str:
        """The kind of functions that it learns: linear ones, stumps or trees."""
        kinds = (each.kind for each in (Additive, Trees) if isinstance(self.ranker.scorer_, each))
        return next(kinds, Linear.kind)


@estimator
class AutoRanker(CommitteeRanker):
    r"""A committee of unlike methods as one function: the sum of their scores, made alike in scale.

    Every member is trained at each point of its grid, and the validation set chooses the point, and of trees
    and stumps the number of rounds. Without a validation set a fifth of the queries is held out for this, and
    the members are trained again on all queries, with the numbers of rounds that were chosen (of fewer than
    30 queries, chosen in five folds); with fewer than five queries, members have their default parameters. No
    member is chosen by its
    figure: on few queries the best of many is the luckiest. A member, or all members of a kind (linear,
    stumps, trees), leave only if the committee is significantly better without them on the validation
    queries. Default members that can learn from no query are left out, with a note.

    The score is :math:`f(x) = \sum_m f_m(x) / d_m`, where :math:`d_m` is the mean over training queries of
    the standard deviation of the member's scores. It is a function of the document alone.

    Members that are trees need LightGBM or XGBoost; of the default members they are left out, with a note,
    where neither can be imported.

    Attributes
    ----------
    members_ : list of dict
        Of each member its ``name``, ``parameters``, ``validation`` (mean of the measure, if there are such
        queries), ``status``, ``rounds`` (of trees and stumps), and whether it was ``kept``.
    rankers_ : list of Ranker
        The fitted members that were kept; a loaded model does not have them.

    Examples
    --------
    >>> from directrank import AutoRanker, make_ranking
    >>> train, vali = make_ranking(10, 8, 4, random_state=0), make_ranking(10, 8, 4, random_state=1)
    >>> ranker = AutoRanker(measure="nDCG@10", members="ranksvm,listnet").fit(train, eval_set=vali)
    >>> [each["name"] for each in ranker.members_ if each["kept"]]
    ['ranksvm', 'listnet']
    >>> ranker.coef_.shape  # Linear members of one scaling are one vector of weights.
    (4,)
    """

    measure: Annotated[AnyMeasure, "The measure that chooses parameters and judges the committee."] = (
        positional(default=DEFAULT_MEASURE)
    )
    members: Annotated[
        str,
        "Names of methods, with commas, as on the command line; ``ranksvm(penalty=0.1)`` fixes a parameter.",
    ] = MEMBERS

    def checked(self):
        """Return the ranker itself, or raise the error of a parameter that `fit` would refuse."""
        check_parameters(self)
        for method in self._methods(parse_measure(self.measure))[0]:
            method.check(method.points()[0])
        return self

    def _candidates(self, measure: Measure) -> list[tuple[Configured, dict[str, Any]]]:
        """Return the members at each point of their grids, if this measure chooses among them."""
        if self.measure != measure:
            return []
        return [(method, point) for method in self._methods(measure)[0] for point in method.points()]

    def _methods(self, measure: Measure) -> tuple[list[Configured], list[str]]:
        """Return the members by their names, and a note of default ones that cannot be trained."""
        methods = [configured_one(each, PRESETS, measure) for each in split_specs(self.members)]
        if not methods:
            raise ValueError("members is empty; name methods, such as members='ranksvm,listnet'")
        return trainable(methods) if self.members == MEMBERS else (methods, [])

    @sharing()
    def _train(self, groups, weights, validation, is_copy=False):
        largest = max(part.queries.max_relevance for part in (groups, validation) if part is not None)
        measure = parse_measure(self.measure).with_largest_grade(largest)
        methods, notes = self._methods(measure)
        if self.members == MEMBERS:
            methods, more = informed(methods, groups)
            notes += more
        if validation is None and groups.n_queries < HELD_OUT:
            rankers = [self._built(each, {}).fit(groups, sample_weight=weights) for each in methods]
            self.members_ = [
                {"name": each.label, "parameters": {}, "status": ranker.status_, "kept": True}
                for each, ranker in zip(methods, rankers, strict=True)
            ]
            trace = [{"member": each.label} for each in methods]
            solution = committee_of(self, rankers, sum_of(rankers, groups, weights), trace, groups)
            few = (
                f"fewer than {HELD_OUT} queries, none to hold out: members have their default parameters; "
                "pass eval_set (on the command line --valid) to choose them"
            )
            self.notes_ = [*notes, few, *self.notes_]
            return solution, measure
        train, trained_weights, judged = groups, weights, validation
        if judged is None:
            train, trained_weights, judged = self._divided(groups, weights)
        fitted = iter(getattr(self, "_fitted", ()))
        members = [self._best(each, measure, train, trained_weights, judged, fitted) for each in methods]
        kept = kept_members(members, measure, judged)
        if validation is None:
            few = groups.n_queries < FEW
            for each in kept:
                rounds = None if few else getattr(each.ranker, "rounds_", None)
                ranker = self._built(each.method, each.point)
                each.ranker = ranker._fit_rounds(rounds, groups, weights)
            numbers = [
                f"{each.method.label} {each.ranker.rounds_}" for each in kept if each.ranker.chooses_rounds
            ]
            if numbers:
                notes.append(f"rounds, chosen on held-out queries and trained on all: {', '.join(numbers)}")
        self.members_ = [
            {
                "name": each.method.label,
                "parameters": dict(each.point),
                "validation": float(each.values.mean()),
                "status": each.ranker.status_,
                **({"rounds": each.ranker.rounds_} if hasattr(each.ranker, "rounds_") else {}),
                "kept": each in kept,
            }
            for each in members
        ]
        rankers = [each.ranker for each in kept]
        trace = [{"member": each.method.label, "monitor": float(each.values.mean())} for each in members]
        solution = committee_of(self, rankers, sum_of(rankers, groups, weights), trace, groups)
        self.notes_ = [*notes, *self.notes_]
        solution.message = f"{_said(members, kept, measure, judged)}; {solution.message}"
        return solution, measure

    def _built(self, method: Configured, point: dict[str, Any]) -> Ranker:
        ranker = method.build(point)
        return ranker.set_params(random_state=self.random_state, n_jobs=self.n_jobs)

    def _best(
        self, method: Configured, measure: Measure, train, weights, judged: QueryGroups, fitted
    ) -> Trained:
        """Return a method at the point of its grid with the highest mean on the validation queries."""
        best = None
        for point in method.points():
            ranker = next(fitted, None)
            if ranker is None:
                ranker = self._built(method, point).fit(train, sample_weight=weights, eval_set=judged)
            scores = scores_of(ranker.scorer_, judged.source, judged)
            (values,) = values_of([measure], judged.queries, scores)
            if best is None or values.mean() > best.values.mean():
                best = Trained(method, point, ranker, values, scores)
        assert best is not None
        of_training = scores_of(best.ranker.scorer_, train.source, train)
        best.scores /= mean_deviation(of_training, train.queries.indptr, weights) or 1.0
        return best

    def _divided(self, groups: QueryGroups, weights):
        """Return training queries with their weights, and queries that are held out."""
        masks = held_out(groups, np.full(groups.n_queries, True), self._seed())
        # All queries may be equal.
        held = masks[0] if masks else np.arange(groups.n_queries) < groups.n_queries // HELD_OUT
        return groups.select(~held), None if weights is None else weights[~held], groups.select(held)


def trainable(methods: Sequence[Configured]) -> tuple[list[Configured], list[str]]:
    """Return methods with a library that can be imported, and a note of those that have none.

    LightGBM grows their trees, or else XGBoost.
    """
    library = next(filter(_imports, ("lightgbm", "xgboost")), None)
    if library is None:
        without = ", ".join(each.label for each in methods if each.method.extra)
        note = f"neither LightGBM nor XGBoost can be imported: trained without {without}"
        return [each for each in methods if not each.method.extra], [note]
    return [
        each
        if each.parameters().get("engine", library) == library
        else each.changed({**each.method.fixed, "engine": library}, each.method.grid)
        for each in methods
    ], []


def informed(methods: Sequence[Configured], groups: QueryGroups) -> tuple[list[Configured], list[str]]:
    """Return methods that can learn from some query, and a note of those that cannot; all, if none can.

    AP, for one, is 1 for every ranking if every document is relevant.
    """
    able = [each for each in methods if not each.build().components()[0].uninformative(groups.queries).all()]
    without = ", ".join(each.label for each in methods if each not in able)
    if not able or not without:
        return list(methods), []
    return able, [f"every ranking is equally good for {without}: trained without"]


def _imports(library: str) -> bool:
    """Return whether a library can be imported; it may lack another, such as libgomp."""
    try:
        import_module(library)
    except (ImportError, OSError):
        return False
    return True


def kept_members(members: Sequence[Trained], measure: Measure, judged: QueryGroups) -> list[Trained]:
    """Return the members without which the committee is not significantly better on the judged queries.

    This is backward elimination: in each round one block or one member leaves, and the next round tests all
    that are left in the smaller committee. The level is divided by the number of tests of a round
    (Bonferroni), so that a wrong removal in a round is less likely than 5 %. Each round has new hypotheses.
    So this is not Holm's method, whose hypotheses are fixed, and over all rounds no level is promised.

    Of those that certainly harm, blocks leave before single members: members of a block err alike, and the
    last one of it alone may do too little harm to be sure. Then the most certain, and of equally certain ones
    the most harmful.
    """
    kept, blocks = list(members), dict.fromkeys(each.block for each in members)
    while judged.n_queries > 1:
        whole = [[each for each in kept if each.block == block] for block in blocks]
        # Two members of a block cannot be told apart by leaving one out.
        singles = [[each] for each in kept if [each] not in whole] if len(kept) > 2 else []
        leaving = [each for each in (*whole, *singles) if 0 < len(each) < len(kept)]
        total = sum(each.scores for each in kept)
        (values,) = values_of([measure], judged.queries, np.asarray(total))
        tests = []
        for group in leaving:
            rest = total - sum(each.scores for each in group)
            (without,) = values_of([measure], judged.queries, np.asarray(rest))
            tests.append((group in singles, doubt(without - values), values.mean() - without.mean(), group))
        certain = [each for each in tests if each[1] * len(tests) < LEVEL]
        if not certain:
            break
        worst = min(certain, key=lambda each: each[:3])[3]
        kept = [each for each in kept if each not in worst]
    return kept


def doubt(gains: np.ndarray) -> float:
    """Return the p-value of Student's test that gains have a positive mean; 0 or 1 where all are equal."""
    if np.ptp(gains) <= EQUAL * np.abs(gains).max():
        return 0.0 if gains.mean() > 0 else 1.0
    test: Any = ttest_1samp(gains, 0.0, alternative="greater")
    return float(test.pvalue)


def _said(members: Sequence[Trained], kept: Sequence[Trained], measure: Measure, judged: QueryGroups) -> str:
    """Return the committee's figure beside those of its members, and who left."""
    (values,) = values_of([measure], judged.queries, np.asarray(sum(each.scores for each in kept)))
    figures = [each.values.mean() for each in members]
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    left = ", ".join(each.method.label for each in members if each not in kept)
    said = (
        f"committee of {len(kept)}: validation {measure.name} {values.mean():.4f} (standard error "
        f"{error:.4f}, {len(values)} queries), members {min(figures):.4f} to {max(figures):.4f}"
    )
    return said + (f"; left out, because the committee is better without: {left}" if left else "")
