"""How much of a ranking was judged."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.families.definition import Definition, expected_among_first, first_of
from directrank.measures.positions import Positions


@dataclass(frozen=True, repr=False)
class Judged(Definition):
    r"""The share of judged documents among the first `cutoff`, or in a shorter list.

    .. math:: \frac{1}{\min(k, n)} |\{i \text{ judged} : \pi_i \le k\}|

    Parameters
    ----------
    cutoff : int, optional
        k, the last position that counts; all by default.

    Notes
    -----
    n is the number of documents that a run holds. As in ir_measures, documents with a grade below 0 in qrels
    count as judged.
    """

    meaning: ClassVar = "The share of documents with a judgment among the first k, or in a shorter list."
    graded: ClassVar = False
    unretrieved: ClassVar = "counted"

    cutoff: int | None = None

    def undefined(self, queries: Queries) -> np.ndarray:
        """No query: judged documents need not be relevant."""
        return np.zeros(queries.n_queries, np.bool_)

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Queries whose documents are all judged, or all not, or all within the cutoff."""
        judged, n = queries.n_pooled, queries.sizes
        return (judged == 0) | (judged == n) | (n <= (self.cutoff or np.inf))

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 without documents."""
        held = np.add.reduceat(positions.above < queries.longest, queries.indptr[:-1], dtype=np.int64)
        last = np.minimum(held, self.cutoff or queries.longest)
        judged = expected_among_first(first_of(queries.n_pooled, queries), last, queries, positions)
        return judged / np.maximum(last, 1)
