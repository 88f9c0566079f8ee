r"""Proved bounds on the distance between a measure and its value at fractional positions.

Let ε be the largest error of a position that the measure reads, and let true positions be whole numbers. Then
a comparison of two positions by a logistic function of steepness β is off by at most
:math:`1/(1 + e^{β(1 - 2ε)})`, and a comparison with :math:`k + 1/2` by :math:`1/(1 + e^{β(1/2 - ε)})`. The
bounds hold for every ε, but are loose above 1/2.

References
----------
.. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
   retrieval measures", Information Retrieval 13, 2010, section 4.
"""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import LARGEST_EXPONENT


def comparison_error(error: np.ndarray, truncation: float) -> np.ndarray:
    """Bound the error of a comparison of two positions, each off by at most `error`; in (0, 1)."""
    return 1.0 / (
        1.0 + np.exp(np.clip(truncation * (1.0 - 2.0 * error), -LARGEST_EXPONENT, LARGEST_EXPONENT))
    )


def cutoff_error(error: np.ndarray, truncation: float, cutoff: int | None) -> np.ndarray:
    """Bound the error of a comparison with a cutoff, in (0, 1); 0 without a cutoff."""
    if cutoff is None:
        return np.zeros_like(error)
    return 1.0 / (1.0 + np.exp(np.clip(truncation * (0.5 - error), -LARGEST_EXPONENT, LARGEST_EXPONENT)))


def reciprocal_sums(leading: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Bound Σ 1/π̂ over the leading documents of each query by Σ_i 1/max(1, i − ε), float64 (n_queries,)."""
    sums = np.empty(len(leading))
    _reciprocal_sums(leading, error, sums)
    return sums


@kernel
def _reciprocal_sums(leading, error, sums):
    for q in range(len(leading)):
        total = 0.0
        for i in range(leading[q]):
            total += 1.0 / max(1.0, i + 1.0 - error[q])
        sums[q] = total
