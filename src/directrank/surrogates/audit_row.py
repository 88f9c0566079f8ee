"""Rows of an audit: what a surrogate says of each query of a trained model."""

from dataclasses import dataclass

import numpy as np

from directrank.contracts import Surrogate, ValueAndGradient
from directrank.data.queries import Queries


@dataclass(frozen=True)
class AuditRow:
    """A bound on a measure, or an approximation of it, on each query of a trained model."""

    # name, kind: Such as ``exponential`` and ``type one``
    name: str
    kind: str
    values: np.ndarray  # (n_queries,): In units of 1 − E
    # (n_queries,): Of an approximation: how far it can be from 1 − E, by theorem; of a bound: how far the
    # true maximum can be above, by proof. NaN where no theorem says anything.
    error: np.ndarray
    is_bound: bool  # Whether every value lies above 1 − E


def row_of_values(name: str, surrogate: Surrogate, queries: Queries, scores: np.ndarray) -> AuditRow:
    """Return the row of a surrogate's own value, computed query by query."""
    values = np.empty(queries.n_queries)
    for q in range(queries.n_queries):
        oracles = surrogate.bind(queries.part(q, q + 1), np.ones(1))
        block = scores[queries.indptr[q] : queries.indptr[q + 1]]
        by_gradient = ValueAndGradient in surrogate.offers
        values[q] = oracles.value_and_gradient(block)[0] if by_gradient else oracles.value(block)
    kind = "bound" if surrogate.is_bound else "approximation"
    # No theorem says how far these approximations can be off.
    error = np.full(queries.n_queries, 0.0 if surrogate.is_bound else np.nan)
    return AuditRow(name, kind, values, error, surrogate.is_bound)
