"""Synthetic collections whose best ranking function is known."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from directrank.data.grouping import sorted_order
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.kernels.aligned import aligned_zeros

QUERIES_PER_PIECE = 256


@dataclass(frozen=True, eq=False)
class Recipe:
    """Distribution from which documents are drawn.

    The features of a document are independent standard normal. Its utility is ``features @ weights`` plus
    normal noise, and its grade is the number of `thresholds` below the utility. Ranking by
    ``features @ weights`` is the best possible.

    Attributes
    ----------
    weights : ndarray of shape (n_features,), float64
        Of norm 1.
    noise : float
        Standard deviation of the noise.
    thresholds : ndarray of shape (grades - 1,)
        Ascending, in units of utility.
    decimals : int or None
        Decimals to which features are rounded.
    """

    weights: np.ndarray
    noise: float
    thresholds: np.ndarray
    decimals: int | None = None

    def draw(
        self, rng: np.random.Generator, sizes: np.ndarray, X: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw the documents of some queries into the rows of X, in the inner order.

        Returns
        -------
        relevance : ndarray of shape (n_docs,), float64
            In the inner order.
        order : ndarray of shape (n_docs,), int64
            The number of the draw in each row of X.
        """
        drawn = rng.standard_normal(X.shape, dtype=np.float32)
        if self.decimals is not None:
            np.round(drawn, self.decimals, out=drawn)
        utility = np.einsum("ij,j->i", drawn, self.weights) + self.noise * rng.standard_normal(len(X))
        relevance = np.searchsorted(self.thresholds, utility).astype(np.float64)
        order, _ = sorted_order(np.repeat(np.arange(len(sizes)), sizes), relevance, len(sizes))
        np.take(drawn, order, axis=0, out=X)
        return relevance[order], order


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
    random_state=None,
    return_weights: bool = False,
):
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
    >>> groups.n_queries, weights[-1]
    (30, 0.0)
    """
    _check(n_queries, docs_per_query, n_features, uneven, grades, noise, n_useless, n_inverted)
    rng = np.random.default_rng(random_state)
    weights = _weights(rng, n_features, n_useless, n_inverted)
    shares = 0.5 ** np.arange(1, grades)
    recipe = Recipe(weights, noise, thresholds(shares, noise))
    groups = draw_groups(rng, uneven_sizes(rng, n_queries, docs_per_query, uneven), recipe, "synthetic")
    return (groups, weights) if return_weights else groups


def _check(n_queries, docs_per_query, n_features, uneven, grades, noise, n_useless, n_inverted) -> None:
    if n_queries < 1 or docs_per_query < 1:
        raise ValueError("n_queries and docs_per_query must be at least 1")
    if min(n_useless, n_inverted) < 0 or n_useless + n_inverted > n_features or n_useless >= n_features:
        raise ValueError("n_useless and n_inverted must leave at least one of n_features with a weight")
    if grades < 2:
        raise ValueError(f"grades={grades}, expected at least 2")
    if not (uneven >= 0 and noise >= 0):
        raise ValueError("uneven and noise must be 0 or more")


def _weights(rng, n_features: int, n_useless: int, n_inverted: int) -> np.ndarray:
    weights = rng.uniform(0.2, 1.0, n_features)
    n_used = n_features - n_useless
    weights[n_used:] = 0.0
    weights[n_used - n_inverted : n_used] *= -1.0
    return weights / np.linalg.norm(weights)


def thresholds(shares: np.ndarray, noise: float) -> np.ndarray:
    """Return the utilities that cut a normal distribution into grades.

    Parameters
    ----------
    shares : ndarray of shape (grades - 1,)
        The share of documents of grade 0, 1, …; the last grade has the rest.
    noise : float
        Standard deviation of the noise; the utility's own is 1.
    """
    scale = float(np.sqrt(1.0 + noise**2))
    return np.array([scale * NormalDist().inv_cdf(share) for share in np.cumsum(shares)])


def uneven_sizes(rng, n_queries: int, mean: float, spread: float, largest: int | None = None) -> np.ndarray:
    """Draw log-normal sizes of queries with a mean, at least 1, int64 (n_queries,)."""
    sizes = np.rint(mean * np.exp(spread * rng.standard_normal(n_queries) - spread**2 / 2))
    return np.clip(sizes, 1, largest).astype(np.int64)


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
    for start, own in zip(starts, rng.spawn(len(starts)), strict=True):
        yield start, min(start + QUERIES_PER_PIECE, n_queries), own
