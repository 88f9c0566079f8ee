"""Measures of real labels, such as expected clicks of logs: linear in labels. A bundled plug-in."""

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from directrank.contracts import KernelPlugin
from directrank.data.queries import Queries
from directrank.measures import DCG
from directrank.measures.families.definition import cached_by_queries, first_of, parameter, probability
from directrank.measures.families.gain_sum import GainSum
from directrank.measures.families.smooth import Smooth


class LabelSum(GainSum):
    r"""A sum of labels, each weighted by the rank of its document.

    .. math:: \sum_{i : \pi_i \le k} y_i \, D(\pi_i)

    Training reads gains of 0 or more: where a query has a label below 0 its least is taken from all of its
    labels, which takes the same from the value of every ranking.
    """

    takes_real: ClassVar = True
    bounded: ClassVar = False

    @cached_by_queries
    def gains(self, queries: Queries) -> np.ndarray:
        """Labels, less the least of the query where that is below 0."""
        least = np.minimum(queries.relevance[queries.indptr[1:] - 1], 0.0)
        return queries.relevance - np.repeat(least, queries.sizes)

    @cached_by_queries
    def n_read(self, queries: Queries) -> np.ndarray:
        """The documents with a label, or all where one is below 0."""
        least = queries.relevance[queries.indptr[1:] - 1]
        return np.where(least < 0, queries.sizes, queries.n_positive)

    @cached_by_queries
    def read_gains(self, queries: Queries) -> np.ndarray:
        """The labels of the documents that are read."""
        return queries.relevance[first_of(self.n_read(queries), queries)]


@dataclass(frozen=True, repr=False)
class ClickDCG(LabelSum, Smooth):
    r"""Discounted cumulative gain of real labels, such as clicks over propensities.

    .. math:: \sum_{i : \pi_i \le k} \frac{y_i}{\log_2(1 + \pi_i)}

    Parameters
    ----------
    cutoff : int, optional
        k, the last position that counts; all by default.

    References
    ----------
    .. [1] A. Agarwal, K. Takatsu, I. Zaitsev, T. Joachims, "A general framework for counterfactual
       learning-to-rank", SIGIR 2019.
    """

    meaning: ClassVar = (
        "Sum of real labels, discounted by rank; labels may be below 0. Of clicks over propensities it "
        "estimates the DCG of the probability to be clicked if examined."
    )

    cutoff: int | None = None

    def discounts(self, n_ranks: int) -> np.ndarray:
        """1 / log2(1 + rank)."""
        return DCG().discounts(n_ranks)

    def smooth_form(self, queries: Queries, truncation: float) -> KernelPlugin:
        """See `Smooth`: as of DCG."""
        form = DCG(self.cutoff, gain="linear").smooth_form(queries, truncation)
        return form._replace(gain=self.gains(queries))

    position_form = smooth_form


@dataclass(frozen=True, repr=False)
class ClickP(LabelSum):
    r"""The mean of the real labels at the first positions.

    .. math:: \frac{1}{k} \sum_{i : \pi_i \le k} y_i

    Parameters
    ----------
    cutoff : int
        k, the last position that counts.
    """

    meaning: ClassVar = "The mean of the real labels of the first documents. Labels may be below 0."

    cutoff: int = field()

    def discounts(self, n_ranks: int) -> np.ndarray:
        """1/k at each rank."""
        return np.full(n_ranks, 1.0 / self.cutoff)


@dataclass(frozen=True, repr=False)
class ClickRBP(LabelSum):
    r"""Rank-biased precision of real labels.

    .. math:: (1 - p) \sum_{i : \pi_i \le k} y_i \, p^{\pi_i - 1}

    Parameters
    ----------
    cutoff : int, optional
        k, the last position that counts; all by default.
    p : float, default=0.8
        The probability that the reader goes on to the next document, above 0 and below 1.
    """

    meaning: ClassVar = (
        "Rank-biased precision of real labels: the gain of a reader, a document, who goes on to the next "
        "one with probability p, 0.8 by default. Labels may be below 0."
    )

    cutoff: int | None = None
    _: KW_ONLY
    p: float = parameter(0.8, probability)

    def discounts(self, n_ranks: int) -> np.ndarray:
        """The share of each rank in what the reader looks at."""
        return (1.0 - self.p) * self.p ** np.arange(n_ranks)


PLUGINS = (ClickDCG, ClickP, ClickRBP)
