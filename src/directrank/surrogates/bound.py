"""The bound form of a surrogate whose oracles come from kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np


class BoundKernel:
    """The oracles of a surrogate on some queries, from kernels.

    `kernel` takes scores, `arguments` (such as boundaries and weights of queries) and a gradient; it returns
    the weighted sum over queries, and adds its derivative to the gradient. `curvatures` takes the same, and
    adds the curvature at each score to its last argument.
    """

    def __init__(self, kernel: Callable[..., float], curvatures: Callable[..., None], *arguments: Any):
        self.kernel, self.curvatures, self.arguments = kernel, curvatures, arguments

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over queries and its derivative with respect to each score."""
        gradient = np.zeros_like(scores)
        return float(self.kernel(scores, *self.arguments, gradient)), gradient

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """Return the curvature at each score, (n_docs,); see `directrank.contracts.Curvature`."""
        out = np.zeros_like(scores)
        self.curvatures(scores, *self.arguments, out)
        return out
