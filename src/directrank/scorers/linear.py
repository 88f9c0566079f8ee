"""Linear scorer: the score is a weighted sum of features."""

import numpy as np

from directrank.jit import kernel


class Linear:
    """f(x) = coefficients · x. An intercept never changes a ranking, so there is none.

    Parameters
    ----------
    coefficients : ndarray of shape (n_features,), float64, optional
        None before training.
    """

    kind = "linear"

    def __init__(self, coefficients: np.ndarray | None = None):
        self.coefficients = coefficients

    def initial(self, n_features: int) -> np.ndarray:
        """Return the parameters from which training starts: those it has, or zeros."""
        return np.zeros(n_features) if self.coefficients is None else np.array(self.coefficients, float)

    def at(self, parameters: np.ndarray) -> "Linear":
        """Return the scorer with these coefficients."""
        return Linear(np.array(parameters, dtype=np.float64))

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the scores of documents, float64 (n_docs,).

        Each row is summed by itself in one order: equal rows have equal scores, whatever stands around them
        (a matrix product does not promise that, and a tie would be lost).
        """
        out = np.empty(len(features))
        _row_products(features, np.asarray(self.coefficients, np.float64), out)
        return out

    def forward(self, parameters: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Return float32 scores at `parameters`, for the kernels of the gradient."""
        out = np.empty(len(features), np.float32)
        _row_products(features, parameters.astype(np.float32), out)
        return out

    def backward(self, features: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return Xᵀ g, float64 (n_features,), summed in float32 over a few rows and in float64 across."""
        out = np.zeros(features.shape[1])
        _transposed_product(features, gradient, out)
        return out


@kernel
def _row_product(x, w):
    total = w.dtype.type(0)
    for k in range(len(x)):
        total += x[k] * w[k]
    return total


@kernel
def _row_products(features, w, out):
    for i in range(len(out)):
        out[i] = _row_product(features[i], w)


@kernel
def _add_rows(a, b, c, d, g, partial):
    g0, g1, g2, g3 = g[0], g[1], g[2], g[3]
    for k in range(len(partial)):
        partial[k] += (g0 * a[k] + g1 * b[k]) + (g2 * c[k] + g3 * d[k])


@kernel
def _transposed_product(features, gradient, out):
    n = len(gradient)
    partial = np.zeros(len(out), np.float32)
    quarter = np.zeros(4, np.float32)
    for start in range(0, n, 4):
        last = n - 1
        for t in range(4):
            quarter[t] = gradient[start + t] if start + t < n else np.float32(0)
        _add_rows(
            features[start], features[min(start + 1, last)], features[min(start + 2, last)],
            features[min(start + 3, last)], quarter, partial,
        )  # fmt: skip
        if start % 128 == 124 or start + 4 >= n:
            for k in range(len(out)):
                out[k] += partial[k]
                partial[k] = np.float32(0)
