"""The preorder loss and its weightings."""

from directrank.estimators.method import Method
from directrank.estimators.presets.penalties import PENALTIES
from directrank.estimators.ranker import Ranker
from directrank.scorers import Linear
from directrank.solvers import LBFGS
from directrank.surrogates import Pairwise, gain_difference

WEIGHTS = ("plain", "norm", "norm-dcg")


class Preorder(Ranker):
    """A margin on each pair of documents of different relevance, with the field's weightings of pairs.

    Parameters
    ----------
    weights : {"plain", "norm", "norm-dcg"} or callable, default="norm-dcg"
        Equal; divided by the number of pairs of the query; that times the difference of gains, 2^y − 2^y'.
        A function of two arrays of grades, of the better and of the worse documents, is taken with the
        division by the number of pairs.
    margin : {"huber", "squared_hinge", "logistic"}, default="squared_hinge"
    width : float, default=0.5
        Of the Huber margin, in score units.
    penalty : float, default=0.1
        λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores.
    max_iterations : int, default=200
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, Eq. (14) and section 6.
    .. [2] Y. Cao et al., "Adapting ranking SVM to document retrieval", SIGIR 2006.
    """

    def __init__(
        self, *, weights="norm-dcg", margin="squared_hinge", width=0.5, penalty=0.1, max_iterations=200,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.weights, self.margin, self.width = weights, margin, width
        self.penalty, self.max_iterations = penalty, max_iterations
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        if not callable(self.weights) and self.weights not in WEIGHTS:
            raise ValueError(f"weights must be a function or one of {WEIGHTS}, not {self.weights!r}")
        by_grades = {"plain": None, "norm": None, "norm-dcg": gain_difference}
        surrogate = Pairwise(
            margin=self.margin,
            width=self.width,
            normalise=self.weights != "plain",
            weight=self.weights if callable(self.weights) else by_grades[self.weights],
        )
        return surrogate, LBFGS(penalty=self.penalty, max_iterations=self.max_iterations), Linear()


GRID = {"penalty": PENALTIES}

METHODS = (
    Method(
        "preorder",
        Preorder,
        "pairs of different relevance, equal weights",
        "Buffoni et al., ICML 2011",
        fixed={"weights": "plain"},
        grid=GRID,
    ),
    Method(
        "preorder-norm",
        Preorder,
        "pairs of different relevance, each query's weights adding to one",
        "Cao et al., SIGIR 2006",
        fixed={"weights": "norm"},
        grid=GRID,
    ),
    Method(
        "preorder-norm-dcg",
        Preorder,
        "pairs weighted by the difference of gains, over the number of pairs",
        "Buffoni et al., ICML 2011",
        fixed={"weights": "norm-dcg"},
        grid=GRID,
    ),
)
