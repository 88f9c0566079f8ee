"""Order-preserving losses with standardised supervision: consistent with nDCG, DCG, WPD, 0/1."""

from directrank.estimators.method import Method
from directrank.estimators.presets.penalties import PENALTIES
from directrank.estimators.ranker import Ranker
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import LBFGS, SGD
from directrank.surrogates import OrderPreserving as OrderPreservingSurrogate


class OrderPreserving(Ranker):
    """The order-preserving loss, consistent with a measure by its standardised supervision.

    `fit` also takes a `PreferenceGraph` (with the measure WPD) or `ObservedRankings` (with ZeroOne) in place
    of relevance.

    Parameters
    ----------
    measure : str or Measure, default="nDCG"
        DCG or nDCG, with or without a cutoff, WPD or ZeroOne. AP and ERR provably have no standard form.
    margin : {"huber", "squared_hinge"}, default="huber"
    width : float, default=0.5
        Of the Huber margin, in score units.
    per_pair : bool, default=False
        Divide the sum of each query by n(n − 1).
    penalty : float, default=0.03
        λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores.
    solver : {"lbfgs", "sgd"}, default="lbfgs"
        SGD is the paper's, query by query.
    max_iterations : int, default=200
        Epochs for SGD.
    learning_rate : float, default=0.01
        SGD's step.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011.
    """

    def __init__(
        self, measure="nDCG", *, margin="huber", width=0.5, per_pair=False, penalty=0.03, solver="lbfgs",
        max_iterations=200, learning_rate=0.01, select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.measure, self.margin, self.width, self.per_pair = measure, margin, width, per_pair
        self.penalty, self.solver = penalty, solver
        self.max_iterations, self.learning_rate = max_iterations, learning_rate
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        surrogate = OrderPreservingSurrogate(
            parse_measure(self.measure), margin=self.margin, width=self.width, normalise=self.per_pair
        )
        solvers = {
            "lbfgs": lambda: LBFGS(penalty=self.penalty, max_iterations=self.max_iterations),
            "sgd": lambda: SGD(
                penalty=self.penalty, max_epochs=self.max_iterations, learning_rate=self.learning_rate
            ),
        }
        if self.solver not in solvers:
            raise ValueError(f"solver must be 'lbfgs' or 'sgd', not {self.solver!r}")
        return surrogate, solvers[self.solver](), Linear()


GRID = {"penalty": PENALTIES}
PAPER = "Buffoni, Calauzènes, Gallinari, Usunier, ICML 2011"

METHODS = (
    Method(
        "consistent-dcg",
        OrderPreserving,
        "order-preserving loss weighted by the gain",
        PAPER,
        measure="DCG",
        fixed={"margin": "squared_hinge"},
        grid=GRID,
    ),
    Method(
        "consistent-ndcg",
        OrderPreserving,
        "order-preserving loss weighted by the gain over the ideal, or for the measure given",
        PAPER,
        measure="nDCG",
        takes_measure=True,
        fixed={"margin": "squared_hinge"},
        grid=GRID,
    ),
    Method(
        "consistent-norm-dcg",
        OrderPreserving,
        "order-preserving loss weighted by the gain, over the number of pairs",
        PAPER,
        measure="DCG",
        fixed={"per_pair": True},
        grid=GRID,
    ),
)
