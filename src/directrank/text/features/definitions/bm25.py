"""BM25, in the form of Lucene: no term has a negative weight."""

import numpy as np

from directrank.text.features.definitions.definition import Definition
from directrank.text.features.matches import Matches

#: Lucene's defaults.
K1, B = 1.2, 0.75
PARAMETERS = {"k1": K1, "b": B}
FORMULA = "Σ log(1 + (N − df + ½) / (df + ½)) · tf / (tf + k1 · (1 − b + b · |d| / mean length))"


def bm25_idf(df: np.ndarray, n_docs: float) -> np.ndarray:
    """Return the weight of terms with these numbers of documents."""
    return np.log1p((n_docs - df + 0.5) / (df + 0.5))


def bm25_saturation(
    tf: np.ndarray, length: np.ndarray, mean_length: float, k1: float, b: float
) -> np.ndarray:
    """Return the share of its weight that a term gets from each document, between 0 and 1."""
    return tf / (tf + k1 * (1.0 - b + b / mean_length * length))


def bm25(m: Matches, k1: float = K1, b: float = B) -> np.ndarray:
    """Return BM25 of each pair."""
    saturation = bm25_saturation(m.tf, m.length[m.pair], m.mean_length, k1, b)
    return m.sum(m.of_terms(bm25_idf(m.term_df, m.n_docs)) * saturation)


BM25 = (
    Definition("bm25", FORMULA, bm25, PARAMETERS),
    Definition("log_bm25", "log(1 + bm25)", lambda m, **given: np.log1p(bm25(m, **given)), PARAMETERS),
)
