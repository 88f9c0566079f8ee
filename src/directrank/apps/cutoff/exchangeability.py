"""Whether new queries are like those of the calibration: an e-value that may be looked at any time."""

from bisect import bisect_left, bisect_right, insort

import numpy as np

#: An e-value of so much says "calibrate again"; for queries that are alike it is reached by one stream in 20.
STALE = 20.0
#: Exponents of power bets on p-values.
EXPONENTS = (np.arange(20) + 0.5) / 20


def e_values(calibration: np.ndarray, new: np.ndarray, random_state: int = 0) -> np.ndarray:
    """Return the e-value against exchangeability after each new query.

    The p-value of a top score is its rank among all before it, with ties broken at random. Power bets
    ``e pᵉ⁻¹`` on p, for unusually large scores, and on 1 − p, for small ones, are multiplied over queries and
    averaged. Under exchangeability it reaches 20 at any time with a chance of at most 1 in 20 (Ville).

    Parameters
    ----------
    calibration : ndarray of shape (n,)
        Top scores of the calibration queries.
    new : ndarray of shape (m,)
        Top scores of new queries, in the order of their arrival.
    random_state : int, default=0

    Returns
    -------
    ndarray of shape (m,)

    References
    ----------
    .. [1] V. Fedorova, A. Gammerman, I. Nouretdinov, V. Vovk, "Plug-in martingales for testing
       exchangeability on-line", ICML 2012.
    """
    earlier = sorted(calibration.tolist())
    coins = np.random.default_rng(random_state).random(len(new))
    p = np.empty(len(new))
    for place, (score, coin) in enumerate(zip(new.tolist(), coins.tolist(), strict=True)):
        insort(earlier, score)
        after = bisect_right(earlier, score)
        p[place] = (len(earlier) - after + coin * (after - bisect_left(earlier, score))) / len(earlier)
    tiny = np.finfo(np.float64).tiny
    wealth = [
        np.log(EXPONENTS) * np.arange(1, len(new) + 1)[:, None]
        + (EXPONENTS - 1.0) * np.cumsum(np.log(np.maximum(side, tiny)))[:, None]
        for side in (p, 1.0 - p)
    ]
    logarithms = np.concatenate(wealth, axis=1)
    largest = logarithms.max(axis=1, initial=0.0)
    with np.errstate(over="ignore"):
        return np.exp(largest) * np.exp(logarithms - largest[:, None]).mean(axis=1)
