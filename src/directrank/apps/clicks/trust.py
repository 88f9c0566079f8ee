r"""Propensities under trust bias: a click is α_k R_d + β_k, more likely at high ranks whatever is shown.

Only differences between rankings of the same documents are identified, up to a factor: α/a, β − α b/a and
a R + b give the same clicks for all a > 0 and b. Here α₁ = 1 and β₁ = 0.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.propensities import (
    Comparisons,
    Propensities,
    components_of,
    estimate_propensities,
)
from directrank.errors import DataError

#: Times that weights follow the fitted rates, groups of queries of the jackknife, and the least rate.
REWEIGHED, GROUPS, LEAST_RATE = 6, 20, 1e-3
#: Items that two ranks must share: with one, every slope is as good with another offset.
LEAST_ITEMS = 2


def estimate_trust(log: ClickLog, *, seed: int = 0) -> Propensities:
    """Estimate α and β of each rank by weighted least squares with an effect for each item.

    The sum over items and ranks of (click rate − α_k R_d − β_k)², weighted by the inverse variance of a
    click rate, is minimised over α, β and R together; errors are those of a jackknife over groups of queries.

    Parameters
    ----------
    log : ClickLog
    seed : int, default=0
        Of the groups.

    Returns
    -------
    Propensities
        With `Propensities.offset`, and `Propensities.replicates`.

    Raises
    ------
    DataError
        If trust bias is not identified: too few documents were shown at both of two ranks.
    """
    parts = components_of(log)
    pbm = estimate_propensities(log, test=False)
    if not pbm.identified:
        raise DataError(f"{log.source}: {pbm.components_line()}")
    items = Comparisons(log, parts[0])
    shown = csr_array(
        (np.ones(len(items.rank)), (items.item, items.rank)), shape=(items.n_items, items.n_ranks)
    )
    shared = (shown.T @ shown).toarray()
    n_parts, _ = connected_components(shared >= LEAST_ITEMS)
    if n_parts > 1 or items.n_ranks < 2:
        raise DataError(
            f"{log.source}: trust bias is not identified: it needs {LEAST_ITEMS} clicked documents at both "
            "of two ranks, from each rank to each other one; log more swaps, or estimate without trust bias"
        )
    start = np.concatenate((pbm.propensity[1:], np.zeros(items.n_ranks - 1)))
    use = np.ones(len(items.rank))
    fitted, weights = _minimised(items, start, None, use, REWEIGHED)
    group_of_query = np.random.default_rng(seed).permutation(log.n_queries) % GROUPS
    group = group_of_query[items.queries[items.query]][items.item]
    leaving = [_minimised(items, fitted, weights, group != g, 1)[0] for g in range(GROUPS)]
    alpha, beta = np.insert(fitted, (0, items.n_ranks - 1), (1.0, 0.0)).reshape(2, -1)
    if (alpha <= 0).any():
        raise DataError(
            f"{log.source}: trust bias is not identified: clicks at rank {np.argmax(alpha <= 0) + 1} do not "
            "rise with relevance"
        )
    replicates = np.array([np.insert(replicate, (0, items.n_ranks - 1), (1.0, 0.0)) for replicate in leaving])
    logs = np.log(np.maximum(replicates[:, : items.n_ranks], 1e-12))
    spread = logs - logs.mean(axis=0)
    covariance = (GROUPS - 1) / GROUPS * spread.T @ spread
    return Propensities(
        "trust bias", pbm.position, alpha, parts, covariance, None,
        np.full(items.n_ranks, float(GROUPS)), n_clicks=pbm.n_clicks, n_queries=pbm.n_queries, offset=beta,
        replicates=replicates, group=group_of_query, qid=log.qid,
    )  # fmt: skip


def _minimised(
    items: Comparisons, start: np.ndarray, weights: np.ndarray | None, use: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return α and β but the first, and the weights of cells after the last round."""
    n, rate, first = items.n_ranks, items.c / items.n, items.start[:-1]
    x, w = start, np.ones(len(rate)) if weights is None else weights

    def profile(x: np.ndarray) -> tuple[float, np.ndarray]:
        rest, relevance, _ = _fit(x)
        slope = -2.0 * w * use * rest
        by_rank = [np.bincount(items.rank, slope * factor, n)[1:] for factor in (relevance, 1.0)]
        return float((w * use) @ rest**2) / scale, np.concatenate(by_rank) / scale

    def _fit(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        alpha, beta = np.append(1.0, x[: n - 1])[items.rank], np.append(0.0, x[n - 1 :])[items.rank]
        top = np.add.reduceat(w * alpha * (rate - beta), first)
        relevance = (top / np.add.reduceat(w * alpha**2, first))[items.item]
        mean = alpha * relevance + beta
        return rate - mean, relevance, mean

    for _ in range(rounds):
        if weights is None:
            mean = np.clip(_fit(x)[2], LEAST_RATE, 1.0 - LEAST_RATE)
            w = items.n / (mean * (1.0 - mean))
        scale = float(w.sum())
        options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-12}
        x = minimize(profile, x, jac=True, method="L-BFGS-B", options=options).x
    return x, w
