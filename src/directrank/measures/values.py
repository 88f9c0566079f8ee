"""The values of measures on queries, and their means, for selection and monitoring."""

import math
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.errors import DataError, MethodError
from directrank.features.shards import map_in_order, processors
from directrank.measures.names import is_own
from directrank.measures.positions import Positions, positions_of, with_unretrieved

# The data of a batch stay in the processor's last cache from the positions to the last measure; smaller
# batches would show the time that Python takes for each.
BATCH_DOCS = 2**18
# The positions, and each measure, take time proportional to the pairs of documents of all queries, each query
# counted as if it had `MORE_DOCS` more documents. Starting a thread pays off for some milliseconds of work.
MORE_DOCS, PAIRS_PER_THREAD = 64, 3 * 2**28


def values_of(
    measures: Sequence[Measure],
    queries: Queries,
    scores: np.ndarray,
    *,
    ties: str = "expected",
    retrieved: np.ndarray | None = None,
    n_threads: int | None = None,
) -> list[np.ndarray]:
    """Return the values of each measure on each query; the positions are computed once.

    Scores are in the inner order, without NaN; documents that are not retrieved must have lower ones than the
    others. By default there are as many threads as pay off for the work, at most one per processor. Results
    do not depend on it, as a query's value depends on that query alone. Raises MethodError if a measure that
    is defined outside directrank raises an error, or returns anything but one number per query.
    """
    if queries.real:
        refuse_real_labels(measures)
    batches = queries.cached("batches", lambda: _batches(queries))

    def evaluated(batch: tuple[slice, Queries]) -> list[np.ndarray]:
        rows, some = batch
        in_block = None if retrieved is None else retrieved[rows]
        n_read = reduce(np.maximum, (measure.n_read(some) for measure in measures), np.zeros_like(some.sizes))
        positions = positions_of(some, scores[rows], ties=ties, n_read=n_read, retrieved=in_block)
        if in_block is None:
            return [_query_values(measure, some, positions) for measure in measures]
        beyond = with_unretrieved(positions, in_block, np.int32(some.longest))
        of_runs = {
            "last": positions,
            "beyond": beyond,
            "counted": beyond,
            "infinite": with_unretrieved(positions, in_block, np.inf),
        }
        return [_query_values(measure, some, of_runs[measure.unretrieved]) for measure in measures]

    if len(batches) == 1:
        return [np.array(values) for values in evaluated(batches[0])]
    results = map_in_order(evaluated, batches, n_threads or _threads(queries, len(measures), ties))
    return [np.concatenate(parts) for parts in zip(*results, strict=True)]


def refuse_real_labels(measures: Sequence[Measure]) -> None:
    """Raise `DataError` if one of some measures does not take real labels."""
    for measure in measures:
        if not measure.takes_real:
            raise DataError(
                f"{measure.name} takes no real labels of logs, such as clicks over propensities: it is not "
                "linear in labels, or reads grades. Take ClickDCG@10, ClickP@5 or ClickRBP as the measure, "
                "and as select_by (--select-by)"
            )


def _query_values(measure: Measure, queries: Queries, positions: Positions) -> np.ndarray:
    """Return the values of a measure; those of one defined outside directrank are checked."""
    if not is_own(measure):
        return measure.query_values(queries, positions)
    try:
        values = np.asarray(measure.query_values(queries, positions), dtype=np.float64)
    except Exception as error:  # whatever code of a user raises
        raise MethodError(f"the measure {measure.name} failed: {type(error).__name__}: {error}") from error
    if values.shape != (queries.n_queries,):
        raise MethodError(
            f"the measure {measure.name} returned an array of shape {values.shape}, "
            f"expected ({queries.n_queries},): one value per query"
        )
    if not np.isfinite(values).all():
        place = int(np.argmin(np.isfinite(values)))
        raise MethodError(
            f"the measure {measure.name} is {values[place]} on query {queries.qid[place]}; expected a number"
        )
    return values


def _threads(queries: Queries, n_measures: int, ties: str) -> int:
    if ties != "expected":  # sorting takes far longer than counting
        return processors()
    pairs = queries.cached("pairs", lambda: int(((queries.sizes + MORE_DOCS) ** 2).sum()))
    n_threads = pairs * (1 + n_measures) // PAIRS_PER_THREAD
    return 1 if n_threads <= 1 else min(n_threads, processors())


def _batches(queries: Queries) -> list[tuple[slice, Queries]]:
    if queries.n_docs <= BATCH_DOCS:
        return [(slice(0, queries.n_docs), queries)]
    targets = np.arange(BATCH_DOCS, queries.n_docs, BATCH_DOCS)
    cuts = np.searchsorted(queries.indptr, targets)
    bounds = np.unique(np.concatenate(([0], cuts, [queries.n_queries])))
    return [
        (slice(int(queries.indptr[a]), int(queries.indptr[b])), queries.part(int(a), int(b)))
        for a, b in pairwise(bounds)
    ]


def ranked_last(queries: Queries, scores: np.ndarray, retrieved: np.ndarray) -> np.ndarray:
    """Return scores with those of documents that were not retrieved below all others of their query."""
    present = np.where(retrieved, scores, scores.dtype.type(np.inf))
    least = np.minimum.reduceat(present, queries.indptr[:-1])
    # Without a retrieved document, all of the query are tied.
    below = np.nextafter(np.where(np.isinf(least), scores.dtype.type(0), least), scores.dtype.type(-np.inf))
    return np.where(retrieved, scores, np.repeat(below, queries.sizes))


def mean_value(
    measure: Measure, queries: Queries, scores: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Return the mean of a measure over queries in the standard convention, for selection and monitoring.

    Ties count with their expected value, and queries where the measure is undefined count 0. The result is
    bitwise the same for any order of rows and of queries.

    Parameters
    ----------
    measure : Measure
    queries : Queries
    scores : ndarray of shape (n_docs,), float32 or float64
        In the inner order, without NaN.
    weights : ndarray of shape (n_queries,), optional
        Not negative, with a positive sum; 1 each by default.

    Returns
    -------
    float
        In [0, 1], larger is better.
    """
    return mean_values([measure], queries, scores, weights)[0]


def mean_values(
    measures: Sequence[Measure],
    queries: Queries,
    scores: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    n_threads: int | None = None,
) -> list[float]:
    """Return the means of several measures over queries; the positions are computed once. See `mean_value`.

    `n_threads` as in `values_of`.
    """
    return [
        weighted_mean(query_values, weights)
        for query_values in values_of(measures, queries, scores, n_threads=n_threads)
    ]


# How many slices of digits are added by vector instructions; the rest is added number by number.
SLICES = 4
LARGEST_SLICED = 2.0**900


def weighted_mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the mean of values; it does not depend on their order."""
    if weights is None:
        return exact_sum(values) / len(values)
    return exact_sum(weights * values) / exact_sum(weights)


def exact_sum(values: np.ndarray) -> float:
    """Return the sum of finite numbers, rounded once, so that their order does not matter."""
    parts, rest = [], values
    largest = float(np.abs(values).max(initial=0.0))
    while largest > 0.0 and len(parts) < SLICES and largest < LARGEST_SLICED:
        # Adding and subtracting a large power of two leaves multiples of its last digit, so few digits that
        # their sum needs no rounding.
        anchor = 1.5 * 2.0 ** (math.frexp(largest)[1] + len(values).bit_length())
        top = (rest + anchor) - anchor
        rest = rest - top
        parts.append(float(top.sum()))
        largest = float(np.abs(rest).max(initial=0.0))
    return math.fsum(parts) if largest == 0.0 else math.fsum([*parts, *rest.tolist()])
