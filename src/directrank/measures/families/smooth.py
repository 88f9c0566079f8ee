"""Measures at fractional positions, which a compiled kernel computes query by query."""

from abc import abstractmethod
from typing import Any

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import position_slopes
from directrank.measures.families.definition import Definition


class Smooth(Definition):
    """A measure that is also defined, and differentiable, at fractional positions."""

    @abstractmethod
    def smooth_form(self, queries: Queries, truncation: float) -> Any:
        """Return the arrays that `directrank.kernels.plugins.position_slopes` reads."""

    def position_gradient(self, queries: Queries, positions: np.ndarray, truncation: float):
        """See `PositionDifferentiable`."""
        values, gradient = np.zeros(queries.n_queries), np.zeros(len(positions), positions.dtype)
        form, scratch = self.smooth_form(queries, truncation), np.empty(queries.longest)
        _fill(form, queries.indptr, self.n_read(queries), positions, scratch, values, gradient)
        return values, gradient


@kernel
def _fill(form, indptr, n_read, positions, scratch, values, gradient):
    for q in range(len(n_read)):
        first, last = indptr[q], indptr[q] + n_read[q]
        if first < last:
            values[q] = position_slopes(form, q, positions[first:last], scratch, gradient[first:last])
