"""Two promises about a loss in [0, 1] that does not rise as more is kept, from calibration queries.

Losses are given by their different values and how many queries have each.
"""

import math
from collections.abc import Callable

import numpy as np

#: The chance that a threshold for nine in ten misses more than it promises.
RISK = 0.1
#: Bets against "the mean loss is above the limit", as shares of the largest bet.
BETS = np.arange(1, 41) / 40


def holds_in_the_mean(losses: np.ndarray, counts: np.ndarray, limit: float) -> bool:
    """Whether the loss of a new query is at most `limit` in expectation.

    Conformal risk control: queries are exchangeable, and the new query's loss is at most 1.

    References
    ----------
    .. [1] A. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster, "Conformal risk control", ICLR 2024.
    """
    # A limit of 1 / (n + 1) is reached by losses of 0: rounding must not refuse it.
    return float(losses @ counts) + 1.0 <= limit * (int(counts.sum()) + 1) * (1 + 1e-12)


def holds_nine_in_ten(losses: np.ndarray, counts: np.ndarray, limit: float, risk: float = RISK) -> bool:
    """Whether the mean loss of all queries is at most `limit`, which is wrong for a share `risk` of samples.

    Under a mean loss above the limit the product of ``1 + b (limit − loss)`` is at most 1 in expectation for
    each bet b from 0 to ``1 / (1 − limit)``, and so is the mean over bets. By Markov's inequality it reaches
    ``1 / risk`` for a share `risk` of samples at most. The order of queries does not matter.

    References
    ----------
    .. [1] I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal
       of the Royal Statistical Society B, 2024.
    .. [2] S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. Jordan, "Distribution-free, risk-controlling
       prediction sets", Journal of the ACM, 2021.
    """
    bets = BETS / (1.0 - limit)
    # Who bets all loses all by a loss of 1: so little is left that counts of 0 can be multiplied by it.
    wealth = np.maximum(1.0 + bets[:, None] * (limit - losses), np.finfo(np.float64).tiny)
    logarithms = np.log(wealth) @ counts
    largest = logarithms.max()
    return bool(largest + np.log(np.exp(logarithms - largest).mean()) >= -math.log(risk))


Promise = Callable[[np.ndarray, np.ndarray, float], bool]


def least_queries(holds: Promise, limit: float) -> int:
    """Return how many queries without any loss it takes for a promise."""
    few, enough = 0, 1
    while not holds(np.zeros(1), np.array([enough]), limit):
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        holding = holds(np.zeros(1), np.array([middle]), limit)
        few, enough = (few, middle) if holding else (middle, enough)
    return enough


def largest_threshold(
    values: np.ndarray, weights: np.ndarray, query: np.ndarray, n_queries: int, holds: Promise, limit: float
) -> float:
    """Return the largest threshold with the promise; minus infinity if none has it.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The values of relevant documents.
    weights : ndarray of shape (n,)
        The loss of a query when the document is not kept.
    query : ndarray of shape (n,), int
    n_queries : int
    holds : callable of losses, their counts and the limit
    limit : float
    """
    if not holds(np.zeros(1), np.array([n_queries]), limit):
        return -math.inf
    thresholds = np.unique(values)
    # A threshold loses the documents below it, none at the first; a larger one never loses less.
    good, bad = 0, len(thresholds)
    while bad - good > 1:
        middle = (good + bad) // 2
        lost = values < thresholds[middle]
        losses = np.minimum(np.bincount(query[lost], weights[lost], n_queries), 1.0)
        holding = holds(*np.unique(losses, return_counts=True), limit)
        good, bad = (middle, bad) if holding else (good, middle)
    return float(thresholds[good])
