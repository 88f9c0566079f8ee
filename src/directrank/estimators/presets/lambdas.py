"""Logistic losses on pairs: RankNet, and weighted by the measure LambdaRank and LambdaLoss."""

from directrank.estimators.method import Method
from directrank.estimators.presets.penalties import PENALTIES
from directrank.estimators.ranker import Ranker
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import LBFGS, Reweighted
from directrank.surrogates import Pairwise, SwapWeighted


class RankNet(Ranker):
    """RankNet's cross entropy on pairs of different relevance, for a linear scorer.

    Parameters
    ----------
    per_query : bool, default=False
        Divide the pairs of each query by their number.
    penalty : float, default=0.03
        λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores.
    max_iterations : int, default=200
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] C. Burges et al., "Learning to rank using gradient descent", ICML 2005.
    """

    def __init__(
        self, *, per_query=False, penalty=0.03, max_iterations=200,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.per_query, self.penalty, self.max_iterations = per_query, penalty, max_iterations
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        surrogate = Pairwise(margin="logistic", normalise=self.per_query)
        return surrogate, LBFGS(penalty=self.penalty, max_iterations=self.max_iterations), Linear()


class LambdaRank(Ranker):
    """Pairs weighted by the measure at the current ranking: LambdaRank and LambdaLoss, for a linear scorer.

    Weights stay fixed during short runs of L-BFGS.

    Parameters
    ----------
    measure : str or Measure, default="nDCG"
        Any measure but ZeroOne for "swap"; nDCG, DCG, P or WTA for "ndcg2".
    weights : {"ndcg2", "swap"}, default="ndcg2"
        LambdaLoss's bound on nDCG, or LambdaRank's difference that an exchange makes to the measure.
    penalty : float, default=0.01
        λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores.
    rounds : int, default=5
    max_iterations : int, default=50
        Of L-BFGS in each round.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] C. Burges, R. Ragno, Q. V. Le, "Learning to rank with nonsmooth cost functions", NIPS 2006.
    .. [2] X. Wang, C. Li, N. Golbandi, M. Bendersky, M. Najork, "The LambdaLoss framework for ranking metric
       optimization", CIKM 2018.
    """

    def __init__(
        self, measure="nDCG", *, weights="ndcg2", penalty=0.01, rounds=5, max_iterations=50,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.measure, self.weights, self.penalty = measure, weights, penalty
        self.rounds, self.max_iterations = rounds, max_iterations
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        solver = Reweighted(penalty=self.penalty, rounds=self.rounds, max_iterations=self.max_iterations)
        return SwapWeighted(parse_measure(self.measure), weights=self.weights), solver, Linear()


GRID = {"penalty": PENALTIES}

METHODS = (
    Method("ranknet", RankNet, "cross entropy on pairs", "Burges et al., ICML 2005", grid=GRID),
    Method(
        "lambdarank",
        LambdaRank,
        "pairs weighted by what their exchange does to nDCG, or the measure given",
        "Burges, Ragno, Le, NIPS 2006",
        measure="nDCG",
        takes_measure=True,
        fixed={"weights": "swap"},
        grid=GRID,
    ),
    Method(
        "lambdaloss",
        LambdaRank,
        "pairs weighted by a bound on nDCG, or the measure given",
        "Wang et al., CIKM 2018",
        measure="nDCG",
        takes_measure=True,
        fixed={"weights": "ndcg2"},
        grid=GRID,
    ),
)
