"""Measures of the set of documents that a run holds, whatever their order."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from directrank.data.queries import Queries
from directrank.measures.families.definition import TwoClasses, first_of, grade, parameter
from directrank.measures.positions import Positions


@dataclass(frozen=True, repr=False)
class RetrievedSet(TwoClasses):
    """A function of three counts of a query; where every document is ranked, no ranking changes it."""

    unretrieved: ClassVar = "counted"

    @abstractmethod
    def of_counts(self, hits: np.ndarray, retrieved: np.ndarray, relevant: np.ndarray) -> np.ndarray:
        """Return the value of each query, float64 (n_queries,).

        Of its `relevant` documents, `hits` are among the `retrieved` documents of the run.
        """

    def n_read(self, queries: Queries) -> np.ndarray:
        """All documents: those that a run holds are counted."""
        return queries.sizes

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Every query."""
        return np.ones(queries.n_queries, np.bool_)

    def query_values(self, queries: Queries, positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        retrieved, relevant = positions.above < queries.longest, self.n_relevant(queries)
        hits = queries.count(retrieved & first_of(relevant, queries))
        return self.of_counts(hits, queries.count(retrieved), relevant).astype(float)


@dataclass(frozen=True, repr=False)
class SetP(RetrievedSet):
    r"""Set precision: the relevant share of the documents that a run holds; 0 if it holds none.

    Parameters
    ----------
    rel : float, default=1
        The least grade of a relevant document.
    """

    aliases: ClassVar = ("set_P",)
    meaning: ClassVar = "Set precision: the share of relevant documents among all that the run holds."

    def of_counts(self, hits: np.ndarray, retrieved: np.ndarray, relevant: np.ndarray) -> np.ndarray:
        """Found by held."""
        return hits / np.maximum(retrieved, 1)


@dataclass(frozen=True, repr=False)
class SetR(RetrievedSet):
    r"""Set recall: the share of the relevant documents that a run holds.

    Parameters
    ----------
    rel : float, default=1
        The least grade of a relevant document.
    """

    aliases: ClassVar = ("set_recall",)
    meaning: ClassVar = "Set recall: the share of the relevant documents that the run holds."

    def of_counts(self, hits: np.ndarray, retrieved: np.ndarray, relevant: np.ndarray) -> np.ndarray:
        """Found by relevant."""
        return hits / np.maximum(relevant, 1)


@dataclass(frozen=True, repr=False)
class SetF(RetrievedSet):
    r"""Set F: the weighted harmonic mean of set precision P and set recall R.

    .. math:: \frac{(1 + \beta) P R}{\beta P + R}

    Parameters
    ----------
    rel : float, default=1
        The least grade of a relevant document.
    beta : float, default=1
        β, how much recall counts beside precision: that of trec_eval and ir_measures, not its square root.
    """

    aliases: ClassVar = ("set_F",)
    meaning: ClassVar = "Set F: the harmonic mean of set precision and set recall."

    _: KW_ONLY
    beta: float = parameter(1, grade)

    def of_counts(self, hits: np.ndarray, retrieved: np.ndarray, relevant: np.ndarray) -> np.ndarray:
        """Found by the weighted mean of relevant and held."""
        return (1.0 + self.beta) * hits / np.maximum(self.beta * relevant + retrieved, 1.0)


@dataclass(frozen=True, repr=False)
class SetAP(RetrievedSet):
    r"""Set average precision: set precision times set recall.

    Parameters
    ----------
    rel : float, default=1
        The least grade of a relevant document.
    """

    aliases: ClassVar = ("set_map",)
    meaning: ClassVar = "Set average precision: set precision times set recall."

    def of_counts(self, hits: np.ndarray, retrieved: np.ndarray, relevant: np.ndarray) -> np.ndarray:
        """Found by held, times found by relevant."""
        return hits / np.maximum(retrieved, 1) * (hits / np.maximum(relevant, 1))


@dataclass(frozen=True, repr=False)
class NumRel(RetrievedSet):
    r"""The number of relevant documents of a query.

    Parameters
    ----------
    rel : float, default=1
        The least grade of a relevant document.

    Notes
    -----
    As of every measure, the mean over queries is reported; trec_eval prints the sum.
    """

    aliases: ClassVar = ("num_rel",)
    meaning: ClassVar = "The number of relevant documents of a query, in the mean over queries."
    bounded: ClassVar = False
    neutral: ClassVar = True

    def of_counts(self, hits: np.ndarray, retrieved: np.ndarray, relevant: np.ndarray) -> np.ndarray:
        """All relevant documents."""
        return relevant


@dataclass(frozen=True, repr=False)
class NumRet(RetrievedSet):
    r"""The number of documents that a run holds of a query.

    Parameters
    ----------
    rel : float, optional
        The least grade of a document that is counted, 0 by default: all. ``NumRet(rel=1)`` is trec_eval's
        ``num_rel_ret``.

    Notes
    -----
    As of every measure, the mean over queries is reported; trec_eval prints the sum.
    """

    aliases: ClassVar = ("num_ret", "num_rel_ret", "NumRelRet")
    meaning: ClassVar = (
        "The number of documents that the run holds of a query, or, with rel=1, of relevant ones among them."
    )
    bounded: ClassVar = False
    neutral: ClassVar = True

    _: KW_ONLY
    rel: float = parameter(0, grade)

    def undefined(self, queries: Queries) -> np.ndarray:
        """No query."""
        return np.zeros(queries.n_queries, np.bool_)

    def of_counts(self, hits: np.ndarray, retrieved: np.ndarray, relevant: np.ndarray) -> np.ndarray:
        """Found documents."""
        return hits
