"""Products of a matrix of features with a vector: X w, and Xᵀ g.

The features are float32, or of half precision (`directrank.kernels.half_precision`). Arithmetic is in the
type of the vector.
"""

import numpy as np
from numba import types
from numba.extending import overload

from directrank.kernels.compile import OPTIONS, inline_kernel, kernel
from directrank.kernels.half_precision import lower, upper


def transposed_product_naive(features: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Xᵀ g by definition, for tests."""
    return features.astype(np.float64).T @ gradient.astype(np.float64)


@kernel
def row_products(features, w, out):
    """Write X w, in the type of w."""
    _row_products(features, w, out)


@kernel
def transposed_product(features, gradient, partial, out):
    """Add Xᵀ g to `out`, float64 (n_features,); `partial`, of the type of `gradient`, must hold zeros."""
    _transposed_product(features, gradient, partial, out)


# Rows are read by two indices, because a slice of a row costs as much as its product.
def _products_of_floats(features, w, out):
    for i in range(len(out)):
        total = w.dtype.type(0)
        for k in range(features.shape[1]):
            total += features[i, k] * w[k]
        out[i] = total


def _products_of_halves(words, w, out):
    # Four rows share each number of w. The last one takes the place of rows beyond it.
    n_words, n_docs, zero = words.shape[1], len(out), w.dtype.type(0)
    low, high = w[:n_words], w[n_words:]
    for four in range((n_docs + 3) // 4):
        i0 = 4 * four
        i1, i2, i3 = min(i0 + 1, n_docs - 1), min(i0 + 2, n_docs - 1), min(i0 + 3, n_docs - 1)
        s0, s1, s2, s3 = zero, zero, zero, zero
        for k in range(len(high)):
            a, b, c, d = words[i0, k], words[i1, k], words[i2, k], words[i3, k]
            x, y = low[k], high[k]
            s0 += lower(a) * x + upper(a) * y
            s1 += lower(b) * x + upper(b) * y
            s2 += lower(c) * x + upper(c) * y
            s3 += lower(d) * x + upper(d) * y
        for k in range(len(high), n_words):
            x = low[k]
            s0 += lower(words[i0, k]) * x
            s1 += lower(words[i1, k]) * x
            s2 += lower(words[i2, k]) * x
            s3 += lower(words[i3, k]) * x
        out[i0], out[i1], out[i2], out[i3] = s0, s1, s2, s3


def _transposed_of_floats(features, gradient, partial, out):
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


def _transposed_of_halves(words, gradient, partial, out):
    n_docs, n_words = words.shape
    low, high = partial[:n_words], partial[n_words:]
    for four in range(n_docs // 4):
        i = 4 * four
        g0, g1, g2, g3 = gradient[i], gradient[i + 1], gradient[i + 2], gradient[i + 3]
        for k in range(len(high)):
            a, b, c, d = words[i, k], words[i + 1, k], words[i + 2, k], words[i + 3, k]
            low[k] += (g0 * lower(a) + g1 * lower(b)) + (g2 * lower(c) + g3 * lower(d))
            high[k] += (g0 * upper(a) + g1 * upper(b)) + (g2 * upper(c) + g3 * upper(d))
        for k in range(len(high), n_words):
            a, b, c, d = words[i, k], words[i + 1, k], words[i + 2, k], words[i + 3, k]
            low[k] += (g0 * lower(a) + g1 * lower(b)) + (g2 * lower(c) + g3 * lower(d))
        if four % 32 == 31:
            _flush(partial, out)
    for i in range(n_docs - n_docs % 4, n_docs):
        for k in range(n_words):
            low[k] += gradient[i] * lower(words[i, k])
        for k in range(len(high)):
            high[k] += gradient[i] * upper(words[i, k])
    _flush(partial, out)


def _row_products(features, w, out):
    """Call the function for the type of the features, where nothing is compiled."""
    (_products_of_halves if features.dtype == np.uint32 else _products_of_floats)(features, w, out)


def _transposed_product(features, gradient, partial, out):
    """Call the function for the type of the features, where nothing is compiled."""
    chosen = _transposed_of_halves if features.dtype == np.uint32 else _transposed_of_floats
    chosen(features, gradient, partial, out)


@overload(_row_products, jit_options=OPTIONS, strict=False)  # type: ignore[arg-type]
def _row_products_of(features, w, out):
    return _products_of_halves if features.dtype == types.uint32 else _products_of_floats


@overload(_transposed_product, jit_options=OPTIONS, strict=False)  # type: ignore[arg-type]
def _transposed_product_of(features, gradient, partial, out):
    return _transposed_of_halves if features.dtype == types.uint32 else _transposed_of_floats


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
