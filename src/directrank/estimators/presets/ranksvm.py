"""RankSVM."""

from directrank.contracts import Measure
from directrank.estimators.method import Method
from directrank.estimators.presets.penalties import PENALTIES
from directrank.estimators.ranker import Ranker
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import CuttingPlane, TruncatedNewton
from directrank.surrogates import Pairwise, PairwiseHinge, SwapDrop

LOSSES = ("squared_hinge", "hinge", "huber")
#: Width of the rounded corner of "huber", in score units.
HUBER_WIDTH = 0.05
#: Relative duality gap to which the hinge is solved.
GAP = 1e-4


class RankSVM(Ranker):
    """Ranking SVM: a hinge on each pair of documents of different relevance.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "huber"}, default="squared_hinge"
        max(0, 1 − m)² of the margin m of a pair, by truncated Newton; max(0, 1 − m) itself, by cutting planes
        to a duality gap of 0.01 %; or that with its corner rounded within 0.05, by truncated Newton.
    per_query : bool, default=False
        Divide the pairs of each query by their number (IR-SVM's query weights); plain sums otherwise.
    weight : callable, str or Measure, optional
        IR-SVM's weights of two grades; 1 by default. A function ≥ 0 of two arrays of grades; or a measure,
        such as "nDCG@1" in the paper: how far it drops when two documents of these grades are exchanged in a
        perfect ranking, in the mean over the training queries.
    penalty : float, default=0.1
        λ > 0 on half the squared norm of the coefficients, relative to the objective at zero scores: 1/C, C
        multiplying the mean of the loss over pairs.
    max_iterations : int, default=100
        Newton steps; planes for the hinge.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] T. Joachims, "Optimizing search engines using clickthrough data", KDD 2002; "Training linear SVMs
       in linear time", KDD 2006.
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
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, not {self.loss!r}")
        weight = self.weight
        if isinstance(weight, (str, Measure)):
            weight = SwapDrop(parse_measure(weight))
        pairs = {"normalise": self.per_query, "weight": weight}
        if self.loss == "hinge":
            solver = CuttingPlane(penalty=self.penalty, tolerance=GAP, max_iterations=self.max_iterations)
            return PairwiseHinge(**pairs), solver, Linear()
        surrogate = Pairwise(margin=self.loss, width=HUBER_WIDTH, **pairs)
        return surrogate, TruncatedNewton(penalty=self.penalty, max_iterations=self.max_iterations), Linear()


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
