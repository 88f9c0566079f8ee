"""Smooth positions of one query inside a compiled loop: positions, measure and gradient while all is near."""

from typing import Any, NamedTuple

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, answers, position_slopes, query_gradient
from directrank.kernels.vector_math import extremes, fill_powers
from directrank.surrogates.positions.smoothed_kernels import backward_quotients, forward_quotients, is_near


class SmoothedForm(NamedTuple):
    """What `smoothed_gradient` reads.

    Attributes
    ----------
    indptr : ndarray of shape (n_queries + 1,)
    longest : int
        Documents of the longest query.
    leading : ndarray of shape (n_queries,)
        Documents of each query whose position the measure reads; 0 for a query that is left out.
    steepness : float
        α.
    weights : ndarray of shape (n_queries,), float64
    measure : NamedTuple
        The form of the measure.
    """

    indptr: np.ndarray
    longest: int
    leading: np.ndarray
    steepness: float
    weights: np.ndarray
    measure: Any


@answers(query_gradient, SmoothedForm)
@kernel
def smoothed_gradient(form, q, scores, room, gradient):
    """Return w (1 − Ê) of query q and write its gradient; NaN where the quotients need another form."""
    n, lead, alpha = len(scores), form.leading[q], form.steepness
    if lead == 0:
        _clear(gradient)
        return 0.0
    low, high = extremes(scores)
    if not is_near(alpha * np.float64(high - low), scores.itemsize):
        return np.nan
    typed, wide = room
    # Powers and what flows back are padded to whole vectors: the quotient of a power 0 is 0.
    padded = -(-n // WIDTH) * WIDTH
    powers, flow = typed[0, :padded], typed[1, :padded]
    positions, slopes = typed[2, :lead], typed[3, :lead]
    fill_powers(scores, alpha, 0.5 * (np.float64(low) + np.float64(high)), powers)
    _clear(powers[n:])
    _clear(flow)
    forward_quotients(powers, positions)
    value = position_slopes(form.measure, q, positions, wide, slopes)
    backward_quotients(powers, slopes, scores.dtype.type(-form.weights[q] * alpha), flow)
    for j in range(n):
        gradient[j] = flow[j]
    return form.weights[q] * (1.0 - value)


@kernel
def _clear(values):
    for j in range(len(values)):
        values[j] = 0
