"""Where in a field of their candidates the terms of queries are, in the order of the text."""

from dataclasses import dataclass

import numpy as np

from directrank.text.index.fields import field_bounds
from directrank.text.index.inversion import Forward


@dataclass(frozen=True, eq=False)
class Positions:
    """Every place of a term of a query in its candidates, pair after pair, in the order of the text.

    Attributes
    ----------
    pair : ndarray of shape (n_places,), int64
        The pair of a query and a candidate document.
    place : ndarray of shape (n_places,), int64
        The number of terms of the field before this one.
    number : ndarray of shape (n_places,), int64
        Which of the different terms of its query it is, from 0.
    term : ndarray of shape (n_places,), int64
        The same as a row of the terms of all queries.
    neighbours, times : ndarray of shape (n_neighbours,), int64
        Rows of two terms that stand side by side in a query, as ``first * n_terms + second``, ascending, and
        how often they do.
    n_terms : int
        The number of rows.
    """

    pair: np.ndarray
    place: np.ndarray
    number: np.ndarray
    term: np.ndarray
    neighbours: np.ndarray
    times: np.ndarray
    n_terms: int

    def times_in_query(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return how often the query has the term `second` right after `first`."""
        keys = first * self.n_terms + second
        if not len(self.neighbours):
            return np.zeros(len(keys), np.int64)
        found = np.minimum(self.neighbours.searchsorted(keys), len(self.neighbours) - 1)
        return np.where(self.neighbours[found] == keys, self.times[found], 0)


def find_positions(
    forward: Forward, field: str, terms: list[np.ndarray], n_candidates: np.ndarray, documents: np.ndarray
) -> Positions:
    """Return the places of the terms of queries.

    Parameters
    ----------
    forward : Forward
    field : str
    terms : list of ndarray of int
        The terms of each query in their order, as often as it has them.
    n_candidates : ndarray of shape (n_queries,), int64
        The number of pairs of each query.
    documents : ndarray of shape (n_pairs,), int64
        The document of each pair, query after query.
    """
    parts, first_term, first_pair = [np.zeros((4, 0), np.int64)], 0, 0
    different = [np.unique(each, return_inverse=True) for each in terms]
    n_terms = sum(len(each) for each, _ in different)
    keys = [np.zeros(0, np.int64)]
    for (own, numbers), size in zip(different, n_candidates.tolist(), strict=True):
        pair, place, number = _of_query(forward, field, own, documents[first_pair : first_pair + size])
        parts.append(np.stack([pair + first_pair, place, number, number + first_term]))
        rows = numbers + first_term
        keys.append(rows[:-1] * n_terms + rows[1:])
        first_term, first_pair = first_term + len(own), first_pair + size
    neighbours, times = np.unique(np.concatenate(keys), return_counts=True)
    pair, place, number, term = np.concatenate(parts, axis=1)
    return Positions(pair, place, number, term, neighbours, times, n_terms)


def _of_query(
    forward: Forward, field: str, terms: np.ndarray, documents: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pair, place and number of term of each place in the candidates of a query; `terms` ascend."""
    starts, sizes = field_bounds(
        field, forward.starts[documents], forward.starts[documents + 1], forward.title_lengths[documents]
    )
    pair = np.repeat(np.arange(len(documents)), sizes)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    tokens = forward.terms[place + starts[pair]]
    number = terms.astype(tokens.dtype).searchsorted(tokens)
    inside = np.flatnonzero(number < len(terms))
    hit = inside[terms[number[inside]] == tokens[inside]]
    return pair[hit], place[hit], number[hit]
