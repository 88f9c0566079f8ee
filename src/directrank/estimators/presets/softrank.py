"""SoftRank: the expected measure under Gaussian noise on scores."""

from directrank.estimators.method import Method
from directrank.estimators.ranker import Ranker
from directrank.estimators.start import start_coefficients
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import LBFGS
from directrank.surrogates import GaussianNoise


class SoftRank(Ranker):
    """The expected measure under Gaussian noise on scores, with an L2 penalty.

    Parameters
    ----------
    measure : str or Measure, default="nDCG"
        nDCG, DCG, P or WTA, with or without a cutoff.
    noise : float, default=0.1
        σ > 0, in score units.
    penalty : float, default=1e-3
        λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores.
    longest : int, default=1500
        Queries with more documents are refused: time grows as their cube.
    start : {"zero", "regression"}, array of shape (n_features,) or fitted linear ranker, default="zero"
        Where the search starts.
    n_restarts : int, default=0
        Random starts beside it; the selection measure decides among all.
    max_iterations : int, default=100
        Of each start.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] M. Taylor, J. Guiver, S. Robertson, T. Minka, "SoftRank: optimizing non-smooth rank metrics",
       WSDM 2008.
    """

    def __init__(
        self, measure="nDCG", *, noise=0.1, penalty=1e-3, longest=1500, start="zero", n_restarts=0,
        max_iterations=100, select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.measure, self.noise, self.penalty, self.longest = measure, noise, penalty, longest
        self.start, self.n_restarts, self.max_iterations = start, n_restarts, max_iterations
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        surrogate = GaussianNoise(parse_measure(self.measure), noise=self.noise, longest=self.longest)
        solver = LBFGS(penalty=self.penalty, n_restarts=self.n_restarts, max_iterations=self.max_iterations)
        return surrogate, solver, Linear()

    def _started(self, scorer, groups, weights):
        return Linear(start_coefficients(self.start, groups, weights))


METHODS = (
    Method(
        "softrank",
        SoftRank,
        "expected nDCG under noise on scores, or the measure given",
        "Taylor, Guiver, Robertson, Minka, WSDM 2008",
        measure="nDCG",
        takes_measure=True,
        grid={"noise": (0.03, 0.1, 0.3, 1.0)},
    ),
)
