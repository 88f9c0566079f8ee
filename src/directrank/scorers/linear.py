"""Linear scorer: the score is a weighted sum of features."""

import numpy as np

from directrank.kernels.products import row_products, transposed_product
from directrank.scorers.missing_values import filled


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
