"""Products of single rows of features, float32 or of half precision (`directrank.kernels.half_precision`).

Which function is called is decided by the type of the features, when a loop is compiled. Rows are read by two
indices, because a slice of a row costs as much as its product.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from directrank.kernels.compile import OPTIONS
from directrank.kernels.half_precision import lower, upper
from directrank.kernels.prefetching import DISTANCE, fetch_bytes


def products_of_rows(features, first, w, out):
    """Write the products of rows from `first` with w to `out`, in the type of w."""
    (_rows_of_halves if features.dtype == np.uint32 else _rows_of_floats)(features, first, w, out)


def add_row(features, i, factor, out):
    """Add row i times a factor to `out`."""
    (_add_halves if features.dtype == np.uint32 else _add_floats)(features, i, factor, out)


def add_four_rows(features, i, factors, out):
    """Add rows i to i + 3, times a factor each, to `out`: what is added to is read and written once."""
    (_add_four_of_halves if features.dtype == np.uint32 else _add_four_of_floats)(features, i, factors, out)


def _rows_of_floats(features, first, w, out):
    # One row after the other, as memory delivers them best.
    size = features.itemsize * features.shape[1]
    for i in range(len(out)):
        ahead = (first + i) * size + DISTANCE
        fetch_bytes(features, ahead, ahead + size)
        total = w.dtype.type(0)
        for k in range(features.shape[1]):
            total += features[first + i, k] * w[k]
        out[i] = total


def _rows_of_halves(words, first, w, out):
    # Four rows share each number of w. The last one takes the place of rows beyond it.
    n_words, last, zero = words.shape[1], len(out) - 1, w.dtype.type(0)
    low, high, size = w[:n_words], w[n_words:], words.itemsize * n_words
    for four in range((len(out) + 3) // 4):
        i0 = 4 * four
        ahead = (first + i0) * size + DISTANCE
        fetch_bytes(words, ahead, ahead + 4 * size)
        i1, i2, i3 = min(i0 + 1, last), min(i0 + 2, last), min(i0 + 3, last)
        r0, r1, r2, r3 = first + i0, first + i1, first + i2, first + i3
        s0, s1, s2, s3 = zero, zero, zero, zero
        for k in range(len(high)):
            a, b, c, d = words[r0, k], words[r1, k], words[r2, k], words[r3, k]
            x, y = low[k], high[k]
            s0 += lower(a) * x + upper(a) * y
            s1 += lower(b) * x + upper(b) * y
            s2 += lower(c) * x + upper(c) * y
            s3 += lower(d) * x + upper(d) * y
        for k in range(len(high), n_words):
            x = low[k]
            s0 += lower(words[r0, k]) * x
            s1 += lower(words[r1, k]) * x
            s2 += lower(words[r2, k]) * x
            s3 += lower(words[r3, k]) * x
        out[i0], out[i1], out[i2], out[i3] = s0, s1, s2, s3


def _add_floats(features, i, factor, out):
    for k in range(features.shape[1]):
        out[k] += factor * features[i, k]


def _add_halves(words, i, factor, out):
    n_words = words.shape[1]
    low, high = out[:n_words], out[n_words:]
    for k in range(n_words):
        low[k] += factor * lower(words[i, k])
    for k in range(len(high)):
        high[k] += factor * upper(words[i, k])


def _add_four_of_floats(features, i, factors, out):
    a, b, c, d = factors
    for k in range(features.shape[1]):
        out[k] += (a * features[i, k] + b * features[i + 1, k]) + (
            c * features[i + 2, k] + d * features[i + 3, k]
        )


def _add_four_of_halves(words, i, factors, out):
    n_words = words.shape[1]
    low, high = out[:n_words], out[n_words:]
    a, b, c, d = factors
    for k in range(len(high)):
        x, y, z, t = words[i, k], words[i + 1, k], words[i + 2, k], words[i + 3, k]
        low[k] += (a * lower(x) + b * lower(y)) + (c * lower(z) + d * lower(t))
        high[k] += (a * upper(x) + b * upper(y)) + (c * upper(z) + d * upper(t))
    for k in range(len(high), n_words):
        x, y, z, t = words[i, k], words[i + 1, k], words[i + 2, k], words[i + 3, k]
        low[k] += (a * lower(x) + b * lower(y)) + (c * lower(z) + d * lower(t))


def _by_type(
    function: Callable[..., Any], of_floats: Callable[..., Any], of_halves: Callable[..., Any]
) -> None:
    @overload(function, jit_options=OPTIONS, strict=False)  # type: ignore[arg-type]
    def chosen(features, first, factors, out):
        return of_halves if features.dtype == types.uint32 else of_floats


_by_type(products_of_rows, _rows_of_floats, _rows_of_halves)
_by_type(add_row, _add_floats, _add_halves)
_by_type(add_four_rows, _add_four_of_floats, _add_four_of_halves)
