"""Rankers trained by gradients: L-BFGS, or the papers' stochastic gradient descent."""

from typing import Annotated, Literal

from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.parameters.allowed import ABOVE_0, FROM_1
from directrank.estimators.parameters.declared import Penalty, estimator
from directrank.solvers import LBFGS, SGD


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

    def _gradient_method(self, **options) -> LBFGS | SGD:
        """Return the solver that the parameters describe, with options that both solvers have."""
        if self.solver == "lbfgs":
            return LBFGS(penalty=self.penalty, max_iterations=self.max_iterations, **options)
        return SGD(
            penalty=self.penalty, max_epochs=self.max_iterations, learning_rate=self.learning_rate, **options
        )
