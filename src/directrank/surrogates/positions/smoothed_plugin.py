"""The gradient at smooth positions inside a compiled loop over queries."""

from typing import Any, NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, position_slopes, query_gradient, register_kernel
from directrank.kernels.vector_math import extremes, fill_powers
from directrank.surrogates.positions.smoothed_kernels import backward_quotients, forward_quotients, is_near


class SmoothedPlugin(NamedTuple):
    """What `smoothed_gradient` reads.

    Attributes
    ----------
    indptr : ndarray of shape (n_queries + 1,)
    longest : int
        Documents of the longest query.
    leading : ndarray of shape (n_queries,)
        Documents of each query whose position the measure reads; 0 for a query that is skipped.
    steepness : float
        α.
    weights : ndarray of shape (n_queries,), float64
    measure : NamedTuple
        The plug-in of the measure.
    """

    indptr: np.ndarray
    longest: int
    leading: np.ndarray
    steepness: float
    weights: np.ndarray
    measure: Any


@register_kernel(query_gradient, SmoothedPlugin)
@kernel
def smoothed_gradient(plugin, q, scores, scratch, gradient):
    """Return w (1 − Ê) of query q and write its gradient; NaN where the quotients would overflow."""
    n, lead, alpha = len(scores), plugin.leading[q], plugin.steepness
    if lead == 0:
        _clear(gradient)
        return 0.0
    low, high = extremes(scores)
    if not is_near(alpha * np.float64(high - low), scores.itemsize):
        return np.nan
    typed, wide = scratch
    # Powers and what flows back are padded to whole vectors: the quotient of a power 0 is 0.
    padded = -(-n // WIDTH) * WIDTH
    powers, flow = typed[0, :padded], typed[1, :padded]
    positions, slopes = typed[2, :lead], typed[3, :lead]
    fill_powers(scores, alpha, 0.5 * (np.float64(low) + np.float64(high)), powers)
    _clear(powers[n:])
    _clear(flow)
    forward_quotients(powers, positions)
    value = position_slopes(plugin.measure, q, positions, wide, slopes)
    backward_quotients(powers, slopes, scores.dtype.type(-plugin.weights[q] * alpha), flow)
    for j in range(n):
        gradient[j] = flow[j]
    return plugin.weights[q] * (1.0 - value)


@kernel
def _clear(values):
    for j in range(len(values)):
        values[j] = 0
