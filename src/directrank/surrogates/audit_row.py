"""What a surrogate tells an audit of a trained model."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class AuditRow:
    """A bound on a measure, or an approximation of it, on each query of a trained model.

    A surrogate gives its rows by a class method ``audit_rows(measure, queries, scores)``; one without it is
    asked for its value, if it can be made of the measure alone.

    Attributes
    ----------
    name, kind : str
        Such as ``exponential`` and ``type one``.
    values : ndarray of shape (n_queries,)
        In units of 1 − E.
    error : ndarray of shape (n_queries,)
        Of an approximation: how far it can be from 1 − E, by theorem; of a bound: how far the true maximum
        can be above, by proof. NaN where no theorem says anything.
    is_bound : bool
        Whether every value lies above 1 − E.
    """

    name: str
    kind: str
    values: np.ndarray
    error: np.ndarray
    is_bound: bool
