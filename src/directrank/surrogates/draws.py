"""Random numbers for the documents of queries, the same however queries and rows are ordered and divided."""

import numpy as np

from directrank.data.queries import Queries

#: Scores of a query that are this near, as a share of its largest, are tied. Rounding, which differs with the
#: order of rows, grows to some millionths of them in the runs of a solver.
ROUNDING = 2.0**-12

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


class Draws:
    """Uniform numbers in (0, 1), one for each document, from a seed.

    A number is a function of the seed, of how many draws were made before, of the relevance of the query's
    documents, and of the rank of the document. Threads, shards and the order of rows change nothing. Only
    their rows tell documents of one score and one relevance apart: average over them. Sums in another order
    round otherwise, so tie scores that are as near as `ROUNDING`.

    References
    ----------
    .. [1] G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014:
       the mixing function, SplitMix.
    """

    def __init__(self, queries: Queries, seed: int):
        self.seed, self.made = seed, 0
        grades = _mixed(queries.relevance.view(np.uint64) + queries.place.astype(np.uint64) * _STEP)
        self._of_query = np.repeat(np.add.reduceat(grades, queries.indptr[:-1]), queries.sizes)

    def uniform(self, rank: np.ndarray) -> np.ndarray:
        """Return the next numbers, float64 (n_docs,), from the rank of each document in its query."""
        key = _mixed(np.array([self.seed], np.uint64) * _STEP + np.uint64(self.made))
        bits = _mixed(_mixed(self._of_query ^ key) + rank.astype(np.uint64) * _STEP)
        self.made += 1
        return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def descending(queries: Queries, scores: np.ndarray) -> np.ndarray:
    """Return rows, query by query, by descending score; tied ones in any order.

    NumPy sorts numbers faster than it sorts by two keys, and small whole numbers in linear time.
    """
    order = np.argsort(-scores)
    query = queries.query[order].astype(np.min_scalar_type(queries.n_queries))
    return order[np.argsort(query, kind="stable")]


def _mixed(x: np.ndarray) -> np.ndarray:
    """Return 64 bits that look independent for different inputs."""
    x = x ^ (x >> _SHIFTS[0])
    x *= _FACTORS[0]
    x ^= x >> _SHIFTS[1]
    x *= _FACTORS[1]
    x ^= x >> _SHIFTS[2]
    return x
