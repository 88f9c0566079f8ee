"""Scores of several runs inside queries, normalised, and the rules of fusion without anything to learn."""

from collections.abc import Callable

import numpy as np

from directrank.data import Queries, descending_order
from directrank.files import Union

#: The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009).
K = 60


def _over_queries(function: np.ufunc, values: np.ndarray, queries: Queries) -> np.ndarray:
    """Return what a function makes of the documents of each query, for each document."""
    return np.repeat(function.reduceat(values, queries.indptr[:-1], axis=0), queries.sizes, axis=0)


def _of_ranks(union: Union, value: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Return a value of each rank and the length of the run's list, the mean over documents that tie."""
    out = np.full(union.scores.shape, np.nan)
    for run, held in enumerate(union.held.T):
        rows = np.flatnonzero(held)
        if not len(rows):
            continue
        lengths = union.queries.count(held)
        lengths = lengths[lengths > 0]
        indptr, scores = np.append(0, np.cumsum(lengths)), union.scores[rows, run]
        order = descending_order(scores, indptr, stable=False)  # Documents that tie share their mean.
        rows, ranked, is_lower = rows[order], scores[order], np.ones(len(rows), bool)
        is_lower[1:] = ranked[1:] != ranked[:-1]
        is_lower[indptr[:-1]] = True
        ranks = np.arange(1.0, len(rows) + 1) - np.repeat(indptr[:-1], lengths)
        values, block = value(ranks, np.repeat(lengths, lengths)), np.flatnonzero(is_lower)
        if len(block) < len(rows):
            sizes = np.diff(np.append(block, len(rows)))
            values = np.repeat(np.add.reduceat(values, block) / sizes, sizes)
        out[rows, run] = values
    return out


def _lengths(union: Union) -> np.ndarray:
    """Return how many documents of its query a run holds, for each document and run."""
    return _over_queries(np.add, union.held.astype(float), union.queries)


def reciprocal_ranks(union: Union) -> np.ndarray:
    """Return 1 / (60 + rank), and 0 for documents that a run does not hold, as in RRF."""
    values = _of_ranks(union, lambda rank, _: 1.0 / (K + rank))
    values[~union.held] = 0.0
    return values


def min_max(union: Union) -> np.ndarray:
    """Return scores from 0 to 1, 1 where all scores of a run are equal; 0 for documents that it misses."""
    low, high = (_over_queries(end, union.scores, union.queries) for end in (np.fmin, np.fmax))
    span = np.where(high > low, high - low, np.inf)
    return np.nan_to_num((union.scores - low) / span + np.isinf(span), nan=0.0)


def standardised(union: Union) -> np.ndarray:
    """Return scores less their mean, in standard deviations; 0 where all scores of a run are equal.

    Documents that a run misses are below its last one by the mean step between its documents, or by 1 where
    all are equal. They have 0 if it has no document of the query.
    """
    queries, retrieved = union.queries, union.held
    count = np.maximum(_lengths(union), 1.0)
    low, high = (_over_queries(end, union.scores, queries) for end in (np.fmin, np.fmax))
    # A power of two rounds nothing, and the squares of no scores overflow or vanish.
    scores = np.ldexp(union.scores, -np.frexp(np.nan_to_num(high - low))[1])
    mean = _over_queries(np.add, np.where(retrieved, scores, 0.0), queries) / count
    squares = np.where(retrieved, scores - mean, 0.0) ** 2
    deviation = np.sqrt(_over_queries(np.add, squares, queries) / count)
    values = (scores - mean) / np.where(high > low, deviation, np.inf)
    least, most = (_over_queries(end, values, queries) for end in (np.fmin, np.fmax))
    step = np.where(most > least, (most - least) / np.maximum(count - 1.0, 1.0), 1.0)
    return np.nan_to_num(np.where(retrieved, values, least - step), nan=0.0)


def log_odds(union: Union) -> np.ndarray:
    """Return ln((n − rank + ½) / (rank − ½)), the log-odds of ranking above a document of the run's n.

    Documents that a run misses have −ln(2 n + 1), the value of the last of n + 1 documents.
    """
    values = _of_ranks(union, lambda rank, n: np.log((n - rank + 0.5) / (rank - 0.5)))
    return np.where(union.held, values, -np.log(2.0 * _lengths(union) + 1.0))


def counted(union: Union) -> np.ndarray:
    """Return min-max scores times the number of runs that have the document."""
    return min_max(union) * union.held.sum(axis=1)[:, None]


RANK, MIN_MAX, MNZ, STANDARDISED = "rank", "min-max", "mnz", "standardised"
#: Every normalisation inside queries.
NORMALISATIONS = {
    RANK: reciprocal_ranks,
    MIN_MAX: min_max,
    MNZ: counted,
    STANDARDISED: standardised,
    "log-odds": log_odds,
}
RRF, COMB_SUM, COMB_MNZ = f"RRF (k = {K})", "CombSUM", "CombMNZ"
#: The rules without anything to learn are equal weights of these normalisations.
EQUAL_WEIGHTS = {RRF: RANK, COMB_SUM: MIN_MAX, COMB_MNZ: MNZ}


def weighted(values: np.ndarray, weights: np.ndarray | float = 1.0) -> np.ndarray:
    """Return weighted sums of rows, each from its least term on: runs may be given in any order."""
    return np.sort(values * weights, axis=1).cumsum(axis=1)[:, -1]


#: Rules of fusion without anything to learn: from runs to scores.
FIXED: dict[str, Callable[[Union], np.ndarray]] = {
    label: lambda union, normalise=NORMALISATIONS[name]: weighted(normalise(union))
    for label, name in EQUAL_WEIGHTS.items()
}
