"""Recall at a cutoff."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrank.measures.families.hits import Hits


@dataclass(frozen=True, repr=False)
class R(Hits):
    r"""Recall: the share of the relevant documents that is among the first `cutoff`.

    .. math:: \frac{1}{R} |\{i : y_i \ge t,\; \pi_i \le k\}|

    Parameters
    ----------
    cutoff : int
        k, the last position that counts.
    rel : float, default=1
        t, the least grade of a relevant document.
    """

    aliases: ClassVar = ("recall",)
    meaning: ClassVar = "Recall: the share of the relevant documents that is among the first k."

    def divisor(self, sizes: np.ndarray, n_relevant: np.ndarray) -> np.ndarray:
        """R, the number of relevant documents."""
        return np.maximum(n_relevant, 1.0)
