"""Pairs of documents of different relevance within a query: how many, and what each weighs."""

import numpy as np

from directrank.data.queries import Queries

PAIR_WEIGHTS = ("uniform", "per_query")


def check_pairs(pairs: str) -> None:
    """Refuse a weighting of pairs that does not exist."""
    if pairs not in PAIR_WEIGHTS:
        raise ValueError(f"pairs must be 'uniform' or 'per_query', not {pairs!r}")


def one_grade(queries: Queries) -> np.ndarray:
    """Queries whose documents all have one grade, bool (n_queries,)."""
    first, last = queries.indptr[:-1], queries.indptr[1:] - 1
    return queries.relevance[first] == queries.relevance[last]


def pair_counts(queries: Queries) -> np.ndarray:
    """Return the number of pairs of different relevance of each query, float64 (n_queries,)."""
    return queries.once("pairs of different relevance", lambda: _pair_counts(queries))


def _pair_counts(queries: Queries) -> np.ndarray:
    relevance, indptr = queries.relevance, queries.indptr
    starts = np.ones(queries.n_docs, bool)
    starts[1:] = relevance[1:] != relevance[:-1]
    starts[indptr[:-1][queries.sizes > 0]] = True
    first = np.flatnonzero(starts)
    tied = np.diff(np.append(first, queries.n_docs)).astype(float)
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)[first]
    same = np.bincount(query, tied**2, minlength=queries.n_queries)
    return (queries.sizes.astype(float) ** 2 - same) / 2.0


def pair_weights(queries: Queries, weights: np.ndarray, pairs: str) -> tuple[np.ndarray, float]:
    """Return what each pair of a query weighs, float64 (n_queries,), and the number of pairs that count."""
    counts = np.where(weights > 0, pair_counts(queries), 0.0)
    if pairs == "uniform":
        return np.where(counts > 0, weights, 0.0), float(counts.sum())
    return np.divide(weights, counts, out=np.zeros_like(counts), where=counts > 0), float(counts.sum())
