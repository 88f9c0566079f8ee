"""Gains of grades and discounts of ranks, as DCG, nDCG and MeanNDCG have them."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.measures.families.definition import Definition
from directrank.measures.naming import grammar

MAX_EXPONENTIAL_GRADE = 31
# D(p) = 1 / log2(max(p + shift, 2)); the shift of each named discount.
SHIFTS = {"log2": 1.0, "letor": 0.0}
# What ``dcg=`` says in a name: gain and discount.
DCG_WORDS = {
    "exp-log2": ("exponential", "log2"),
    "log2": ("linear", "log2"),
    "exp-letor": ("exponential", "letor"),
    "letor": ("linear", "letor"),
}


def gains_of(queries: Queries, gain: str) -> np.ndarray:
    """Return the gain of each document, float64 (n_docs,).

    Raises DataError if a grade is above 31 and the gain is exponential.
    """
    if gain == "linear":
        return queries.relevance
    if queries.max_relevance > MAX_EXPONENTIAL_GRADE:
        raise DataError(
            f"relevance {queries.max_relevance:g} is too large for the gain 2^y - 1 (at most "
            f"{MAX_EXPONENTIAL_GRADE}); use the linear gain, nDCG(dcg='log2'), as the measure or as "
            "select_by, or smaller grades"
        )
    return queries.cached("exponential gain", lambda: np.exp2(queries.relevance) - 1.0)


def discounts_of(n_ranks: int, discount: str) -> np.ndarray:
    """Return the discounts of ranks 1 to `n_ranks`, float64."""
    return 1.0 / np.log2(np.maximum(np.arange(1.0, n_ranks + 1) + SHIFTS[discount], 2.0))


@dataclass(frozen=True, repr=False)
class GradedGains(Definition):
    """A measure with a gain for each grade and a discount for each rank, ``dcg=`` in names."""

    _: KW_ONLY
    gain: str = "exponential"
    discount: str = "log2"

    def __post_init__(self) -> None:
        super().__post_init__()
        grammar.one_of("exponential", "linear")("gain", self.gain)
        grammar.one_of(*SHIFTS)("discount", self.discount)

    @classmethod
    def readers(cls) -> dict[str, Callable[[str], dict[str, Any]]]:
        """Return, by word, what turns a parameter written in a name into arguments of the constructor."""
        return {"dcg": _gain_and_discount}

    def printed(self) -> dict[str, Any]:
        """Return the gain and discount in the words of ``dcg=``, unless they are the default."""
        words = next(words for words, pair in DCG_WORDS.items() if pair == (self.gain, self.discount))
        return {} if words == "exp-log2" else {"dcg": words}

    def with_dcg(self, words: str) -> Self:
        """Return the measure with another gain and discount, in the words of ``dcg=``."""
        return replace(self, **_gain_and_discount(words))

    def n_read(self, queries: Queries) -> np.ndarray:
        """Documents with a gain come first; the value depends on their positions alone."""
        return queries.n_positive


def _gain_and_discount(words: str) -> dict[str, Any]:
    gain, discount = DCG_WORDS[grammar.one_of(*DCG_WORDS)("dcg", words)]
    return {"gain": gain, "discount": discount}
