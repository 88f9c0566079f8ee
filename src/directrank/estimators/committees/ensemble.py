"""Ensemble: rankers trained on the same queries, whose scores are averaged."""

from collections.abc import Sequence
from typing import Annotated, Any

from sklearn.base import clone

from directrank.contracts import Measure, Solution
from directrank.data.groups import QueryGroups
from directrank.estimators.outcome import GOOD
from directrank.estimators.parameters.allowed import check_parameters
from directrank.estimators.parameters.declared import estimator, positional
from directrank.estimators.ranker import Ranker
from directrank.measures import DEFAULT_MEASURE, parse_measure
from directrank.scorers import Committee


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
