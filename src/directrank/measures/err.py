"""Expected reciprocal rank, plain and divided by its largest possible value."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.measures.exchange import err_swaps, filled_table
from directrank.measures.families.definition import (
    best_values,
    cached_by_queries,
    grade,
    parameter,
    reciprocals,
)
from directrank.measures.families.stopping import Stopping, add_stops
from directrank.measures.positions import Positions


@dataclass(frozen=True, repr=False)
class ERR(Stopping):
    r"""Expected reciprocal rank of the document at which a user, reading from the top, stops.

    .. math:: \sum_{p \le k} \frac{1}{p} \, r_p \prod_{j < p} (1 - r_j),
        \qquad r_p = \frac{2^{y_p} - 1}{2^{y_\max}}

    Parameters
    ----------
    cutoff : int, optional
        k, the last position that counts; all by default.
    max_grade : float, optional
        The largest grade of the data set, ``max=`` in names. It has no default: `evaluate` takes the largest
        grade that it is given or finds in the data, and prints it. It is never that of one query.

    Notes
    -----
    Under random tie-breaking the share of users who pass the first t documents of a tied block is the mean
    product of 1 − r over its subsets of t documents.

    References
    ----------
    .. [1] O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan, "Expected reciprocal rank for graded relevance",
       CIKM 2009.
    """

    meaning: ClassVar = (
        "Expected reciprocal rank: the mean of 1/rank of the document that satisfies a reader who goes down "
        "the list."
    )

    over_grades: ClassVar = "rises"

    cutoff: int | None = None
    _: KW_ONLY
    max_grade: float | None = parameter(None, grade, word="max")

    def with_largest_grade(self, grade: float) -> "ERR":
        """Return the measure with this largest grade, unless it has one."""
        return self if self.max_grade else replace(self, max_grade=grade if grade > 0 else 1)

    def n_read(self, queries: Queries) -> np.ndarray:
        """No user stops at a document of grade 0; the value depends on the positions of the others."""
        return queries.n_positive

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values, n_ranks = np.zeros(queries.n_queries), queries.longest
        add_stops(
            self.stopping(queries), positions.above, positions.tied, queries.indptr, queries.n_positive,
            min(self.cutoff or n_ranks, n_ranks), np.arange(1.0, n_ranks + 1), values,
        )  # fmt: skip
        return values

    def swap_differences(self, queries: Queries, rank: np.ndarray) -> np.ndarray:
        """See `Swappable`."""
        reciprocal = np.append(0.0, reciprocals(queries.longest, self.cutoff))
        stopping, norm = self.stopping(queries), self.norm(queries)
        return filled_table(queries, rank, err_swaps, stopping, reciprocal, norm)

    def stopping(self, queries: Queries) -> np.ndarray:
        """The probability to stop at each document; DataError if the largest grade is unknown or exceeded."""
        g = self.max_grade
        if g is None:
            raise DataError(
                f"{self.name} needs the largest grade of the data set: write {self.bare_name}(max=4)"
            )
        if queries.max_relevance > g:
            raise DataError(f"relevance {queries.max_relevance:g} exceeds the largest grade of {self.name}")
        return queries.cached(("stopping", g), lambda: np.exp2(queries.relevance - g) - np.exp2(-float(g)))


class NERR(ERR):
    """ERR divided by the ERR of the best ranking, in [0, 1].

    Parameters
    ----------
    cutoff : int, optional
        The last position that counts, here and in the ideal; all by default.
    max_grade : float, optional
        The largest grade of the data set; see `ERR`.
    """

    bare_name: ClassVar = "nERR"
    meaning: ClassVar = "Expected reciprocal rank, divided by that of the best possible ranking."
    over_grades: ClassVar = None

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        return np.minimum(super().query_values(queries, positions) / self.norm(queries), 1.0)

    @cached_by_queries
    def norm(self, queries: Queries) -> np.ndarray:
        """The ERR of the best ranking of each query; 1 where the query is undefined."""
        return best_values(ERR(self.cutoff, max_grade=self.max_grade), queries)
