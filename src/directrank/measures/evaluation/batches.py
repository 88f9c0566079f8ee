"""Values of measures on many queries, batch by batch, on threads."""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.errors import MethodError
from directrank.features.shards import map_in_order, processors
from directrank.measures.naming.names import is_own
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
    is none of directrank's raises an error, or returns anything but a number a query.
    """
    batches = queries.cached("batches", lambda: _batches(queries))

    def evaluated(batch: tuple[slice, Queries]) -> list[np.ndarray]:
        rows, some = batch
        held = None if retrieved is None else retrieved[rows]
        n_read = reduce(np.maximum, (each.n_read(some) for each in measures), np.zeros_like(some.sizes))
        positions = positions_of(some, scores[rows], ties=ties, n_read=n_read, retrieved=held)
        if held is None:
            return [_query_values(measure, some, positions) for measure in measures]
        beyond = with_unretrieved(positions, held, np.int32(some.longest))
        of_runs = {
            "last": positions,
            "beyond": beyond,
            "counted": beyond,
            "infinite": with_unretrieved(positions, held, np.inf),
        }
        return [_query_values(measure, some, of_runs[measure.unretrieved]) for measure in measures]

    results = map_in_order(evaluated, batches, n_threads or _threads(queries, len(measures), ties))
    return [np.concatenate(each) for each in zip(*results, strict=True)]


def _query_values(measure: Measure, queries: Queries, positions: Positions) -> np.ndarray:
    """Return the values of a measure; those of one that is none of directrank's are checked."""
    if not is_own(measure):
        return measure.query_values(queries, positions)
    try:
        values = np.asarray(measure.query_values(queries, positions), dtype=np.float64)
    except Exception as error:  # whatever code of a user raises
        raise MethodError(f"the measure {measure.name} failed: {type(error).__name__}: {error}") from error
    if values.shape != (queries.n_queries,):
        raise MethodError(
            f"the measure {measure.name} returned an array of shape {values.shape}, "
            f"expected ({queries.n_queries},): one value a query"
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
