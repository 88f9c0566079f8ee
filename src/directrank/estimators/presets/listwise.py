"""The listwise classics: ListNet, ListMLE, RankCosine."""

from directrank.estimators.method import Method
from directrank.estimators.ranker import Ranker
from directrank.estimators.start import of_length, start_coefficients
from directrank.scorers import Linear
from directrank.solvers import LBFGS
from directrank.surrogates import CosineDistance, PlackettLuce, SoftmaxCrossEntropy

# The first step of L-BFGS has length 1: a turn by six degrees of coefficients whose scale is free.
START_LENGTH = 10.0


class ListNet(Ranker):
    """Cross entropy of the probabilities of standing first, with an L2 penalty.

    Parameters
    ----------
    supervision : {"relevance", "gain"}, default="relevance"
        What the true probabilities are made of: relevance y, as in the paper, or 2^y − 1.
    penalty : float, default=0.01
        λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores.
    max_iterations : int, default=200
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, "Learning to rank: from pairwise approach to listwise
       approach", ICML 2007.
    """

    def __init__(
        self, supervision="relevance", *, penalty=0.01, max_iterations=200,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.supervision, self.penalty, self.max_iterations = supervision, penalty, max_iterations
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        solver = LBFGS(penalty=self.penalty, max_iterations=self.max_iterations)
        return SoftmaxCrossEntropy(self.supervision), solver, Linear()


class ListMLE(Ranker):
    """Likelihood of the ranking by relevance under the Plackett-Luce model, with an L2 penalty.

    Documents of one relevance come in no particular order: see `directrank.surrogates.PlackettLuce`.

    Parameters
    ----------
    penalty : float, default=0.01
        λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores.
    max_iterations : int, default=200
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise approach to learning to rank: theory and
       algorithm", ICML 2008.
    """

    def __init__(
        self,
        *,
        penalty=0.01,
        max_iterations=200,
        select_by=None,
        random_state=0,
        n_jobs=None,
        strict_qid=False,
    ):
        self.penalty, self.max_iterations = penalty, max_iterations
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        return PlackettLuce(), LBFGS(penalty=self.penalty, max_iterations=self.max_iterations), Linear()


class RankCosine(Ranker):
    """The angle between scores and supervision, without a penalty: the objective does not see their scale.

    Parameters
    ----------
    supervision : {"relevance", "gain"}, default="relevance"
        The vector that scores should be parallel to: relevance y, or 2^y − 1.
    start : {"zero", "regression"}, array of shape (n_features,) or fitted linear ranker, default="regression"
        Where the search starts.
    max_iterations : int, default=100
        The best iterate by the selection measure is kept.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] T. Qin, X.-D. Zhang, M.-F. Tsai, D.-S. Wang, T.-Y. Liu, H. Li, "Query-level loss functions for
       information retrieval", Information Processing and Management 44, 2008.
    """

    def __init__(
        self, supervision="relevance", *, start="regression", max_iterations=100,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.supervision, self.start, self.max_iterations = supervision, start, max_iterations
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        solver = LBFGS(penalty=0.0, max_iterations=self.max_iterations, keep="best")
        return CosineDistance(self.supervision), solver, Linear()

    def _started(self, scorer, groups, weights):
        return Linear(of_length(start_coefficients(self.start, groups, weights), START_LENGTH))


PENALTIES = {"penalty": (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)}

METHODS = (
    Method(
        "listnet",
        ListNet,
        "cross entropy of the probabilities of standing first",
        "Cao, Qin, Liu, Tsai, Li, ICML 2007",
        grid=PENALTIES,
    ),
    Method(
        "listmle",
        ListMLE,
        "likelihood of the ranking by relevance",
        "Xia, Liu, Wang, Zhang, Li, ICML 2008",
        grid=PENALTIES,
    ),
    Method(
        "rankcosine",
        RankCosine,
        "angle between scores and relevance",
        "Qin, Zhang, Tsai, Wang, Liu, Li, IPM 2008",
        grid={"supervision": ("relevance", "gain")},
    ),
)
