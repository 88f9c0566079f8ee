"""Binary preference."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.families.two_classes import TwoClasses
from directrank.measures.positions import Positions


@dataclass(frozen=True, repr=False)
class Bpref(TwoClasses):
    r"""Binary preference: the share of judged irrelevant documents that relevant ones are ranked above.

    .. math:: \frac{1}{R} \sum_{i : y_i \ge t} \left(1 -
        \frac{\min(|\{j \text{ judged} : y_j < t, \pi_j < \pi_i\}|, R)}{\min(N, R)}\right)

    N is the number of judged irrelevant documents, whether a run holds them or not. Documents without a
    judgment have no influence.

    Parameters
    ----------
    rel : float, default=1
        t, the least grade of a relevant document.

    Notes
    -----
    Under random tie-breaking a relevant document has 0, 1, …, c of the c judged irrelevant documents of its
    block before it with equal probability. The definition is that of trec_eval.

    References
    ----------
    .. [1] C. Buckley, E. M. Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004.
    """

    meaning: ClassVar = (
        "Binary preference: the share of judged irrelevant documents that a relevant one is ranked above, "
        "averaged over relevant documents. Documents without a judgment are skipped."
    )
    unretrieved: ClassVar = "beyond"
    over_grades: ClassVar = None

    def n_read(self, queries: Queries) -> np.ndarray:
        """Judged documents come first; the value depends on their positions alone."""
        return queries.n_judged

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Queries whose judged documents are all relevant, or all not."""
        relevant = self.n_relevant(queries)
        return (relevant == 0) | (relevant == queries.n_judged)

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values, at_rank = np.empty(queries.n_queries), np.empty((2, queries.longest + 1), np.int64)
        _bpref(
            positions.above, queries.indptr, self.n_relevant(queries), queries.n_judged, at_rank, values
        )  # fmt: skip
        return values


@kernel
def _bpref(above, indptr, n_relevant, n_judged, at_rank, values):
    # Documents are counted where their block begins, so that the order of rows changes no bit.
    for q in range(len(n_relevant)):
        n, n_rel = indptr[q + 1] - indptr[q], n_relevant[q]
        of_class = at_rank[:, : n + 1]
        of_class[:] = 0
        for i in range(n_judged[q]):
            of_class[0 if i < n_rel else 1, min(above[indptr[q] + i], n)] += 1
        most, before, value = min(n_judged[q] - n_rel, n_rel), 0, 0.0
        for p in range(n):
            relevant, others = of_class[0, p], of_class[1, p]
            if relevant > 0 and most > 0:
                wrong = 0
                for u in range(others + 1):
                    wrong += min(before + u, n_rel)
                value += relevant * (1.0 - wrong / (others + 1.0) / most)
            else:
                value += relevant
            before += others
        values[q] = value / max(n_rel, 1)
