"""Language models: the logarithm of the probability that the document's model generates the query.

Zhai and Lafferty (2004), with p(t | C) = cf / |C|. Each is the sum of log p(t | d) over the terms t of the
query. A term that the document lacks has the probability of the collection times a factor of the document. So
the sum is that of the collection, plus the logarithm of the factor for each term, plus corrections at the
matches. A document without a term has the probabilities of the collection.
"""

import numpy as np

from directrank.text.features.definitions.definition import Definition
from directrank.text.features.matches import Matches


def _with_factor(m: Matches, factor: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return Σ log p(t | d), p being factor · p(t | C), times ``1 + seen`` at the matches."""
    return m.background + m.query_length * np.log(factor) + m.sum(np.log1p(seen))


def _in_collection(m: Matches) -> np.ndarray:
    return m.cf / m.collection_length


def absolute(m: Matches, delta: float = 0.7) -> np.ndarray:
    """Return the model with absolute discounting: (max(tf − δ, 0) + δ · different · p(t | C)) / |d|."""
    factor = np.where(m.length > 0, delta * m.different / np.maximum(m.length, 1.0), 1.0)
    seen = np.maximum(m.tf - delta, 0.0) / (delta * m.different[m.pair] * _in_collection(m))
    return _with_factor(m, factor, seen)


def dirichlet(m: Matches, mu: float = 2000.0) -> np.ndarray:
    """Return the model with Dirichlet smoothing: (tf + μ · p(t | C)) / (|d| + μ)."""
    return _with_factor(m, mu / (m.length + mu), m.tf / (mu * _in_collection(m)))


def jelinek_mercer(m: Matches, weight: float = 0.1) -> np.ndarray:
    """Return the model with Jelinek-Mercer smoothing: (1 − λ) · tf / |d| + λ · p(t | C)."""
    factor = np.where(m.length > 0, weight, 1.0)
    return _with_factor(m, factor, (1.0 - weight) * m.share / (weight * _in_collection(m)))


LANGUAGE_MODELS = (
    Definition(
        "lm_absolute",
        "Σ log(max(tf − δ, 0) / |d| + δ · different / |d| · cf / |C|)",
        absolute,
        {"delta": 0.7},
    ),
    Definition("lm_dirichlet", "Σ log((tf + μ · cf / |C|) / (|d| + μ))", dirichlet, {"mu": 2000.0}),
    Definition(
        "lm_jelinek_mercer", "Σ log((1 − λ) · tf / |d| + λ · cf / |C|)", jelinek_mercer, {"weight": 0.1}
    ),
)
