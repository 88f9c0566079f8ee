"""Which documents are relevant, for measures that know only two classes."""

from typing import Any

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.capabilities import RelevantTerms


def n_relevant(queries: Queries, rel: float) -> np.ndarray:
    """Count the documents of each query with relevance `rel` or more, int64 (n_queries,).

    They are the first documents of the query.
    """
    return queries.once(("at least", rel), lambda: queries.count_at_least(rel))


def one_class(queries: Queries, rel: float) -> np.ndarray:
    """Say which queries have only relevant or only irrelevant documents, bool (n_queries,)."""
    relevant = n_relevant(queries, rel)
    return (relevant == 0) | (relevant == queries.sizes)


def longest(queries: Queries) -> int:
    """Return the largest number of documents of a query."""
    return queries.once("longest", lambda: int(queries.sizes.max(initial=0)))


def terms(
    curve: np.ndarray, *, level: Any = 0.0, growth: Any = 0.0, first: Any = 0.0, n_queries: int
) -> RelevantTerms:
    """Return the terms of a measure; numbers stand for all queries, `curve` begins at position 1."""
    whole = np.concatenate(([0.0], curve))
    return RelevantTerms(whole, *(np.array(np.broadcast_to(x, n_queries)) for x in (level, growth, first)))


def reciprocals(sizes: np.ndarray, cutoff: int | None) -> np.ndarray:
    """Return 1/p for each position p up to the largest size, 0 beyond the cutoff."""
    places = np.arange(1.0, int(sizes.max(initial=1)) + 1)
    return np.where(places <= (cutoff or np.inf), 1.0 / places, 0.0)
