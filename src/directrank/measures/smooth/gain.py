"""Discounted gains at fractional positions."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import position_slopes, register_kernel
from directrank.kernels.vector_math import LARGEST_EXPONENT, exponential


@lru_cache(64)
def logarithms(longest: int) -> np.ndarray:
    """Return ln 1 (for 0), ln 1, ln 2, … for positions of `longest` documents; not to be written to."""
    return np.log(np.maximum(np.arange(longest + 3.0), 1.0))


class GainForm(NamedTuple):
    """A smooth DCG of all queries.

    The discount is 1 / log2(max(p + shift, 2)), times a logistic function of steepness `truncation` that
    replaces the cutoff if that is finite.
    """

    gain: np.ndarray  # (n_docs,), float64
    indptr: np.ndarray  # (n_queries + 1,)
    norm: np.ndarray  # (n_queries,), float64: What the sum of each query is divided by
    shift: float
    logs: np.ndarray  # `logarithms` of the longest query
    cutoff: float
    truncation: float


@register_kernel(position_slopes, GainForm)
@kernel
def gain_slopes(form, q, p, scratch, slopes):
    """Return the smooth DCG of a query over its norm, and write its slopes at the positions p."""
    # Slices: an index that might be negative would let the bits depend on where the arrays lie.
    g, weight = form.gain[form.indptr[q] : form.indptr[q] + len(p)], scratch[: len(p)]
    _discount(p, form.shift, form.logs, weight, slopes)
    if form.cutoff < math.inf:
        _cut(p, form.cutoff, form.truncation, weight, slopes)
    value, scale = 0.0, 1.0 / form.norm[q]
    for i in range(len(g)):
        value += g[i] * weight[i]
        slopes[i] = slopes[i] * g[i] * scale
    return value * scale


@kernel
def _discount(p, shift, logs, weight, slopes):
    # The logarithm is that of the nearest whole number, plus a short series: it vectorises. No position is
    # beyond the table, but NaN must not become an index into it either.
    for i in range(len(p)):
        x = max(p[i] + shift, 2.0)
        whole = min(max(np.int64(x + 0.5), 2), len(logs) - 1)
        z = (x - whole) / (x + whole)
        y = z * z
        series = 1.0 / 9.0 + y * (1.0 / 11.0 + y * (1.0 / 13.0 + y / 15.0))
        series = 1.0 + y * (1.0 / 3.0 + y * (1.0 / 5.0 + y * (1.0 / 7.0 + y * series)))
        log = logs[np.uint64(whole)] + 2.0 * z * series
        discount = math.log(2.0) / log
        weight[i] = discount
        slopes[i] = -discount / (x * log) if shift == 1.0 or x > 2.0 else 0.0


@kernel
def _cut(p, cutoff, truncation, weight, slopes):
    for i in range(len(p)):
        z = truncation * (cutoff + 0.5 - p[i])
        decay = exponential(-min(abs(z), LARGEST_EXPONENT))
        inside = (1.0 if z >= 0.0 else decay) / (1.0 + decay)
        # Outside is not 1 − inside, which loses its small values.
        outside = (decay if z >= 0.0 else 1.0) / (1.0 + decay)
        slopes[i] = slopes[i] * inside - weight[i] * truncation * inside * outside
        weight[i] *= inside
