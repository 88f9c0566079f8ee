"""Linear scorers of scaled features, where the scaling cannot be folded into the coefficients.

They are what training leaves; training itself moves the coefficients of a `Linear` of scaled features.
"""

import math

import numpy as np

from directrank.errors import DataError
from directrank.kernels.compile import kernel
from directrank.scorers.linear import Linear
from directrank.scorers.missing_values import filled
from directrank.scorers.query_ranges import scaled_inside_queries


class LogLinear:
    """f(x) = coefficients · ℓ(x), ℓ being sign(x) · log1p |x| for some features and x for the others.

    Parameters
    ----------
    coefficients : ndarray of shape (n_features,), float64
    logarithm : ndarray of shape (n_features,), bool
        The features whose logarithm is taken.
    fill : ndarray of shape (n_features,), float32, optional
        What stands for a missing value, before the logarithm.
    """

    kind = "log-linear"

    def __init__(self, coefficients: np.ndarray, logarithm: np.ndarray, fill: np.ndarray | None = None):
        self.coefficients, self.logarithm, self.fill = coefficients, logarithm, fill

    def __repr__(self) -> str:
        return f"LogLinear({len(self.logarithm)} coefficients, {self.logarithm.sum()} logarithms)"

    def at(self, parameters: np.ndarray) -> "LogLinear":
        """Return the scorer with these coefficients."""
        return LogLinear(np.array(parameters, dtype=np.float64), self.logarithm, self.fill)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,); a row's score depends on that row alone."""
        if self.fill is not None:
            features = filled(features, self.fill)
        out = np.empty(len(features))
        _log_products(features, self.coefficients, np.flatnonzero(self.logarithm), out)
        return out


class QueryLinear:
    """f(x) = coefficients · x after each feature is scaled to [0, 1] inside each query.

    Parameters
    ----------
    coefficients : ndarray of shape (n_features,), float64
    fill : ndarray of shape (n_features,), float32, optional
        What stands for a missing value, after the scaling.
    """

    kind = "query-linear"

    def __init__(self, coefficients: np.ndarray, fill: np.ndarray | None = None):
        self.coefficients, self.fill = coefficients, fill

    def __repr__(self) -> str:
        return f"QueryLinear({len(self.coefficients)} coefficients)"

    def at(self, parameters: np.ndarray) -> "QueryLinear":
        """Return the scorer with these coefficients."""
        return QueryLinear(np.array(parameters, dtype=np.float64), self.fill)

    def scores(self, features: np.ndarray, indptr: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,).

        Parameters
        ----------
        features : ndarray of shape (n_docs, n_features), float32
        indptr : ndarray of shape (n_queries + 1,), int64
            Query q has the rows ``indptr[q]:indptr[q + 1]``.

        Raises
        ------
        DataError
            If the queries are not given.
        """
        if indptr is None:
            raise DataError(
                "the model scales features inside each query: pass qid=… with the query of each row"
            )
        return Linear(self.coefficients, self.fill).scores(scaled_inside_queries(features, indptr))


@kernel
def read_row(features, i, columns, row):
    """Write row i in float64, with the logarithm sign(x) · log1p |x| of some columns."""
    for k in range(len(row)):
        row[k] = features[i, k]
    for k in columns:
        row[k] = math.copysign(math.log1p(abs(row[k])), row[k])


@kernel
def _log_products(features, w, columns, out):
    row = np.empty(features.shape[1])
    for i in range(len(out)):
        read_row(features, i, columns, row)
        total = 0.0
        for k in range(len(row)):
            total += row[k] * w[k]
        out[i] = total
