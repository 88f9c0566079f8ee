"""Which documents are relevant, for measures that know only two classes."""

import numpy as np

from directrank.data.queries import Queries


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
    return int(queries.sizes.max(initial=0))
