"""Committees of rankers: an ensemble of given ones, and the ones that validation chooses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.stats import ttest_1samp
from sklearn.base import clone
from sklearn.utils import check_random_state

from directrank.contracts import Measure, Solution
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.estimators.method import Configured, configured_one, split_specs
from directrank.estimators.outcome import GOOD
from directrank.estimators.parameters import AnyMeasure, check_parameters, estimator, positional
from directrank.estimators.presets.table import PRESETS
from directrank.estimators.ranker import Ranker
from directrank.measures import DEFAULT_MEASURE, parse_measure
from directrank.measures.evaluation.batches import values_of
from directrank.scorers import Committee
from directrank.scorers.committee import scores_in_queries, standardised_scores


class CommitteeRanker(Ranker):
    """Base class of rankers that train other rankers."""

    def components(self):
        """Refuse: there is no one surrogate, solver and scorer."""
        raise TypeError(f"{type(self).__name__} has no surrogate and no solver of its own: it trains rankers")

    def checked(self):
        """Return the ranker itself, or raise the error of a parameter that `fit` would refuse."""
        check_parameters(self)
        return self


@estimator
class Ensemble(CommitteeRanker):
    """The mean of several rankers' scores, each standardised inside each query.

    `predict` needs the query of each row. A model file has the scorers of all members.

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

    def _train(self, groups, weights, validation, own=False):
        if not self.rankers:
            raise ValueError("Ensemble needs rankers, such as Ensemble([RankSVM(), ListNet()])")
        measure = parse_measure(DEFAULT_MEASURE if self.select_by is None else self.select_by)
        self.rankers_ = []
        for each in self.rankers:
            member: Any = clone(each)
            self.rankers_.append(member.fit(groups, sample_weight=weights, eval_set=validation))
        names = [type(each).__name__ for each in self.rankers_]
        return committee_of(self, self.rankers_, [{"member": each} for each in names], groups), measure


def committee_of(
    ranker: CommitteeRanker, members: Sequence[Ranker], trace: list[dict[str, Any]], groups: QueryGroups
) -> Solution:
    """Return the committee of fitted rankers; it has converged if all of them have.

    Parameters
    ----------
    ranker : CommitteeRanker
        Receives what is said of the data.
    members : sequence of Ranker
        Fitted on the same queries.
    trace : list of dict
        A row for each member that was trained.
    groups : QueryGroups
        The training queries.
    """
    ended = {each.status_ for each in members}
    status = "converged" if ended == {"converged"} else "complete" if ended <= {*GOOD} else "budget"
    good = sum(each.status_ in GOOD for each in members)
    of = f"{good} of {len(members)} members converged or trained all their rounds"
    open_ends = [type(each).__name__ for each in members if each.status_ not in GOOD]
    of += f", not {', '.join(open_ends)}" if open_ends else ""
    ranker.left_out_ = groups.queries.qid[groups.queries.single_grade]
    ranker.notes_ = list(dict.fromkeys(note for each in members for note in each.notes_))
    ranker.scaling_ = ", ".join(dict.fromkeys(each.scaling_ for each in members))
    ranker.scaling_reason_ = next((each.scaling_reason_ for each in members if each.scaling_reason_), "")
    return Solution(
        Committee([each.scorer_ for each in members]),
        status,
        {"members": float(len(members)), "converged": float(good)},
        [{"iteration": at, **row} for at, row in enumerate(trace)],
        of,
    )


def selecting_measure(name: Any, *parts: QueryGroups | None) -> Measure:
    """Return a measure for the largest grade of some queries."""
    largest = max(part.queries.max_relevance for part in parts if part is not None)
    return parse_measure(name).with_largest_grade(largest)


#: Pairwise, listwise, smoothed, consistent and boosted: their errors differ.
MEMBERS = "lambdaloss,approxap,consistent-norm-dcg,listnet,ranksvm,ndcgboost,frank,consistent-dcg"
#: Without a validation set, one query in this many is held out to choose parameters.
HELD_OUT = 5
#: A member leaves if the committee without it is better at this level, corrected for the number of members.
LEVEL = 0.05


@dataclass
class Trained:
    """A member at the point of its grid that is best on the validation set.

    Attributes
    ----------
    method : Configured
    point : dict
    ranker : Ranker
    values : ndarray of shape (n_queries,)
        The measure of its scores on each validation query.
    scores : ndarray of shape (n_docs,)
        Its scores of the validation documents, standardised inside each query.
    """

    method: Configured
    point: dict[str, Any]
    ranker: Ranker
    values: np.ndarray
    scores: np.ndarray


@estimator
class AutoRanker(CommitteeRanker):
    """A committee of unlike methods: the mean of their scores, each standardised inside each query.

    Every member is trained at each point of its grid, and the validation set chooses the point. Without a
    validation set a fifth of the queries is held out for this, and the members are trained again on all
    queries. No member is chosen by its figure: on few queries the best of many is the luckiest. A member
    leaves only if the committee is significantly better without it on the validation queries.

    `predict` needs the query of each row.

    Attributes
    ----------
    members_ : list of dict
        Of each member its ``name``, ``parameters``, ``validation`` (mean of the measure), ``status``, and
        whether it was ``kept``.

    Examples
    --------
    >>> from directrank import AutoRanker, make_ranking
    >>> train, vali = make_ranking(10, 8, 4, random_state=0), make_ranking(10, 8, 4, random_state=1)
    >>> ranker = AutoRanker(measure="nDCG@10", members="ranksvm,listnet").fit(train, eval_set=vali)
    >>> [each["name"] for each in ranker.members_ if each["kept"]]
    ['ranksvm', 'listnet']
    """

    measure: Annotated[AnyMeasure, "The measure that chooses parameters and judges the committee."] = (
        positional(default=DEFAULT_MEASURE)
    )
    members: Annotated[str, "Names of methods, with commas, as on the command line."] = MEMBERS

    def _train(self, groups, weights, validation, own=False):
        measure = selecting_measure(self.measure, groups, validation)
        methods = [configured_one(each, PRESETS, measure) for each in split_specs(self.members)]
        if not methods:
            raise ValueError("members is empty; name methods, such as members='ranksvm,listnet'")
        train, trained_weights, judged = groups, weights, validation
        if judged is None:
            train, trained_weights, judged = self._divided(groups, weights)
        found = [self._best(each, measure, train, trained_weights, judged) for each in methods]
        kept = kept_members(found, measure, judged)
        self.members_ = [_described(each, each in kept) for each in found]
        if validation is None:
            for each in kept:
                each.ranker = self._built(each.method, each.point).fit(groups, sample_weight=weights)
        trace = [{"member": each.method.label, "monitor": float(each.values.mean())} for each in found]
        solution = committee_of(self, [each.ranker for each in kept], trace, groups)
        solution.message = f"{_said(found, kept, measure, judged)}; {solution.message}"
        return solution, measure

    def _built(self, method: Configured, point: dict[str, Any]) -> Ranker:
        ranker = method.build(point)
        return ranker.set_params(random_state=self.random_state, n_jobs=self.n_jobs)

    def _best(self, method: Configured, measure: Measure, train, weights, judged: QueryGroups) -> Trained:
        """Return a method at the point of its grid with the highest mean on the validation queries."""
        found = None
        for point in method.points():
            ranker = self._built(method, point).fit(train, sample_weight=weights, eval_set=judged)
            scores = scores_in_queries(ranker.scorer_, judged.features, judged.queries.indptr)
            (values,) = values_of([measure], judged.queries, scores)
            if found is None or values.mean() > found.values.mean():
                scores = standardised_scores(scores, judged.queries.indptr)
                found = Trained(method, point, ranker, values, scores)
        assert found is not None
        return found

    def _divided(self, groups: QueryGroups, weights):
        """Return training queries with their weights, and queries held out at random."""
        if groups.n_queries < HELD_OUT:
            raise DataError(
                f"{groups.n_queries} queries are too few to hold out one in {HELD_OUT}: pass eval_set"
            )
        seed = check_random_state(self.random_state).randint(2**31)
        order = np.random.default_rng(seed).permutation(groups.n_queries)
        held, rest = (np.sort(each) for each in np.split(order, [groups.n_queries // HELD_OUT]))
        return groups.select(rest), None if weights is None else weights[rest], groups.select(held)


def kept_members(found: Sequence[Trained], measure: Measure, judged: QueryGroups) -> list[Trained]:
    """Return the members without which the committee is not significantly better on the judged queries."""
    if len(found) < 3 or judged.n_queries < 2:
        return list(found)
    total = sum(each.scores for each in found)
    without = [total, *(total - each.scores for each in found)]
    whole, *others = (values_of([measure], judged.queries, each)[0] for each in without)
    worse = [_better(values, whole, len(found)) for values in others]
    kept = [each for each, leaves in zip(found, worse, strict=True) if not leaves]
    return kept if len(kept) > 1 else list(found)


def _better(values: np.ndarray, whole: np.ndarray, tests: int) -> bool:
    """Return whether values are significantly higher on the same queries."""
    differences = values - whole
    if not np.ptp(differences):
        return False
    tested: Any = ttest_1samp(differences, 0.0, alternative="greater")
    return bool(tested.pvalue * tests < LEVEL)


def _described(member: Trained, kept: bool) -> dict[str, Any]:
    return {
        "name": member.method.label,
        "parameters": dict(member.point),
        "validation": float(member.values.mean()),
        "status": member.ranker.status_,
        "kept": kept,
    }


def _said(found: Sequence[Trained], kept: Sequence[Trained], measure: Measure, judged: QueryGroups) -> str:
    """Return the committee's figure beside those of its members, and who left."""
    (values,) = values_of([measure], judged.queries, np.asarray(sum(each.scores for each in kept)))
    figures = [each.values.mean() for each in found]
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    left = ", ".join(each.method.label for each in found if each not in kept)
    said = (
        f"committee of {len(kept)}: validation {measure.name} {values.mean():.4f} (standard error "
        f"{error:.4f}, {len(values)} queries), members {min(figures):.4f} to {max(figures):.4f}"
    )
    return said + (f"; left out, because the committee is better without: {left}" if left else "")
