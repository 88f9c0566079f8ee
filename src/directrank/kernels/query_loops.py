"""Compiled loops over the queries of a plug-in: what oracles return, from the kernel of one query."""

from typing import Any

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, query_gradient


def value_and_gradient(plugin: Any, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum of `query_gradient` over all queries of a plug-in of ours, and the gradients."""
    gradient, padded = np.empty_like(scores), -(-plugin.longest // WIDTH) * WIDTH + WIDTH
    scratch = np.empty((4, padded), scores.dtype), np.empty(padded)
    return float(_sum_over_queries(plugin, scores, scratch, gradient)), gradient


@kernel
def _sum_over_queries(plugin, scores, scratch, gradient):
    total = 0.0
    for q in range(len(plugin.indptr) - 1):
        rows = slice(plugin.indptr[q], plugin.indptr[q + 1])
        total += query_gradient(plugin, q, scores[rows], scratch, gradient[rows])
    return total
