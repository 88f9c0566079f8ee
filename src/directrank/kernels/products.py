"""Products of a matrix of features with a vector: X w, and Xᵀ g.

Arithmetic is in the type of the vector. Rows are read by two indices: a slice of a row costs as much as its
product.
"""

from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.prefetching import DISTANCE, fetch_bytes

# Sums in the type of the gradient are added to float64 after so many times four rows.
FOURS = 32
# The two products of `products_of_tiles` take turns after so many bytes: memory delivers no more beside one.
TURN_BYTES = 2304


@kernel
def row_products(features, w, out):
    """Write X w to `out`, (n_docs,), in the type of w, (n_features,); X is C-contiguous float32."""
    _products_of_rows(features, 0, w, out)


@kernel
def transposed_product(features, gradient, partial, out):
    """Add Xᵀ g to `out`, float64 (n_features,); `partial`, of that shape and the type of g, has zeros."""
    n_fours = len(gradient) // 4
    # All is written out once, in one loop: what is inlined twice is compiled twice.
    for turn in range(n_fours // FOURS + 1):
        first, end = turn * FOURS, (turn + 1) * FOURS
        is_last = end > n_fours
        for four in range(first, n_fours if is_last else end):
            _add_four(features, 0, four, gradient, partial)
        _add_rows(features, 0, 4 * n_fours if is_last else len(gradient), gradient, partial)
        _flush(partial, out)


@kernel
def products_of_tiles(features, start, gradient, partial, out, w, scores):
    """Add Xᵀ g of the rows from `start` to `out`, and write X w of the rows after them to `scores`.

    The first rows are in the cache. The others are read from memory, which is done beside the arithmetic.
    `partial` has zeros, in the type of the gradient; `out` is float64.
    """
    stop, n_fours = start + len(gradient), len(gradient) // 4
    turn = max(TURN_BYTES // (4 * features.itemsize * features.shape[1]), 1)
    n_parts = max(n_fours // turn, 1)
    some = -(-len(scores) // (4 * n_parts)) * 4
    for part in range(n_parts):
        i = min(part * some, len(scores))
        _products_of_rows(features, stop + i, w, scores[i : i + some])
        for four in range(part * turn, (part + 1) * turn if part + 1 < n_parts else n_fours):
            _add_four(features, start, four, gradient, partial)
            if four % FOURS == FOURS - 1:
                _flush(partial, out)
    _add_rows(features, start, 4 * n_fours, gradient, partial)
    _flush(partial, out)


@inline_kernel
def _products_of_rows(features, first, w, out):
    # One row after the other, as memory delivers them best.
    size = features.itemsize * features.shape[1]
    for i in range(len(out)):
        ahead = (first + i) * size + DISTANCE
        fetch_bytes(features, ahead, ahead + size)
        total = w.dtype.type(0)
        for k in range(features.shape[1]):
            total += features[first + i, k] * w[k]
        out[i] = total


@inline_kernel
def _add_four(features, start, four, gradient, partial):
    # What is added to is read and written once for four rows.
    i, row = 4 * four, start + 4 * four
    a, b, c, d = gradient[i], gradient[i + 1], gradient[i + 2], gradient[i + 3]
    for k in range(features.shape[1]):
        partial[k] += (a * features[row, k] + b * features[row + 1, k]) + (
            c * features[row + 2, k] + d * features[row + 3, k]
        )


@inline_kernel
def _add_rows(features, start, first, gradient, partial):
    for i in range(first, len(gradient)):
        factor = gradient[i]
        for k in range(features.shape[1]):
            partial[k] += factor * features[start + i, k]


@inline_kernel
def _flush(partial, out):
    for k in range(len(out)):
        out[k] += partial[k]
        partial[k] = 0
