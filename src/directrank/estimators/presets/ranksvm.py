"""RankSVM."""

from directrank.estimators.method import Method
from directrank.estimators.presets.penalties import PENALTIES
from directrank.estimators.ranker import Ranker
from directrank.scorers import Linear
from directrank.solvers import TruncatedNewton
from directrank.surrogates import Pairwise

#: Width of the rounded corner that stands for the hinge, in score units.
HINGE_WIDTH = 0.05


class RankSVM(Ranker):
    """Ranking SVM: a hinge on each pair of documents of different relevance, by truncated Newton.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The hinge is rounded within 0.05 of its corner, so that Newton's method applies.
    per_query : bool, default=False
        Divide the pairs of each query by their number (IR-SVM's query weights); plain sums otherwise.
    weight : callable, optional
        Weight ≥ 0 of two arrays of grades (IR-SVM's rank weights); 1 by default.
    penalty : float, default=0.1
        λ > 0 on half the squared norm of the coefficients, relative to the objective at zero scores: 1/C, C
        multiplying the mean of the loss over pairs.
    max_iterations : int, default=100
        Newton steps.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] T. Joachims, "Optimizing search engines using clickthrough data", KDD 2002.
    .. [2] O. Chapelle, S. S. Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval 13,
       2010.
    .. [3] Y. Cao et al., "Adapting ranking SVM to document retrieval", SIGIR 2006.
    """

    def __init__(
        self, *, loss="squared_hinge", per_query=False, weight=None, penalty=0.1, max_iterations=100,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.loss, self.per_query, self.weight = loss, per_query, weight
        self.penalty, self.max_iterations = penalty, max_iterations
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        margins = {"squared_hinge": "squared_hinge", "hinge": "huber"}
        if self.loss not in margins:
            raise ValueError(f"loss must be 'squared_hinge' or 'hinge', not {self.loss!r}")
        surrogate = Pairwise(
            margin=margins[self.loss], width=HINGE_WIDTH, per_query=self.per_query, weight=self.weight
        )
        solver = TruncatedNewton(penalty=self.penalty, max_iterations=self.max_iterations)
        return surrogate, solver, Linear()


METHODS = (
    Method(
        "ranksvm",
        RankSVM,
        "squared hinge on pairs, truncated Newton",
        "Joachims, KDD 2002; Chapelle, Keerthi, Information Retrieval 2010",
        grid={"penalty": PENALTIES},
    ),
    Method(
        "irsvm",
        RankSVM,
        "squared hinge on pairs, each query's weights adding to one, truncated Newton",
        "Cao et al., SIGIR 2006",
        fixed={"per_query": True},
        grid={"penalty": PENALTIES},
    ),
)
