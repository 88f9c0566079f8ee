"""Products of a matrix of features with a vector: X w, and Xᵀ g."""

import numpy as np

from directrank.kernels.compile import inline_kernel, kernel


def transposed_product_naive(features: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Xᵀ g by definition, for tests."""
    return features.astype(np.float64).T @ gradient.astype(np.float64)


# Rows are read by two indices, because a slice of a row costs as much as its product.
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
    """Add Xᵀ g to `out`, float64 (n_features,); `partial`, of the type of `gradient`, must hold zeros."""
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
def products_by_query(features, ranges, gradient, out):
    """Add Xᵀ g over each range of rows (first, one past the last) to a row of `out`, float64."""
    partial = np.zeros(features.shape[1], gradient.dtype)
    for query in range(len(ranges)):
        start, stop = ranges[query]
        transposed_product(features[start:stop], gradient[start:stop], partial, out[query])


@inline_kernel
def _flush(partial, out):
    for k in range(len(out)):
        out[k] += partial[k]
        partial[k] = 0


@inline_kernel
def dot(a, b):
    """Return the scalar product of two vectors."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total
