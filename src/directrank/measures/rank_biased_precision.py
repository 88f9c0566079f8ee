"""Rank-biased precision."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from directrank.measures.families.definition import RelevantTerms, TwoClasses, parameter, probability
from directrank.measures.families.gain_sum import GainSum, cut_discounts


@dataclass(frozen=True, repr=False)
class RBP(TwoClasses, GainSum):
    r"""Rank-biased precision: relevant documents per document that a reader of persistence p looks at.

    .. math:: (1 - p) \sum_{i : y_i \ge t, \pi_i \le k} p^{\pi_i - 1}

    Parameters
    ----------
    cutoff : int, optional
        k, the last position that counts; all by default.
    rel : float, default=1
        t, the least grade of a relevant document. ``RBP`` of ir_measures without ``rel=`` has graded gains.
    p : float, default=0.8
        The probability that the reader goes on to the next document, above 0 and below 1.

    References
    ----------
    .. [1] A. Moffat, J. Zobel, "Rank-biased precision for measurement of retrieval effectiveness",
       ACM Transactions on Information Systems 27, 2008, Eq. (2).
    """

    aliases: ClassVar = ("rank_biased_precision",)
    meaning: ClassVar = (
        "Rank-biased precision: the share of relevant documents among those that a reader looks at who goes "
        "on to the next document with probability p, 0.8 by default."
    )

    cutoff: int | None = None
    _: KW_ONLY
    p: float = parameter(0.8, probability)

    def discounts(self, n_ranks: int) -> np.ndarray:
        """The share of each rank in what the reader looks at."""
        return (1.0 - self.p) * self.p ** np.arange(n_ranks)

    def relevant_terms(self, sizes: np.ndarray, n_relevant: np.ndarray) -> RelevantTerms:
        """See `TwoClassMeasure`: the sum of the discounts of the relevant documents."""
        return RelevantTerms.of(cut_discounts(self, int(sizes.max(initial=1)))[0], len(sizes), level=1.0)
