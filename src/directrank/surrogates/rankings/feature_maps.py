"""What bounds over rankings share: feature maps, and the message about grades taken as two classes."""

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries

#: F as the mean over pairs of a relevant and an irrelevant document, or as Eq. (2) over all pairs.
FEATURE_MAPS = ("cross", "pairs")


def position_coefficients(n: int) -> np.ndarray:
    """Return A(p) = (n + 1 − 2p) / (n (n − 1)) of positions 1 to n: Eq. (2) as a sum over documents."""
    return (n + 1 - 2.0 * np.arange(1, n + 1)) / (n * max(n - 1, 1))


def two_classes_message(measure: Measure, queries: Queries) -> list[str]:
    """Return the message that a bound takes grades as two classes, if the queries have more."""
    grades = np.unique(queries.relevance)
    if len(grades) <= 2:
        return []
    n = int(measure.n_read(queries).sum())
    return [
        f"{len(grades)} grades taken as two classes: {n} documents relevant to {measure.name}, "
        f"{queries.n_docs - n} not"
    ]
