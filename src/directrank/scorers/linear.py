"""Linear scorers: the score is a weighted sum of features, raw or scaled.

Scaled features are what training leaves where the scaling cannot be folded into the coefficients; training
itself moves the coefficients of a `Linear` of scaled features.
"""

import numpy as np

from directrank.errors import DataError
from directrank.features.statistics import filled, read_row, scaled_inside_queries
from directrank.kernels.compile import kernel
from directrank.kernels.products import row_products, transposed_product


class Linear:
    """f(x) = coefficients · x. An intercept never changes a ranking, so there is none.

    Parameters
    ----------
    coefficients : ndarray of shape (n_features,), float64, optional
        None before training.
    fill : ndarray of shape (n_features,), float32, optional
        What stands for a missing value (NaN); without it the score is NaN.
    """

    kind = "linear"

    def __init__(self, coefficients: np.ndarray | None = None, fill: np.ndarray | None = None):
        self.coefficients, self.fill = coefficients, fill

    def __repr__(self) -> str:
        size = "not trained" if self.coefficients is None else f"{len(self.coefficients)} coefficients"
        return f"Linear({size})"

    def initial(self, n_features: int) -> np.ndarray:
        """Return the parameters from which training starts: its coefficients, or zeros."""
        return np.zeros(n_features) if self.coefficients is None else np.array(self.coefficients, float)

    def at(self, parameters: np.ndarray) -> "Linear":
        """Return the scorer with these coefficients."""
        return Linear(np.array(parameters, dtype=np.float64), self.fill)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,).

        Each row is summed by itself in one order, so that equal rows have equal scores, whatever rows
        surround them. A matrix product does not guarantee that, and ties would be lost.
        """
        out = np.empty(len(features))
        row_products(features, np.asarray(self.coefficients, np.float64), out)
        if self.fill is not None:
            # Only these rows can have a missing value.
            rows = np.flatnonzero(np.isnan(out))
            if rows.size:
                out[rows] = Linear(self.coefficients).scores(filled(features[rows], self.fill))
        return out

    def forward(self, parameters: np.ndarray, features: np.ndarray, dtype=np.float32) -> np.ndarray:
        """Return scores at `parameters`, of type `dtype`, for the kernels of the gradient."""
        out = np.empty(len(features), dtype)
        row_products(features, parameters.astype(dtype, copy=False), out)
        return out

    def backward(self, features: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return Xᵀ g, float64 (n_features,); a few rows are summed in the type of the gradient."""
        out = np.zeros(features.shape[1])
        transposed_product(features, gradient, np.zeros(features.shape[1], gradient.dtype), out)
        return out


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
        fill = np.zeros(0, np.float32) if self.fill is None else self.fill
        out = np.empty(len(features))
        _log_products(features, fill, self.coefficients, self.logarithm, out)
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


#: Scorers with one coefficient for each feature, raw or scaled.
LINEAR = (Linear, LogLinear, QueryLinear)


@kernel
def _log_products(features, fill, w, logarithm, out):
    row, parts = np.empty(features.shape[1]), np.empty((4, features.shape[1]))
    for i in range(len(out)):
        read_row(features, i, fill, logarithm, row, parts)
        total = 0.0
        for k in range(len(row)):
            total += row[k] * w[k]
        out[i] = total
