"""Measures of incomplete judgments: binary preference, inferred AP, the share that was judged, residuals."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.kernels.compile import inline_kernel, kernel
from directrank.measures.families.definition import (
    Definition,
    TwoClasses,
    expected_among_first,
    first_of,
    parameter,
    probability,
)
from directrank.measures.families.gain_sum import GainSum
from directrank.measures.positions import Positions
from directrank.measures.rank_biased_precision import RBP


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
        _bpref(positions.above, queries.indptr, self.n_relevant(queries), queries.n_judged, at_rank, values)
        return values


@kernel
def _bpref(above, indptr, n_relevant, n_judged, at_rank, values):
    # Documents are counted where their block begins, so that the order of rows changes no bit.
    for q in range(len(n_relevant)):
        n, n_rel = indptr[q + 1] - indptr[q], n_relevant[q]
        classes = at_rank[:, : n + 1]
        classes[:] = 0
        for i in range(n_judged[q]):
            classes[0 if i < n_rel else 1, min(above[indptr[q] + i], n)] += 1
        most, before, value = min(n_judged[q] - n_rel, n_rel), 0, 0.0
        for p in range(n):
            relevant, irrelevant = classes[0, p], classes[1, p]
            if relevant > 0 and most > 0:
                wrong = 0
                for u in range(irrelevant + 1):
                    wrong += min(before + u, n_rel)
                value += relevant * (1.0 - wrong / (irrelevant + 1.0) / most)
            else:
                value += relevant
            before += irrelevant
        values[q] = value / max(n_rel, 1)


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
    neutral: ClassVar = True
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
        retrieved = np.add.reduceat(positions.above < queries.longest, queries.indptr[:-1], dtype=np.int64)
        last = np.minimum(retrieved, self.cutoff or queries.longest)
        judged = expected_among_first(first_of(queries.n_pooled, queries), last, queries, positions)
        return judged / np.maximum(last, 1)


#: What trec_eval adds to counts, so that a precision is defined without judged documents.
EPSILON = 0.00001


@dataclass(frozen=True, repr=False)
class InfAP(TwoClasses):
    r"""Inferred average precision: AP estimated from judgments of a random part of a pool.

    .. math:: \frac{1}{R} \sum_{i : y_i \ge t} \frac{1}{\pi_i} \left(1 + (r_i + n_i + u_i)
        \frac{r_i + \varepsilon}{r_i + n_i + 2 \varepsilon}\right)

    Above document i there are :math:`r_i` relevant, :math:`n_i` judged irrelevant, and :math:`u_i` documents
    that were pooled and not judged: those with a grade below 0 in qrels. ε is 0.00001.

    Parameters
    ----------
    rel : float, default=1
        t, the least grade of a relevant document.

    Notes
    -----
    The definition is that of trec_eval. Under random tie-breaking, a relevant document takes each of the m
    ranks of its block with equal probability. The number of judged documents of the block before it is then
    hypergeometric. Given that number, r and u are independent, and the term is linear in both. A block with j
    judged documents costs O(m j).

    References
    ----------
    .. [1] E. Yilmaz, J. A. Aslam, "Estimating average precision with incomplete and imperfect judgments",
       CIKM 2006.
    """

    bare_name: ClassVar = "infAP"
    aliases: ClassVar = ("inferred_average_precision",)
    meaning: ClassVar = (
        "Inferred average precision: AP where only a random part of the pool was judged; documents that were "
        "pooled and not judged count as relevant as often as judged ones above the same rank."
    )
    unretrieved: ClassVar = "beyond"
    over_grades: ClassVar = None

    def n_read(self, queries: Queries) -> np.ndarray:
        """Pooled documents come first; the value depends on their positions alone."""
        return queries.n_pooled

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        values, at_rank = np.empty(queries.n_queries), np.empty((4, queries.longest + 1), np.int64)
        _inferred(
            positions.above, positions.tied, queries.indptr, self.n_relevant(queries), queries.n_judged,
            queries.n_pooled, at_rank, np.empty(queries.longest + 1), values,
        )  # fmt: skip
        return np.minimum(values, 1.0)


@kernel
def _inferred(above, tied, indptr, n_relevant, n_judged, n_pooled, at_rank, chance, values):
    # Documents are counted where their block begins, so that the order of rows changes no bit.
    for q in range(len(n_relevant)):
        n = indptr[q + 1] - indptr[q]
        classes = at_rank[:, : n + 1]
        classes[:] = 0
        for i in range(n_pooled[q]):
            row = indptr[q] + i
            p = min(above[row], n)
            classes[0 if i < n_relevant[q] else 1 if i < n_judged[q] else 2, p] += 1
            classes[3, p] = tied[row]
        relevant, irrelevant, unjudged, value = 0, 0, 0, 0.0
        for p in range(n):
            r, c, u = classes[0, p], classes[1, p], classes[2, p]
            if r > 0:
                value += r * _in_block(p, classes[3, p], r - 1, c, u, relevant, irrelevant, unjudged, chance)
            relevant, irrelevant, unjudged = relevant + r, irrelevant + c, unjudged + u
        values[q] = value / max(n_relevant[q], 1)


@inline_kernel
def _in_block(p, m, r, c, u, relevant, irrelevant, unjudged, chance):
    """Return the expected term of a relevant document tied with m − 1 others: r, c and u of each class."""
    judged = r + c
    rest = m - 1 - judged
    total = 0.0
    # The chance that s of the t documents of the block before it are judged, t from 0 to m − 1.
    for s in range(judged + 1):
        chance[s] = 0.0
    chance[0] = 1.0
    for t in range(m):
        inner = 0.0
        for s in range(min(t, judged) + 1):
            hits = relevant + (s * r / judged if judged > 0 else 0.0)
            seen = relevant + irrelevant + s
            pooled = seen + unjudged + ((t - s) * u / rest if rest > 0 else 0.0)
            inner += chance[s] * pooled * (hits + EPSILON) / (seen + 2.0 * EPSILON)
        total += (1.0 + inner) / (p + t + 1.0)
        remaining = m - 1 - t
        for s in range(min(t + 1, judged) if remaining > 0 else -1, -1, -1):
            chance[s] *= max(remaining - judged + s, 0) / remaining
            if s > 0:
                chance[s] += chance[s - 1] * (judged - s + 1) / remaining
    return total / m


@dataclass(frozen=True, repr=False)
class RBPResidual(GainSum):
    r"""Residual of rank-biased precision: what RBP could gain if all that is not judged were relevant.

    .. math:: 1 - (1 - p) \sum_{i \text{ judged} : \pi_i \le k} p^{\pi_i - 1}

    Parameters
    ----------
    cutoff : int, optional
        k, the last position that counts; all by default.
    p : float, default=0.8
        The probability that the reader goes on to the next document, above 0 and below 1.

    Notes
    -----
    The ranks after the last document of a list are not judged. With k, documents beyond it are not either.

    References
    ----------
    .. [1] A. Moffat, J. Zobel, "Rank-biased precision for measurement of retrieval effectiveness",
       ACM Transactions on Information Systems 27, 2008, section 3.
    """

    meaning: ClassVar = (
        "What RBP could gain if all documents without a judgment, and all after the end of the list, were "
        "relevant. Smaller is better."
    )
    graded: ClassVar = False
    unretrieved: ClassVar = "counted"

    cutoff: int | None = None
    _: KW_ONLY
    p: float = parameter(0.8, probability)

    discounts = RBP.discounts

    @property
    def is_error(self) -> bool:
        """Reports print the residual, which is smaller where more is judged."""
        return True

    def gains(self, queries: Queries) -> np.ndarray:
        """1 for judged documents."""
        return first_of(queries.n_judged, queries).astype(np.float64)

    def undefined(self, queries: Queries) -> np.ndarray:
        """No query: judged documents need not be relevant."""
        return np.zeros(queries.n_queries, np.bool_)
