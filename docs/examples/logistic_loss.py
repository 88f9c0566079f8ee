"""Logistic regression on whether a document is relevant: a loss that sees documents, not queries."""

import numpy as np

from directrank.contracts import Surrogate, ValueAndGradient


class LogisticLoss(Surrogate):
    """Logistic loss on whether each document is relevant, without regard to queries."""

    offers = frozenset({ValueAndGradient})
    is_bound, is_convex, is_smooth = False, True, True

    def on(self, queries, weights):
        return LogisticOracles(np.where(queries.relevance >= 1, 1.0, -1.0), np.repeat(weights, queries.sizes))


class LogisticOracles:
    def __init__(self, sign, weights):
        self.sign, self.weights = sign, weights

    def value_and_gradient(self, scores):
        margin = self.sign * scores
        slope = -self.weights * self.sign * np.exp(-np.logaddexp(0, margin))
        return float(self.weights @ np.logaddexp(0, -margin)), slope.astype(scores.dtype)


PLUGINS = (LogisticLoss,)
