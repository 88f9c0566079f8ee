"""Losses on whole rankings for a linear scorer: listwise, smooth approximations, and re-weighted pairs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from directrank.contracts import Measure, Surrogate
from directrank.estimators.linear_ranker import GradientRanker, LinearRanker, PenalisedRanker
from directrank.estimators.parameters import (
    ABOVE_0,
    FROM_0,
    FROM_1,
    AnyMeasure,
    Gain,
    Interval,
    MaxIterations,
    Penalty,
    Point,
    estimator,
    positional,
)
from directrank.estimators.ranker import Ranker
from directrank.estimators.starts import Start, initial_coefficients
from directrank.measures import AP, DEFAULT_MEASURE, NDCG, parse_measure
from directrank.scorers import Linear
from directrank.solvers import LBFGS, Reweighted
from directrank.surrogates import (
    GainCrossEntropy,
    GaussianNoise,
    PlackettLuce,
    PolicyMeasure,
    SmoothedPositions,
    SoftmaxCrossEntropy,
    SwapWeighted,
)


@estimator
class ListNet(PenalisedRanker):
    """Cross entropy of top-one probabilities, with an L2 penalty.

    References
    ----------
    .. [1] Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, "Learning to rank: from pairwise approach to listwise
       approach", ICML 2007.
    """

    supervision: Annotated[
        Gain, "What the true probabilities are made of: relevance y, as in the paper, or 2^y − 1."
    ] = positional(default="relevance")

    def _loss(self):
        return SoftmaxCrossEntropy(self.supervision)


@estimator
class XENDCG(PenalisedRanker):
    """Cross entropy with the documents' shares in the gain (XE-NDCG), with an L2 penalty.

    References
    ----------
    .. [1] S. Bruch, "An alternative cross entropy loss for learning-to-rank", WWW 2021.
    """

    gamma: Annotated[
        float, "γ: at 1 the shares are those of nDCG's gains; below, every document has one.", Interval(0, 1)
    ] = 0.5

    def _loss(self):
        return GainCrossEntropy(self.gamma)


@estimator
class ListMLE(PenalisedRanker):
    """Likelihood of the ranking by relevance under the Plackett-Luce model, with an L2 penalty.

    `directrank.surrogates.PlackettLuce` says how it treats documents of equal relevance.

    References
    ----------
    .. [1] F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise approach to learning to rank: theory and
       algorithm", ICML 2008.
    """

    def _loss(self):
        return PlackettLuce()


#: Values of the objective that simulated annealing reads: the time of some twenty starts.
ANNEALING = 2000

Restarts = Annotated[
    int, "Number of random starts beside `start`; the selection measure chooses among all.", FROM_0
]


@estimator
class ApproxRank(GradientRanker):
    """Smoothed positions with an L2 penalty: ApproxAP, ApproxNDCG and their kin.

    Of the ways out of local optima that section 3.5 names, `n_restarts` are random restarts, and `start` is
    RankSVM or simulated annealing.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    measure: Annotated[
        AnyMeasure,
        "Any measure with a position gradient: AP, nDCG, P, RR, ERR, with or without a cutoff.",
    ] = positional(default="nDCG")
    steepness: Annotated[float, "α, in 1/score.", ABOVE_0] = 10.0
    truncation: Annotated[float, "β, in 1/position; read by AP, RR, ERR and cutoffs.", ABOVE_0] = 1.0
    anneal: Annotated[
        float | Sequence[float] | None,
        "Lower steepnesses, rising, to minimise first from every start (L-BFGS only).",
        ABOVE_0,
    ] = None
    start: Annotated[
        Literal["auto", "zero", "regression", "ranksvm", "annealing"] | np.ndarray | Ranker,
        "As in `SoftRank`. Measures of the first ranks only, by a cutoff or as RR and ERR, are flat where "
        'relevant documents are far below: "auto" starts them from least squares, and AP and nDCG of the '
        'whole list from zeros; "annealing" searches by simulated annealing before L-BFGS.',
    ] = "auto"
    n_restarts: Restarts = 0
    least_decrease: Annotated[
        float,
        "L-BFGS ends when twenty iterations have lowered the objective by a smaller share of it; 0 for "
        "never. More iterations rank no better on validation queries.",
        FROM_0,
    ] = 0.001
    max_iterations: MaxIterations = 1000
    certify: Annotated[
        Literal["ends", "all"],
        "Whether `history_` gives the mean error of the approximation on the training queries "
        "(``approximation_error``) and its proved bounds (``certified_error``, "
        "``largest_certified_error``) at the end of each start, or at every iterate.",
    ] = "ends"

    def components(self):
        """Return the smoothed measure, and a gradient method."""
        surrogate = SmoothedPositions(
            parse_measure(self.measure),
            steepness=self.steepness,
            truncation=self.truncation,
            anneal=np.atleast_1d(self.anneal or ()).tolist(),
        )
        options: Point = {"n_restarts": self.n_restarts, "certify": self.certify}
        if self.solver == "lbfgs":
            options["least_decrease"] = self.least_decrease
        if isinstance(self.start, str) and self.start == "annealing":
            if self.solver != "lbfgs":
                raise ValueError('start="annealing" needs solver="lbfgs"')
            options["annealing"] = ANNEALING
        return surrogate, self._gradient_method(**options), Linear()

    def _initial_scorer(self, scorer, request, scaling):
        start = request.start
        if isinstance(start, str) and start in ("auto", "annealing"):
            measure = parse_measure(self.measure)
            has_kernel = isinstance(measure, AP | NDCG) and measure.cutoff is None
            start = "zero" if has_kernel else "regression"
        return Linear(initial_coefficients(replace(request, start=start), scaling))


@estimator
class SoftRank(LinearRanker):
    """Expected measure under Gaussian noise on scores, with an L2 penalty.

    References
    ----------
    .. [1] M. Taylor, J. Guiver, S. Robertson, T. Minka, "SoftRank: optimizing non-smooth rank metrics",
       WSDM 2008.
    """

    measure: Annotated[AnyMeasure, "nDCG, DCG, P or WTA, with or without a cutoff."] = positional(
        default=DEFAULT_MEASURE
    )
    noise: Annotated[float, "σ, in score units.", ABOVE_0] = 0.1
    penalty: Penalty = 1e-3
    longest: Annotated[
        int,
        "Largest number of documents of a query; longer ones are refused, as memory grows as the square.",
        FROM_1,
    ] = 5000
    start: Start = "zero"
    n_restarts: Restarts = 0
    max_iterations: MaxIterations = 100

    def components(self):
        """Return the expected measure, and L-BFGS."""
        surrogate = GaussianNoise(parse_measure(self.measure), noise=self.noise, longest=self.longest)
        solver = LBFGS(penalty=self.penalty, n_restarts=self.n_restarts, max_iterations=self.max_iterations)
        return surrogate, solver, Linear()


ReweightedRounds = Annotated[
    int, "Largest number of runs, each with weights at the ranking that the last one reached.", FROM_1
]
ShortRun = Annotated[int, "Largest number of iterations of L-BFGS in each round.", FROM_1]


@estimator
class ReweightedRanker(LinearRanker):
    """Base class: weights stay fixed during each of some short runs of L-BFGS."""

    measure: Annotated[AnyMeasure, "The measure that gives the weights."] = positional(
        default=DEFAULT_MEASURE
    )
    penalty: Penalty = 0.01
    start: Start = "zero"
    rounds: ReweightedRounds = 100
    max_iterations: ShortRun = 50

    def components(self):
        """Return the loss, and L-BFGS with re-weighting."""
        solver = Reweighted(penalty=self.penalty, rounds=self.rounds, max_iterations=self.max_iterations)
        return self._loss(parse_measure(self.measure)), solver, Linear()

    def _loss(self, measure: Measure) -> Surrogate:
        raise NotImplementedError


@estimator
class LambdaRank(ReweightedRanker):
    """Logistic loss on pairs weighted by the change of the measure when they are swapped.

    Any measure but ZeroOne gives such weights.

    References
    ----------
    .. [1] C. Burges, R. Ragno, Q. V. Le, "Learning to rank with nonsmooth cost functions", NIPS 2006.
    """

    def _loss(self, measure):
        return SwapWeighted(measure, weights="swap")


@estimator
class LambdaLoss(ReweightedRanker):
    """Logistic loss on pairs weighted by a bound on nDCG (NDCG-Loss2).

    nDCG, DCG, P and WTA give such weights.

    References
    ----------
    .. [1] X. Wang, C. Li, N. Golbandi, M. Bendersky, M. Najork, "The LambdaLoss framework for ranking metric
       optimization", CIKM 2018.
    """

    def _loss(self, measure):
        return SwapWeighted(measure, weights="ndcg2")


@estimator
class PLRank(ReweightedRanker):
    """Expected measure of rankings drawn from the scores (Plackett-Luce policy), by PL-Rank's gradient.

    References
    ----------
    .. [1] H. Oosterhuis, "Learning-to-rank at the speed of sampling: Plackett-Luce gradient estimation with
       minimal computational complexity", SIGIR 2022.
    """

    measure: Annotated[AnyMeasure, "The measure whose expectation is raised."] = positional(
        default=DEFAULT_MEASURE
    )
    samples: Annotated[int, "Number of rankings of each query that are drawn.", Interval(2)] = 32
    rounds: Annotated[
        int, "Largest number of runs, each from the scores that the last one reached.", FROM_1
    ] = 100

    def _loss(self, measure):
        return PolicyMeasure(measure, samples=self.samples, seed=self._seed())
