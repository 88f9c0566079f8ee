"""BM25, in the form of Lucene: no term has a negative weight."""

import numpy as np

from directrank.text.features.definitions.definition import Definition
from directrank.text.features.matches import Matches

#: Lucene's defaults.
K1, B = 1.2, 0.75
PARAMETERS = {"k1": K1, "b": B}
FORMULA = "Σ log(1 + (N − df + ½) / (df + ½)) · tf / (tf + k1 · (1 − b + b · |d| / mean length))"


def bm25_weights(
    tf: np.ndarray, df: np.ndarray, length: np.ndarray, n_docs: float, mean_length: float, k1: float, b: float
) -> np.ndarray:
    """Return what each match of a term adds to the BM25 of its document."""
    idf = np.log1p((n_docs - df + 0.5) / (df + 0.5))
    return idf * tf / (tf + k1 * (1.0 - b + b * length / mean_length))


def bm25(m: Matches, k1: float = K1, b: float = B) -> np.ndarray:
    """Return BM25 of each pair."""
    return m.sum(bm25_weights(m.tf, m.df, m.length[m.pair], m.n_docs, m.mean_length, k1, b))


BM25 = (
    Definition("bm25", FORMULA, bm25, PARAMETERS),
    Definition("log_bm25", "log(1 + bm25)", lambda m, **given: np.log1p(bm25(m, **given)), PARAMETERS),
)
