"""Gradient descent, a solver for every surrogate with a gradient; and a method that uses it."""

import numpy as np

from directrank.contracts import Solution, Solver, ValueAndGradient
from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.methods import Method
from directrank.estimators.parameters import Penalty, estimator
from directrank.scorers import Linear
from directrank.surrogates import SoftmaxCrossEntropy


class Descent(Solver):
    """Steps against the gradient, halved until they help and doubled after one that did."""

    needs = frozenset({ValueAndGradient})
    chooses = False  # The measure on the validation set does not change what it returns.

    def __init__(self, penalty=0.01, max_steps=500):
        self.penalty, self.max_steps = penalty, max_steps

    def solve(self, objective, scorer, features, monitor, rng):
        def at(parameters):
            scores = scorer.forward(parameters, features, objective.dtype)
            value, slope = objective.value_and_gradient(scores)
            gradient = scorer.backward(features, slope) + self.penalty * parameters
            return value + self.penalty / 2 * (parameters @ parameters), gradient

        parameters = scorer.initial(features.shape[1])
        value, gradient = at(parameters)
        first, size, trace = np.linalg.norm(gradient), 1.0, []
        while len(trace) < self.max_steps and np.linalg.norm(gradient) > 1e-4 * first and size > 1e-12:
            tried = parameters - size * gradient
            new = at(tried)
            if new[0] < value:
                parameters, (value, gradient), size = tried, new, 2 * size
            else:
                size /= 2
            trace.append({"objective": value})
        share = float(np.linalg.norm(gradient) / first) if first else 0.0
        status = "converged" if share <= 1e-4 else "budget"
        return Solution(scorer.at(parameters), status, {"gradient": share}, trace, f"{len(trace)} steps")


@estimator
class DescentRanker(LinearRanker):
    """ListNet's loss by gradient descent."""

    penalty: Penalty = 0.01

    def components(self):
        return SoftmaxCrossEntropy(), Descent(self.penalty), Linear()


PLUGINS = (Descent, Method("descent", DescentRanker, grid={"penalty": (0.1, 0.01, 0.001)}))
