"""The order in which sequential solvers visit queries."""

import numpy as np


def visiting_order(losses: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Order queries by their first cuts, so that the order of rows in the data does not matter.

    Parameters
    ----------
    losses : ndarray of shape (n_queries,)
    vectors : ndarray of shape (n_queries, n_features)
        Of the cut of each query at zero scores.
    """
    return np.lexsort((*vectors.T[::-1], np.round(losses, 9)))
