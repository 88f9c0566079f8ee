"""R-precision: the precision at the number of relevant documents."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.exchange.tables import filled_table, gain_swaps
from directrank.measures.families.definition import expected_among_first, first_of
from directrank.measures.families.two_classes import TwoClasses
from directrank.measures.positions import Positions


@dataclass(frozen=True, repr=False)
class Rprec(TwoClasses):
    r"""R-precision: the share of relevant documents among the first R, where R documents are relevant.

    .. math:: \frac{1}{R} |\{i : y_i \ge t,\; \pi_i \le R\}|

    Parameters
    ----------
    rel : float, default=1
        t, the least grade of a relevant document.
    """

    aliases: ClassVar = ("r_precision", "RPrecision")
    meaning: ClassVar = "R-precision: the share of relevant documents among the first R, if R are relevant."
    unretrieved: ClassVar = "beyond"

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        relevant = self.n_relevant(queries)
        hits = expected_among_first(first_of(relevant, queries), relevant, queries, positions)
        return hits / np.maximum(relevant, 1)

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        relevant = self.n_relevant(queries)
        inside = first_of(relevant, queries)
        gain = inside / np.repeat(np.maximum(relevant, 1.0), queries.sizes)
        return filled_table(queries, rank, gain_swaps, gain, inside.astype(np.float64))
