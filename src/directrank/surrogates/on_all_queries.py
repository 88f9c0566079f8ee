"""What an objective needs of a surrogate on all queries: their weights, and the plug-in of compiled loops."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrank.contracts import Part, Reweighable, Surrogate
from directrank.data.queries import Queries
from directrank.errors import DataError


def training_weights(surrogate: Surrogate, queries: Queries, weights: np.ndarray | None) -> np.ndarray:
    """Return the weight of each query, 0 where nothing can be learned; DataError if that is everywhere."""
    weights = np.ones(queries.n_queries) if weights is None else np.asarray(weights, np.float64)
    trains = (weights > 0) & ~surrogate.uninformative(queries)
    if not trains.any():
        raise DataError(
            f"nothing to train on: {surrogate.name} is the same for every ranking of every "
            f"query, of {queries.n_queries} (each has one document, or one class of relevance)"
        )
    return np.where(trains, weights, 0.0)


def gradient_plugin(
    surrogate: Surrogate, queries: Queries, weights: np.ndarray, parts: Sequence[Part]
) -> Any:
    """Return what `directrank.kernels.plugins.query_gradient` reads.

    Where weights follow a ranking, the parts, in order and of all queries, write theirs to its arrays.
    """
    if Reweighable in surrogate.offers:
        oracles = [part.oracles for part in parts]
        return oracles[0].joined_plugin(queries, weights, oracles)
    return surrogate.bind(queries, weights).gradient_plugin()
