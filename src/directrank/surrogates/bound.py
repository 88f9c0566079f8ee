"""The bound form of a surrogate whose value and gradient come from one kernel."""

from collections.abc import Callable
from typing import Any

import numpy as np


class BoundKernel:
    """The oracle of a surrogate on some queries, from a kernel.

    Parameters
    ----------
    kernel : callable
        It takes scores, the arguments and a gradient; it returns the weighted sum over queries, and adds its
        derivative to the gradient.
    *arguments
        Such as the boundaries and the weights of queries.
    """

    def __init__(self, kernel: Callable[..., float], *arguments: Any):
        self.kernel, self.arguments = kernel, arguments

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over queries and its derivative with respect to each score."""
        gradient = np.zeros_like(scores)
        return float(self.kernel(scores, *self.arguments, gradient)), gradient
