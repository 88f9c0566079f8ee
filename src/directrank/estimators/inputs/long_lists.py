"""Lists that are too long for losses whose cost grows as the square of their length, or faster."""

import numpy as np

from directrank.contracts import Surrogate
from directrank.data.queries import Queries
from directrank.errors import DataError

#: Work for one query in one evaluation of a loss (`Surrogate.work`): about two seconds of one processor.
LARGEST_WORK = 5e8
REMEDY = (
    "use a method whose cost grows as n log n, such as ranksvm, consistent-ndcg, listnet, svmmap or "
    "rankboost; or keep fewer documents of the query, such as the first of an earlier ranking"
)


def refuse_long_lists(
    method: str, surrogate: Surrogate, queries: Queries, weights: np.ndarray | None
) -> None:
    """Raise DataError if a query that trains has so many documents that training would seem to hang."""
    work = surrogate.work(queries) if weights is None else surrogate.work(queries) * (weights > 0)
    if work.max(initial=0.0) <= LARGEST_WORK:
        return
    query = int(np.argmax(work))
    raise DataError(
        f"query {queries.qid[query]} has {queries.sizes[query]:,} documents, too many for {method}: one "
        f"evaluation of its loss takes {work[query]:.0e} steps there, and at most {LARGEST_WORK:.0e} are "
        f"accepted; {REMEDY}"
    )
