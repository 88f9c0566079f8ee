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
from scipy.special import digamma, expit


def comparison_error(error: np.ndarray, truncation: float) -> np.ndarray:
    """Bound the error of a comparison of two positions, each off by at most `error`; in (0, 1)."""
    return expit(-truncation * (1.0 - 2.0 * error))


def cutoff_error(error: np.ndarray, truncation: float, cutoff: int | None) -> np.ndarray:
    """Bound the error of a comparison with a cutoff, in (0, 1); 0 without a cutoff."""
    return np.zeros_like(error) if cutoff is None else expit(-truncation * (0.5 - error))


def reciprocal_sums(n_read: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Bound Σ 1/π̂ over the documents that are read by Σ_i 1/max(1, i − ε), float64 (n_queries,)."""
    ones = np.minimum(n_read, np.floor(1.0 + error))  # the ranks i with i − ε ≤ 1, which add 1 each
    return ones + digamma(np.maximum(n_read + 1 - error, 1.0)) - digamma(np.maximum(ones + 1 - error, 1.0))
