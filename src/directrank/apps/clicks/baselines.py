"""Other estimators of propensities, for comparison: none has errors, and none says what is not identified."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.propensities import Propensities

#: Passes of regression EM, and the change of p after which it stops.
PASSES, CHANGE = 500, 1e-7


def naive(log: ClickLog) -> np.ndarray:
    """Return the click rate of each rank over that of the first: right if all ranks had equal documents."""
    cells = log.cells()
    clicks, impressions = (
        np.bincount(cells.rank, counts)[1:] for counts in (cells.clicks, cells.impressions)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = clicks / impressions
        return rate / rate[0]


def _pairs(log: ClickLog, *, least: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return click rates at rank k of items that were also shown at rank l, added up, and 1 minus those.

    Items weigh 1, or the smaller number of their impressions at both ranks.
    """
    cells = log.cells()
    shape = log.n_items, log.n_ranks
    rate = cells.clicks / cells.impressions
    impressions, clicked, missed = (
        csr_array((values, (cells.item, cells.rank - 1)), shape=shape).tocsr()
        for values in (cells.impressions.astype(float), np.minimum(rate, 1.0), 1.0 - np.minimum(rate, 1.0))
    )
    if not least:
        ones = csr_array((np.ones(len(rate)), (cells.item, cells.rank - 1)), shape=shape)
        return (clicked.T @ ones).toarray(), (missed.T @ ones).toarray()
    totals = np.zeros((2, log.n_ranks, log.n_ranks))
    for k in range(log.n_ranks):
        column = impressions[:, [k]].tocsc()
        rows = column.indices
        common = np.minimum(impressions[rows].toarray(), column.data[:, None])
        for out, rates in zip(totals, (clicked, missed), strict=True):
            out[k] = rates[:, [k]].toarray()[rows, 0] @ common
    return totals[0], totals[1]


def adjacent_chain(log: ClickLog) -> np.ndarray:
    """Return the products of the ratios of neighbouring ranks (Agarwal et al. 2019)."""
    clicks, _ = _pairs(log, least=False)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.append(1.0, np.cumprod(np.diag(clicks, -1) / np.diag(clicks, 1)))


def all_pairs(log: ClickLog, *, least: bool) -> np.ndarray:
    """Return the maximum likelihood over all pairs of ranks (Agarwal et al. 2019); `least` as in `_pairs`."""
    clicks, missed = _pairs(log, least=least)
    n = log.n_ranks
    upper, lower = np.triu_indices(n, 1)
    number = np.zeros((n, n), int)
    number[upper, lower] = number[lower, upper] = np.arange(len(upper))
    apart = ~np.eye(n, dtype=bool)
    k, pair = np.nonzero(apart)[0], number[apart]
    c, m = clicks[apart], missed[apart]
    scale = max((c + m).sum(), 1.0)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        p, r = 1.0 / (1.0 + np.exp(-x[:n])), 1.0 / (1.0 + np.exp(-x[n:]))
        chance = np.minimum(p[k] * r[pair], 1.0 - 1e-12)
        value = -(c @ np.log(np.maximum(chance, 1e-300)) + m @ np.log1p(-chance))
        slope = -(c - m * chance / (1.0 - chance))
        gradient = [
            np.bincount(k, slope, n) * (1.0 - p),
            np.bincount(pair, slope, len(upper)) * (1.0 - r),
        ]
        return value / scale, np.concatenate(gradient) / scale

    start = np.concatenate((-np.log(np.arange(1.0, n + 1) + 0.1), np.full(len(upper), -1.0)))
    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-14, "gtol": 1e-10}
    p = 1.0 / (1.0 + np.exp(-minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x[:n]))
    return p / p[0]


def regression_em(log: ClickLog) -> np.ndarray:
    """Return what EM finds with one relevance for each item (Wang et al. 2018), from p = 1/rank on."""
    cells = log.cells()
    rank, n, c = cells.rank - 1, cells.impressions, np.minimum(cells.clicks, cells.impressions)
    p, r = 1.0 / np.arange(1.0, log.n_ranks + 1), np.full(log.n_items, 0.5)
    impressions, seen = np.bincount(rank, n, log.n_ranks), np.maximum(log.sums(log.impressions), 1)
    for _ in range(PASSES):
        both = np.minimum(p[rank] * r[cells.item], 1.0 - 1e-12)
        examined = c + (n - c) * (p[rank] - both) / (1.0 - both)
        relevant = c + (n - c) * (r[cells.item] - both) / (1.0 - both)
        before, p = p, np.bincount(rank, examined, log.n_ranks) / np.maximum(impressions, 1)
        r = np.bincount(cells.item, relevant, log.n_items) / seen
        if np.abs(p - before).max() < CHANGE:
            break
    return p / p[0]


#: Estimators by name; `directrank propensities --compare` prints them beside ours.
BASELINES: dict[str, Callable[[ClickLog], np.ndarray]] = {
    "naive ratio of click rates": naive,
    "AdjacentChain": adjacent_chain,
    "AllPairs, items weigh 1": partial(all_pairs, least=False),
    "AllPairs, items weigh their fewer impressions": partial(all_pairs, least=True),
    "regression EM": regression_em,
}


def baseline_propensities(log: ClickLog, method: str) -> Propensities:
    """Return propensities of the log's ranks by a method of `BASELINES`; NaN or infinite where it fails."""
    # A rank that showed nothing tells nothing, and a log whose deepest rank is 9,999 may have a few of them.
    ranks, place = np.unique(log.rank, return_inverse=True)
    return Propensities(
        method, ranks, BASELINES[method](replace(log, rank=place + 1)), (tuple(ranks.tolist()),)
    )
