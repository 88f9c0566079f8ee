"""Rankers with a linear scorer, which scale their features, and those of them trained by gradients."""

from typing import Annotated, Literal

from directrank.contracts import Surrogate
from directrank.estimators.parameters import (
    ABOVE_0,
    FROM_0,
    FROM_1,
    MaxIterations,
    Penalty,
    estimator,
    positional,
)
from directrank.estimators.ranker import Ranker
from directrank.estimators.starts import Start, initial_coefficients
from directrank.scorers import Linear
from directrank.solvers import LBFGS, SGD

__all__ = ["GradientRanker", "LinearRanker", "PenalisedRanker", "SurrogateRanker"]


@estimator
class LinearRanker(Ranker):
    """Base class of rankers with a linear scorer."""

    scaling: Annotated[
        Literal["auto", "none", "standard", "log", "query"] | None,
        "Scaling of features, fitted on the training set and saved with the model: none; mean 0 and "
        "deviation 1; the same of sign(x)·log1p|x|; to [0, 1] inside each query, where `predict` needs qid; "
        "or chosen among the first three by a rule on the training features.",
    ] = "auto"

    def _initial_scorer(self, scorer, request, scaling):
        return scorer if request.start is None else Linear(initial_coefficients(request, scaling))


@estimator
class GradientRanker(LinearRanker):
    """Base class of rankers with a choice of gradient method."""

    penalty: Penalty = 1e-3
    solver: Annotated[
        Literal["lbfgs", "sgd"], "L-BFGS, or the paper's stochastic gradient descent, query by query."
    ] = "lbfgs"
    max_iterations: Annotated[
        int, "Largest number of iterations from each start; epochs for SGD.", FROM_1
    ] = 200
    learning_rate: Annotated[float, "Step size of SGD.", ABOVE_0] = 0.01
    tolerance: Annotated[float, "Change of the objective in an epoch below which SGD stops.", FROM_0] = 1e-3

    def _gradient_method(self, **options) -> LBFGS | SGD:
        """Return the solver that the parameters describe, with options that both solvers have."""
        if self.solver == "lbfgs":
            return LBFGS(penalty=self.penalty, max_iterations=self.max_iterations, **options)
        return SGD(
            penalty=self.penalty, max_epochs=self.max_iterations, learning_rate=self.learning_rate,
            tolerance=self.tolerance, **options,
        )  # fmt: skip


@estimator
class PenalisedRanker(LinearRanker):
    """Base class of rankers whose loss L-BFGS minimises with an L2 penalty."""

    penalty: Penalty = 0.01
    start: Start = "zero"
    max_iterations: MaxIterations = 200

    def components(self):
        """Return the loss, and L-BFGS."""
        solver = LBFGS(penalty=self.penalty, max_iterations=self.max_iterations)
        return self._loss(), solver, Linear()

    def _loss(self) -> Surrogate:
        raise NotImplementedError


@estimator
class SurrogateRanker(PenalisedRanker):
    """Any differentiable surrogate for a linear scorer, minimised by L-BFGS with an L2 penalty.

    Examples
    --------
    >>> from directrank import SurrogateRanker, make_ranking
    >>> from directrank.surrogates import PlackettLuce
    >>> queries = make_ranking(10, 8, 4, random_state=0)
    >>> SurrogateRanker(PlackettLuce(), penalty=0.1).fit(queries).coef_.shape
    (4,)
    """

    surrogate: Annotated[Surrogate | None, "The surrogate to minimise."] = positional(default=None)

    def _loss(self):
        if self.surrogate is None:
            raise TypeError("SurrogateRanker needs a surrogate, such as SurrogateRanker(MySurrogate())")
        return self.surrogate
