"""Linear scorer: the score is a weighted sum of features."""

import numpy as np

from directrank.kernels.compile import kernel


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

    def __repr__(self) -> str:
        size = "not trained" if self.coefficients is None else f"{len(self.coefficients)} coefficients"
        return f"Linear({size})"

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
        row_products(features, np.asarray(self.coefficients, np.float64), out)
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


def backward_naive(features: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Xᵀ g by definition, for tests."""
    return features.astype(np.float64).T @ gradient.astype(np.float64)


# Rows are read by two indices, not as slices: a slice of a row costs as much as its product.
@kernel
def row_products(features, w, out):
    """Write X w, in the type of w."""
    for i in range(len(out)):
        total = w.dtype.type(0)
        for k in range(features.shape[1]):
            total += features[i, k] * w[k]
        out[i] = total


@kernel
def transposed_product(features, gradient, partial, out):
    """Add Xᵀ g to `out`, float64 (n_features,); `partial` is zeros of the gradient's type, and is again."""
    n_docs, n_features = features.shape
    for four in range(n_docs // 4):
        i = 4 * four
        g0, g1, g2, g3 = gradient[i], gradient[i + 1], gradient[i + 2], gradient[i + 3]
        for k in range(n_features):
            partial[k] += (g0 * features[i, k] + g1 * features[i + 1, k]) + (
                g2 * features[i + 2, k] + g3 * features[i + 3, k]
            )
        if four % 32 == 31:
            _flush(partial, out)
    for i in range(n_docs - n_docs % 4, n_docs):
        for k in range(n_features):
            partial[k] += gradient[i] * features[i, k]
    _flush(partial, out)


@kernel
def _flush(partial, out):
    for k in range(len(out)):
        out[k] += partial[k]
        partial[k] = 0
