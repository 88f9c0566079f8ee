"""Estimators that are not directrank's: simple ones, and ones that misbehave."""

import sys

import numpy as np
from sklearn.base import BaseEstimator


class Column(BaseEstimator):
    """Scores by one feature; the best of a grid is known."""

    def __init__(self, column=0, sign=1.0):
        self.column, self.sign = column, sign

    def fit(self, X, y):
        self.seen_ = X.shape
        return self

    def predict(self, X):
        return self.sign * np.nan_to_num(X[:, self.column].astype(float))


class Drawn(Column):
    """Adds noise that depends on the seed."""

    def __init__(self, column=0, random_state=None):
        super().__init__(column)
        self.random_state = random_state

    def predict(self, X):
        return X[:, self.column] + np.random.default_rng(self.random_state).normal(size=len(X))


class Recording(Column):
    """Keeps what `fit` is given."""

    given: list = []  # noqa: RUF012 - shared on purpose

    def fit(self, X, y, **arguments):
        type(self).given.append((X, y, arguments))
        return super().fit(X, y)


class ByQid(Recording):
    def fit(self, X, y, qid=None, group=None):
        return super().fit(X, y, qid=qid)


class BySizes(Recording):
    def fit(self, X, y, group=None):
        return super().fit(X, y, group=group)


class Raising(Column):
    def fit(self, X, y):
        raise ZeroDivisionError("nothing\nworks")


class Exiting(Column):
    def fit(self, X, y):
        sys.exit(7)


class Odd(Column):
    """Returns NaN, too few scores, or one score for all."""

    def __init__(self, what="nan"):
        self.what = what

    def predict(self, X):
        scores = X[:, 0].astype(float)
        if self.what == "nan":
            scores[1] = np.nan
        return {"nan": scores, "short": scores[1:], "constant": np.full(len(X), 0.5)}[self.what]
