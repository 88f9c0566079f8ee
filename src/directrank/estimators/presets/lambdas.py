"""Losses that follow the ranking: LambdaRank, LambdaLoss, YetiLoss and PL-Rank."""

from typing import Annotated, ClassVar

from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.parameters import (
    ABOVE_0,
    FROM_1,
    AnyMeasure,
    Interval,
    Penalty,
    estimator,
    positional,
)
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import Reweighted
from directrank.surrogates import NoisyNeighbours, PolicyMeasure, SwapWeighted


@estimator
class ReweightedRanker(LinearRanker):
    """Base class: weights stay fixed during each of some short runs of L-BFGS."""

    weights: ClassVar[str]

    measure: Annotated[AnyMeasure, "The measure that gives the weights."] = positional(default="nDCG")
    penalty: Penalty = 0.01
    rounds: Annotated[
        int, "Largest number of runs, each with weights at the ranking that the last one reached.", FROM_1
    ] = 100
    max_iterations: Annotated[int, "Largest number of iterations of L-BFGS in each round.", FROM_1] = 50

    def components(self):
        """Return the weighted logistic loss on pairs, and L-BFGS with re-weighting."""
        solver = Reweighted(penalty=self.penalty, rounds=self.rounds, max_iterations=self.max_iterations)
        return SwapWeighted(parse_measure(self.measure), weights=self.weights), solver, Linear()


@estimator
class LambdaRank(ReweightedRanker):
    """Logistic loss on pairs weighted by the change of the measure when they are swapped.

    Any measure but ZeroOne gives such weights.

    References
    ----------
    .. [1] C. Burges, R. Ragno, Q. V. Le, "Learning to rank with nonsmooth cost functions", NIPS 2006.
    """

    weights = "swap"


@estimator
class LambdaLoss(ReweightedRanker):
    """Logistic loss on pairs weighted by a bound on nDCG (NDCG-Loss2).

    nDCG, DCG, P and WTA give such weights.

    References
    ----------
    .. [1] X. Wang, C. Li, N. Golbandi, M. Bendersky, M. Najork, "The LambdaLoss framework for ranking metric
       optimization", CIKM 2018.
    """

    weights = "ndcg2"


@estimator
class YetiLoss(LinearRanker):
    """Logistic loss on neighbours in noisy rankings, weighted by the change of the measure.

    References
    ----------
    .. [1] I. Lyzhin, A. Ustimenko, A. Gulin, L. Prokhorenkova, "Which tricks are important for learning to
       rank?", ICML 2023.
    """

    measure: Annotated[AnyMeasure, "The measure that gives the weights."] = positional(default="nDCG")
    penalty: Penalty = 0.01
    noise: Annotated[float, "Size of the Gumbel noise, in score units.", ABOVE_0] = 1.0
    permutations: Annotated[int, "Number of noisy rankings of each query in each round.", FROM_1] = 10
    rounds: Annotated[
        int, "Largest number of runs, each with weights at the ranking that the last one reached.", FROM_1
    ] = 50
    max_iterations: Annotated[int, "Largest number of iterations of L-BFGS in each round.", FROM_1] = 10

    def components(self):
        """Return the weighted logistic loss on neighbours, and L-BFGS with re-weighting."""
        solver = Reweighted(penalty=self.penalty, rounds=self.rounds, max_iterations=self.max_iterations)
        surrogate = NoisyNeighbours(
            parse_measure(self.measure), permutations=self.permutations, noise=self.noise, seed=self._seed()
        )
        return surrogate, solver, Linear()


@estimator
class PLRank(LinearRanker):
    """Expected measure of rankings drawn from the scores (Plackett-Luce policy), by PL-Rank's gradient.

    References
    ----------
    .. [1] H. Oosterhuis, "Learning-to-rank at the speed of sampling: Plackett-Luce gradient estimation with
       minimal computational complexity", SIGIR 2022.
    """

    measure: Annotated[AnyMeasure, "The measure whose expectation is raised."] = positional(default="nDCG")
    penalty: Penalty = 0.01
    samples: Annotated[int, "Number of rankings of each query that are drawn.", Interval(2)] = 32
    rounds: Annotated[
        int, "Largest number of runs, each from the scores that the last one reached.", FROM_1
    ] = 100
    max_iterations: Annotated[int, "Largest number of iterations of L-BFGS in each round.", FROM_1] = 50

    def components(self):
        """Return the expected measure, and L-BFGS on its quadratic models."""
        solver = Reweighted(penalty=self.penalty, rounds=self.rounds, max_iterations=self.max_iterations)
        surrogate = PolicyMeasure(parse_measure(self.measure), samples=self.samples, seed=self._seed())
        return surrogate, solver, Linear()
