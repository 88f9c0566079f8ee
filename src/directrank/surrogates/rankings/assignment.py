"""Loss-augmented ranking for graded gains: an assignment of documents to positions."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from directrank.surrogates.rankings.feature_maps import position_coefficients


def most_violated_assignment(
    scores: np.ndarray, relevance: np.ndarray, gain: np.ndarray, discounts: np.ndarray
) -> tuple[float, np.ndarray]:
    r"""Return loss and direction in scores of the most violated ranking of one query.

    Maximises :math:`\sum_j A(\pi_j) s_j - g_j D(\pi_j)`, a linear assignment problem of O(n³). The
    reference is the mean over rankings that descend in relevance, inside each grade in any order.

    Parameters
    ----------
    scores, relevance, gain : ndarray of shape (n_docs,)
        By descending relevance.
    discounts : ndarray of shape (longest,)
        D of the positions from 1 on.

    References
    ----------
    .. [1] Q. Le, A. Smola, "Direct optimization of ranking measures", 2007.
    """
    n = len(scores)
    A, D = position_coefficients(n), discounts[:n]
    s = scores.astype(np.float64)
    rank = linear_sum_assignment(np.outer(s, A) - np.outer(gain, D), maximize=True)[1]
    loss = float(gain @ D - gain @ D[rank])
    _, alike = np.unique(np.stack((relevance, s)), axis=1, return_inverse=True)
    _, grade = np.unique(relevance, return_inverse=True)
    return loss, _means(A[rank], alike.ravel()) - _means(A, grade)


def _means(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    return (np.bincount(group, values) / np.bincount(group))[group]
