r"""Propensities under trust bias: a click is α_k R_d + β_k, more likely at high ranks whatever is shown.

Only differences between rankings of the same documents are identified, up to a factor: α/a, β − α b/a and
a R + b give the same clicks for all a > 0 and b. Here α₁ = 1 and β₁ = 0.
"""

import numpy as np
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
#: Least squares ends where a step gains this share, is shorter than this, or after so many; and directions of
#: so little information are left alone.
SETTLED, SMALLEST, STEPS, FLAT = 1e-10, 1e-6, 200, 1e-13
#: The largest error of log α of what is identified.
LARGEST_ERROR = 1.0
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
        If trust bias is not identified: too few documents were shown at both of two ranks, they are too alike
        in relevance, or clicks are too few.
    """
    parts = components_of(log)
    pbm = estimate_propensities(log, test=False)
    if not pbm.identified:
        raise DataError(f"{log.source}: {pbm.components_line()}")
    items = Comparisons(log, parts[0])
    impressions = csr_array(
        (np.ones(len(items.rank)), (items.item, items.rank)), shape=(items.n_items, items.n_ranks)
    )
    shared = (impressions.T @ impressions).toarray()
    n_parts, _ = connected_components(shared >= LEAST_ITEMS)
    if n_parts > 1 or items.n_ranks < 2:
        raise DataError(
            f"{log.source}: trust bias is not identified: it needs {LEAST_ITEMS} clicked documents at both "
            "of two ranks, from each rank to each other one; log more swaps, or estimate without trust bias"
        )
    start = np.concatenate((pbm.propensity[1:], np.zeros(items.n_ranks - 1)))
    use = np.ones(len(items.rank))
    fitted, information, weights = _minimised(items, start, None, use, REWEIGHED)
    group_of_query = np.random.default_rng(seed).permutation(log.n_queries) % GROUPS
    group = group_of_query[items.queries[items.query]][items.item]
    leaving = [_minimised(items, fitted, weights, group != g, 1)[0] for g in range(GROUPS)]
    replicates = np.array([np.insert(replicate, (0, items.n_ranks - 1), (1.0, 0.0)) for replicate in leaving])
    logs = np.log(np.maximum(replicates[:, : items.n_ranks], 1e-12))
    spread = logs - logs.mean(axis=0)
    covariance = (GROUPS - 1) / GROUPS * spread.T @ spread
    # Where the documents that ranks share are alike in relevance, each α is as good with another β.
    alpha, beta = np.insert(fitted, (0, items.n_ranks - 1), (1.0, 0.0)).reshape(2, -1)
    by_model = np.insert(_deviations_of(information)[: items.n_ranks - 1], 0, 0.0) / np.abs(alpha)
    for unclear, why in (
        (alpha <= 0, "do not rise with relevance"),
        (
            np.fmax(by_model, np.sqrt(np.diag(covariance))) > LARGEST_ERROR,
            "are too few, or its documents too alike in relevance",
        ),
    ):
        if unclear.any():
            raise DataError(
                f"{log.source}: trust bias is not identified: clicks at rank {pbm.position[unclear][0]} {why}"
                "; log more swaps, or estimate without trust bias"
            )
    if pbm.by_model:
        inner = np.linalg.pinv(information, rcond=FLAT)[: items.n_ranks - 1, : items.n_ranks - 1]
        covariance = np.zeros_like(covariance)
        covariance[1:, 1:] = inner / np.outer(alpha[1:], alpha[1:])
    return Propensities(
        "trust bias", pbm.position, alpha, parts, covariance, None,
        np.full(items.n_ranks, np.inf if pbm.by_model else float(GROUPS)), n_clicks=pbm.n_clicks,
        n_queries=pbm.n_queries, by_model=pbm.by_model, offset=beta,
        replicates=None if pbm.by_model else replicates, group=None if pbm.by_model else group_of_query,
        qid=log.qid,
    )  # fmt: skip


def _deviations_of(information: np.ndarray) -> np.ndarray:
    """Return the standard errors that an information matrix tells; infinite in directions without any."""
    values, vectors = np.linalg.eigh(information)
    flat = values <= FLAT * values.max()
    parts = vectors**2 / np.where(flat, 1.0, values)
    return np.sqrt(np.where(flat & (parts > FLAT), np.inf, parts).sum(axis=1))


def _minimised(
    items: Comparisons, start: np.ndarray, weights: np.ndarray | None, use: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return α and β but the first, with their information, and the weights of cells after the last round.

    Each round is minimised by Gauss and Newton's method on what is left of rates by the best relevance of
    each item.
    """
    n, rate, first = items.n_ranks, items.c / items.n, items.start[:-1]
    x, w = start, np.ones(len(rate)) if weights is None else weights
    used = use[first]
    below = np.flatnonzero(items.rank > 0)  # the first rank has no parameters
    column, rows = items.rank[below] - 1, items.item[below]
    pairs = np.concatenate((column, column + n - 1))
    shape = items.n_items, 2 * (n - 1)

    def fitted(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what is left of the rates, the relevance of each cell's item, and α of each cell."""
        alpha, beta = np.append(1.0, x[: n - 1])[items.rank], np.append(0.0, x[n - 1 :])[items.rank]
        top = np.add.reduceat(w * alpha * (rate - beta), first)
        relevance = (top / np.add.reduceat(w * alpha**2, first))[items.item]
        return rate - alpha * relevance - beta, relevance, alpha

    def equations(
        rest: np.ndarray, relevance: np.ndarray, alpha: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the normal equations of a step, the relevance of items following α and β."""
        u, R = (w * use)[below], relevance[below]
        by_rank = [np.bincount(column, u * power, n - 1) for power in (R * R, R, np.ones(len(R)))]
        squares = np.block(
            [[np.diag(by_rank[0]), np.diag(by_rank[1])], [np.diag(by_rank[1]), np.diag(by_rank[2])]]
        )
        follows = (w * alpha)[below]
        cross = csr_array(
            (np.concatenate((follows * R, follows)), (np.concatenate((rows, rows)), pairs)), shape=shape
        )
        share = used / np.add.reduceat(w * alpha**2, first)
        squares -= (cross.T @ cross.multiply(share[:, None]).tocsr()).toarray()
        slopes = u * rest[below]
        gradient = np.concatenate([np.bincount(column, slopes * power, n - 1) for power in (R, 1.0)])
        return squares, gradient

    for _ in range(rounds):
        rest, relevance, alpha = fitted(x)
        if weights is None:
            mean = np.clip(rate - rest, LEAST_RATE, 1.0 - LEAST_RATE)
            w = items.n / (mean * (1.0 - mean))
            rest, relevance, alpha = fitted(x)
        value = float((w * use) @ rest**2)
        for _ in range(STEPS):
            squares, gradient = equations(rest, relevance, alpha)
            ahead, size = np.linalg.lstsq(squares, gradient, rcond=FLAT)[0], 1.0
            while size > SMALLEST:
                moved = fitted(x + size * ahead)
                if (reached := float((w * use) @ moved[0] ** 2)) < value:
                    break
                size /= 2.0
            else:
                break
            x, value, gain = x + size * ahead, reached, value - reached
            rest, relevance, alpha = moved
            if gain <= SETTLED * value:
                break
    return x, equations(*fitted(x))[0], w
