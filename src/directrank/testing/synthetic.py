"""Synthetic collections whose best ranking function is known."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, overload

import numpy as np

from directrank.data.grouping import sorted_order
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.kernels.aligned import aligned_zeros

QUERIES_PER_PIECE = 256


@dataclass(frozen=True, eq=False)
class Recipe:
    """Distribution from which documents are drawn.

    A document's features are independent, of mean 0 and variance 1; its utility is ``features @ weights``
    plus normal noise; its grade says between which of `thresholds` the utility lies. Each query then adds an
    offset to each feature of its documents, and multiplies all features by a factor. Neither changes the
    order within the query, so ranking by ``features @ weights`` is the best that can be done.
    """

    weights: np.ndarray  # (n_features,), float64: Of norm 1
    noise: float  # Standard deviation of the noise
    thresholds: np.ndarray  # (grades - 1,): Ascending, in units of utility
    decimals: int | None = None  # Features are rounded to so many decimals, before offsets and factors
    # (n_features,) or None: Standard deviation over queries of the offset of each feature
    offsets: np.ndarray | None = None
    spread: float = 0.0  # Standard deviation over queries of the logarithm of the factor
    # Degrees of freedom of Student's t distribution of the features; None is the normal distribution
    tail: float | None = None

    def draw(
        self, rng: np.random.Generator, sizes: np.ndarray, X: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw the documents of some queries into the rows of X, in the inner order.

        Returned are the relevance in this order, and the number of the draw in each row of X.
        """
        query = np.repeat(np.arange(len(sizes)), sizes)
        drawn = rng.standard_normal(X.shape, dtype=np.float32)
        if self.tail is not None:
            drawn *= np.sqrt((self.tail - 2.0) / rng.chisquare(self.tail, X.shape)).astype(np.float32)
        if self.decimals is not None:
            np.round(drawn, self.decimals, out=drawn)
        utility = np.einsum("ij,j->i", drawn, self.weights) + self.noise * rng.standard_normal(len(X))
        relevance = np.searchsorted(self.thresholds, utility).astype(np.float64)
        order, _ = sorted_order(query, relevance, len(sizes))
        if self.offsets is not None:
            drawn += (self.offsets * rng.standard_normal((len(sizes), len(self.offsets))))[query]
        if self.spread:
            drawn *= np.exp(self.spread * rng.standard_normal(len(sizes)))[query, None]
        np.take(drawn, order, axis=0, out=X)
        return relevance[order], order


@overload
def make_ranking(
    n_queries: int = ..., docs_per_query: float = ..., n_features: int = ..., *,
    uneven: float = ..., grades: int = ..., noise: float = ..., n_useless: int = ..., n_inverted: int = ...,
    query_offset: float = ..., query_spread: float = ..., tail: float | None = ...,
    random_state: int | np.random.Generator | None = ..., return_weights: Literal[False] = ...,
) -> QueryGroups: ...  # fmt: skip


@overload
def make_ranking(
    n_queries: int = ..., docs_per_query: float = ..., n_features: int = ..., *,
    uneven: float = ..., grades: int = ..., noise: float = ..., n_useless: int = ..., n_inverted: int = ...,
    query_offset: float = ..., query_spread: float = ..., tail: float | None = ...,
    random_state: int | np.random.Generator | None = ..., return_weights: Literal[True],
) -> tuple[QueryGroups, np.ndarray]: ...  # fmt: skip


def make_ranking(
    n_queries: int = 100,
    docs_per_query: float = 20,
    n_features: int = 10,
    *,
    uneven: float = 0.5,
    grades: int = 5,
    noise: float = 0.5,
    n_useless: int = 0,
    n_inverted: int = 0,
    query_offset: float = 0.0,
    query_spread: float = 0.0,
    tail: float | None = None,
    random_state: int | np.random.Generator | None = None,
    return_weights: bool = False,
) -> QueryGroups | tuple[QueryGroups, np.ndarray]:
    """Draw a collection whose best ranking function is a known linear one.

    Parameters
    ----------
    n_queries : int, default=100
    docs_per_query : float, default=20
        The mean number of documents of a query.
    n_features : int, default=10
        Number of features, including useless and inverted ones.
    uneven : float, default=0.5
        Standard deviation of the logarithm of a query's size; 0 makes all sizes equal.
    grades : int, default=5
        Grades are 0 to grades - 1. About half of the documents have grade 0, and each further grade is half
        as frequent as the one before.
    noise : float, default=0.5
        Standard deviation of the noise on the utility, whose own is 1. With 0 the best ranking is perfect.
    n_useless : int, default=0
        Features without weight.
    n_inverted : int, default=0
        Features with a negative weight.
    query_offset : float, default=0.0
        Scale of the offsets that queries add to features, so that features are comparable only within a
        query. The standard deviation over queries is drawn for each feature from an exponential distribution
        with this mean; that of the features within a query is 1.
    query_spread : float, default=0.0
        Standard deviation over queries of the logarithm of a factor by which a query multiplies its features.
    tail : float, optional
        Degrees of freedom, more than 2, of Student's t distribution, scaled to variance 1, from which
        features are drawn: the smaller, the heavier the tails. By default features are normal.
    random_state : int, Generator or None
    return_weights : bool, default=False
        Whether to return the weights, too.

    Returns
    -------
    groups : QueryGroups
    weights : ndarray of shape (n_features,), float64
        Only with `return_weights`: ``groups.X @ weights`` ranks best. Useful features come first, then
        inverted ones, then useless ones.

    Examples
    --------
    >>> groups, weights = make_ranking(30, 10, 4, n_useless=1, random_state=0, return_weights=True)
    >>> groups.n_queries, float(weights[-1])
    (30, 0.0)
    """
    _check(n_queries, docs_per_query, n_features, grades, n_useless, n_inverted, tail)
    for name, value in (
        ("uneven", uneven), ("noise", noise), ("query_offset", query_offset), ("query_spread", query_spread),
    ):  # fmt: skip
        if not value >= 0:
            raise ValueError(f"{name} must be 0 or more")
    rng = np.random.default_rng(random_state)
    weights = _weights(rng, n_features, n_useless, n_inverted)
    shares = 0.5 ** np.arange(1, grades)
    offsets = rng.exponential(query_offset, n_features) if query_offset else None
    recipe = Recipe(weights, noise, thresholds(shares, noise), None, offsets, query_spread, tail)
    groups = draw_groups(rng, uneven_sizes(rng, n_queries, docs_per_query, uneven), recipe, "synthetic")
    return (groups, weights) if return_weights else groups


def _check(n_queries, docs_per_query, n_features, grades, n_useless, n_inverted, tail) -> None:
    if n_queries < 1 or docs_per_query < 1:
        raise ValueError("n_queries and docs_per_query must be at least 1")
    if min(n_useless, n_inverted) < 0 or n_useless + n_inverted > n_features or n_useless >= n_features:
        raise ValueError("n_useless and n_inverted must leave at least one of n_features with a weight")
    if grades < 2:
        raise ValueError(f"grades={grades}, expected at least 2")
    if tail is not None and not tail > 2:
        raise ValueError(f"tail={tail}, expected more than 2, or none")


def _weights(rng, n_features: int, n_useless: int, n_inverted: int) -> np.ndarray:
    weights = rng.uniform(0.2, 1.0, n_features)
    n_used = n_features - n_useless
    weights[n_used:] = 0.0
    weights[n_used - n_inverted : n_used] *= -1.0
    return weights / np.linalg.norm(weights)


def thresholds(shares: np.ndarray, noise: float) -> np.ndarray:
    """Return the utilities that cut a normal distribution into grades.

    The last grade has the rest of the `shares`; `noise` is the standard deviation of the noise; the utility's
    own is 1.
    """
    scale = float(np.sqrt(1.0 + noise**2))
    return np.array([scale * NormalDist().inv_cdf(share) for share in np.cumsum(shares)])


def uneven_sizes(rng, n_queries: int, mean: float, spread: float) -> np.ndarray:
    """Draw log-normal sizes of queries with a mean, at least 1, int64 (n_queries,)."""
    sizes = np.rint(mean * np.exp(spread * rng.standard_normal(n_queries) - spread**2 / 2))
    return np.maximum(sizes, 1).astype(np.int64)


def draw_groups(rng, sizes: np.ndarray, recipe: Recipe, name: str) -> QueryGroups:
    """Draw queries piece by piece into one X, which is never copied."""
    indptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    X = aligned_zeros((int(indptr[-1]), len(recipe.weights)), np.float32)
    relevance, row = np.empty(len(X)), np.empty(len(X), np.int64)
    for start, stop, piece in pieces(rng, len(sizes)):
        docs = slice(indptr[start], indptr[stop])
        relevance[docs], row[docs] = recipe.draw(piece, sizes[start:stop], X[docs])
        row[docs] += indptr[start]
    queries = Queries(relevance, indptr, row, np.arange(1, len(sizes) + 1))
    return QueryGroups.from_inner(X, queries, name=name)


def pieces(rng, n_queries: int):
    """Cut queries into pieces; yield the range of each, with its own generator."""
    starts = range(0, n_queries, QUERIES_PER_PIECE)
    for start, generator in zip(starts, rng.spawn(len(starts)), strict=True):
        yield start, min(start + QUERIES_PER_PIECE, n_queries), generator
