"""PermuRank: working sets of perfect and imperfect rankings."""

from directrank.estimators.method import Method
from directrank.estimators.ranker import Ranker
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import WorkingSets
from directrank.surrogates import WorkingSetBound


class PermuRank(Ranker):
    """A type-two bound over growing working sets of perfect and imperfect rankings.

    The paper's own form is ``feature_map="pairs", averaged=False, keep="last"``. It does not converge on
    ordinary data: pairs of one class widen the bound, and the sum over imperfect rankings swings from round
    to round. The defaults compare documents of different classes only, average w / |w| over rounds and keep
    the round that is best on the training queries.

    Parameters
    ----------
    measure : str or Measure, default="AP"
        Any; with a cutoff the features of Eq. (2) are used.
    C : float, default=0.1
        > 0; larger fits more. So small a C that every pair is inside its margin gives one model, whatever it
        is: the default is about as large as that.
    margin : {"hinge", "exponential", "logistic", "margin-rescaled"}, default="hinge"
        What the loss of a pair is multiplied with; or the hinge of Eq. (9).
    aggregate : {"sum", "mean", "max"}, default="sum"
        Over the imperfect rankings of a query. The paper's sum grows with the working sets, and C with it.
    feature_map : {"auto", "cross", "pairs"}, default="auto"
        Mean over pairs of different classes, or Eq. (2).
    rounds : int, default=100
    averaged : bool, default=True
    keep : {"best", "last"}, default="best"
        The best round by the selection measure, or the last.
    best_on : {"training", "validation"}, default="training"
        Where it is best: on the training queries, or on those of `eval_set` where it is given. A round is one
        of a hundred, more than few queries can tell apart.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    Raises
    ------
    ValueError
        If `best_on` is neither.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008.
    """

    def __init__(
        self, measure="AP", *, C=0.1, margin="hinge", aggregate="sum", feature_map="auto", rounds=100,
        averaged=True, keep="best", best_on="training", select_by=None, random_state=0, n_jobs=None,
        strict_qid=False,
    ):  # fmt: skip
        self.measure, self.C, self.margin, self.aggregate = measure, C, margin, aggregate
        self.feature_map, self.rounds, self.averaged, self.keep = feature_map, rounds, averaged, keep
        self.best_on, self.select_by, self.random_state = best_on, select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        surrogate = WorkingSetBound(
            parse_measure(self.measure),
            margin=self.margin,
            aggregate=self.aggregate,
            feature_map=self.feature_map,
        )
        solver = WorkingSets(C=self.C, rounds=self.rounds, averaged=self.averaged, keep=self.keep)
        return surrogate, solver, Linear()

    def _judged_on(self, groups, validation):
        if self.best_on not in ("training", "validation"):
            raise ValueError(f"best_on must be 'training' or 'validation', not {self.best_on!r}")
        return groups if self.best_on == "training" else super()._judged_on(groups, validation)


METHODS = (
    Method(
        "permurank",
        PermuRank,
        "working sets of perfect and imperfect rankings, bound on the measure",
        "Xu, Liu, Lu, Li, Ma, SIGIR 2008",
        takes_measure=True,
    ),
)
