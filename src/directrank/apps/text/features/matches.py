"""Where the terms of queries are in one field of their candidates, and the features computed from this.

Places in the order of the text are looked up only for the features that need them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from directrank.apps.text.index.folder import BODY, TITLE, WHOLE, Forward, Index, Postings
from directrank.errors import DataError

#: Pairs times terms that are looked at together; their arrays stay in the processor's cache.
BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class QueryTerms:
    """The different terms of some queries."""

    # (n_query_terms,), int64: Each query, ascending, with each of its terms, and how often it has the term
    query: np.ndarray
    term: np.ndarray
    copies: np.ndarray


def query_terms(terms: list[np.ndarray]) -> QueryTerms:
    """Return the different terms of queries, from the terms of each as often as it has them."""
    different = [np.unique(of_query, return_counts=True) for of_query in terms]
    sizes = np.array([len(unique) for unique, _ in different], np.int64)
    term, copies = (
        np.concatenate([np.zeros(0, np.int64), *columns]).astype(np.int64)
        for columns in zip(*different, strict=True)
    )
    query = np.repeat(np.arange(len(sizes)), sizes)
    return QueryTerms(query, term, copies)


class MatchedPostings(NamedTuple):
    """Rows of `QueryTerms`, ascending, pairs whose documents have the term, and the postings of both."""

    row: np.ndarray
    pair: np.ndarray
    posting: np.ndarray


def every_pair(wanted: QueryTerms, n_candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of `wanted`, ascending, and the pairs of their queries, to look for each term in each."""
    sizes = n_candidates[wanted.query]
    first_pair, first = (np.cumsum(n_candidates) - n_candidates)[wanted.query], np.cumsum(sizes) - sizes
    row = np.repeat(np.arange(len(sizes)), sizes)
    return row, np.arange(len(row)) + np.repeat(first_pair - first, sizes)


def look_up(
    postings: Postings, wanted: QueryTerms, row: np.ndarray, pair: np.ndarray, pair_document: np.ndarray
) -> MatchedPostings:
    """Look for terms, as rows of `wanted`, in the documents of pairs."""
    sizes = np.bincount(row, minlength=len(wanted.term))
    ends, documents = np.cumsum(sizes), pair_document.astype(np.int32)[pair]
    first, last = postings.indptr[wanted.term], postings.indptr[wanted.term + 1]
    bounds = (column.tolist() for column in (first, last, ends - sizes, ends))
    places = [
        postings.documents[a:b].searchsorted(documents[c:d]) for a, b, c, d in zip(*bounds, strict=True)
    ]
    place = np.concatenate([np.zeros(0, np.int64), *places]) + np.repeat(first, sizes)
    # A place may be after the last posting of its term.
    inside = np.flatnonzero(place < np.repeat(last, sizes))
    hit = inside[postings.documents[place[inside]] == documents[inside]]
    return MatchedPostings(row[hit], pair[hit], place[hit])


@dataclass(frozen=True, eq=False)
class Positions:
    """Every place of a term of a query in its candidates, pair after pair, in the order of the text."""

    # Of each place, int64: its pair, the number of terms of the field before it, which of the different terms
    # of its query it is, from 0, and the same as a row of the terms of all queries
    pair: np.ndarray
    place: np.ndarray
    number: np.ndarray
    term: np.ndarray
    # Rows of two terms that stand side by side in a query, as ``first * n_terms + second``, ascending, and
    # how often they do
    neighbours: np.ndarray
    times: np.ndarray
    n_terms: int

    def times_in_query(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return how often the query has the term `second` right after `first`."""
        keys = first * self.n_terms + second
        if not len(self.neighbours):
            return np.zeros(len(keys), np.int64)
        place = np.minimum(self.neighbours.searchsorted(keys), len(self.neighbours) - 1)
        return np.where(self.neighbours[place] == keys, self.times[place], 0)


@dataclass(frozen=True, eq=False)
class Matches:
    """The terms of queries in one field of candidate documents.

    A *pair* is a query and a candidate document, a *match* a term of its query that the document has.

    Attributes
    ----------
    pair : ndarray of shape (n_matches,), int64
        The pair of each match.
    tf : ndarray of shape (n_matches,), float64
        How often the document has the term.
    copies : ndarray of shape (n_matches,), float64
        How often the query has the term.
    term : ndarray of shape (n_matches,), int64
        The row of the term in `term_df` and `term_cf`.
    term_df, term_cf : ndarray of shape (n_query_terms,), float64
        Of each term of each query the number of documents with it, and how often the collection has it.
    length, different : ndarray of shape (n_pairs,), float64
        The number of terms of the document, and of different ones.
    query_length : ndarray of shape (n_pairs,), float64
        The number of terms of the query that the collection has in this field.
    query_terms : ndarray of shape (n_pairs,), float64
        The number of different ones.
    background : ndarray of shape (n_pairs,), float64
        Σ log(cf / collection_length) over the terms of the query.
    idf_of_query : ndarray of shape (n_pairs,), float64
        Σ log(n_docs / df) over the different terms of the query.
    n_docs, collection_length, mean_length : float
        The number of documents, of all their terms, and of their terms on average.
    find_positions : callable
        Finds `positions` when they are needed.
    """

    pair: np.ndarray
    tf: np.ndarray
    copies: np.ndarray
    term: np.ndarray
    term_df: np.ndarray
    term_cf: np.ndarray
    length: np.ndarray
    different: np.ndarray
    query_length: np.ndarray
    query_terms: np.ndarray
    background: np.ndarray
    idf_of_query: np.ndarray
    n_docs: float
    collection_length: float
    mean_length: float
    find_positions: Callable[[], Positions]

    @cached_property
    def positions(self) -> Positions:
        """Where in the field the terms of the query are."""
        return self.find_positions()

    def of_terms(self, values: np.ndarray) -> np.ndarray:
        """Return the value of the term of each match, from one for each term of each query."""
        return values[self.term]

    @cached_property
    def df(self) -> np.ndarray:
        """The number of documents with the term, of each match."""
        return self.of_terms(self.term_df)

    @cached_property
    def cf(self) -> np.ndarray:
        """How often the collection has the term, of each match."""
        return self.of_terms(self.term_cf)

    @cached_property
    def term_idf(self) -> np.ndarray:
        """log(n_docs / df) of each term of each query; 0 for a term that no document has."""
        return np.log(self.n_docs / np.maximum(self.term_df, 1.0)) * (self.term_df > 0)

    @cached_property
    def term_icf(self) -> np.ndarray:
        """collection_length / cf of each term of each query."""
        return self.collection_length / np.maximum(self.term_cf, 1.0)

    @cached_property
    def idf(self) -> np.ndarray:
        """log(n_docs / df) of each match."""
        return self.of_terms(self.term_idf)

    @cached_property
    def share(self) -> np.ndarray:
        """The share of the document that the term makes, tf / length, of each match."""
        return self.tf / self.length[self.pair]

    @cached_property
    def icf(self) -> np.ndarray:
        """collection_length / cf of each match."""
        return self.of_terms(self.term_icf)

    @cached_property
    def _has_copies(self) -> bool:
        return bool((self.copies != 1.0).any())

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over the terms of the query, each as often as the query has it, for each pair."""
        return self.plain_sum(values * self.copies if self._has_copies else values)

    def plain_sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over the different terms of the query, for each pair."""
        return np.bincount(self.pair, values, len(self.length))


def find_matches(
    postings: Postings,
    wanted: QueryTerms,
    matched: MatchedPostings,
    n_candidates: np.ndarray,
    pair_document: np.ndarray,
    find_positions: Callable[[], Positions],
) -> Matches:
    """Return the matches of pairs, query after query, from what was looked up in the postings of a field."""
    n_docs, total = len(postings.lengths), max(postings.total, 1)
    df, cf = postings.df[wanted.term], postings.occurrences[wanted.term]
    pair_query = np.repeat(np.arange(len(n_candidates)), n_candidates)
    occurring = cf > 0
    copies = wanted.copies[occurring].astype(np.float64)

    def of_query(values: np.ndarray) -> np.ndarray:
        """Return the sum over the terms of the query that the field of the collection has, of each pair."""
        return np.bincount(wanted.query[occurring], values, len(n_candidates))[pair_query]

    return Matches(
        pair=matched.pair,
        tf=postings.counts[matched.posting].astype(np.float64),
        copies=wanted.copies[matched.row].astype(np.float64),
        term=matched.row,
        term_df=df.astype(np.float64),
        term_cf=cf.astype(np.float64),
        length=postings.lengths[pair_document].astype(np.float64),
        different=postings.different[pair_document].astype(np.float64),
        query_length=of_query(copies),
        query_terms=of_query(np.ones(len(copies))),
        background=of_query(copies * np.log(cf[occurring] / total)),
        idf_of_query=of_query(np.log(n_docs / df[occurring])),
        n_docs=float(n_docs),
        collection_length=float(total),
        mean_length=postings.mean_length,
        find_positions=find_positions,
    )


def find_positions(
    forward: Forward, field: str, terms: list[np.ndarray], n_candidates: np.ndarray, documents: np.ndarray
) -> Positions:
    """Return the places of the terms of queries, in their order, in the documents of the pairs of each."""
    parts, first_term, first_pair = [np.zeros((4, 0), np.int64)], 0, 0
    different = [np.unique(of_query, return_inverse=True) for of_query in terms]
    n_terms = sum(len(unique) for unique, _ in different)
    keys = [np.zeros(0, np.int64)]
    for (own_terms, numbers), size in zip(different, n_candidates.tolist(), strict=True):
        pair, place, number = _of_query(forward, field, own_terms, documents[first_pair : first_pair + size])
        parts.append(np.stack([pair + first_pair, place, number, number + first_term]))
        rows = numbers + first_term
        keys.append(rows[:-1] * n_terms + rows[1:])
        first_term, first_pair = first_term + len(own_terms), first_pair + size
    neighbours, times = np.unique(np.concatenate(keys), return_counts=True)
    pair, place, number, term = np.concatenate(parts, axis=1)
    return Positions(pair, place, number, term, neighbours, times, n_terms)


def _of_query(
    forward: Forward, field: str, terms: np.ndarray, documents: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pair, place and number of term of each place in the candidates of a query; `terms` ascend."""
    starts, titles = forward.starts[documents], forward.title_lengths[documents]
    sizes = titles if field == TITLE else forward.starts[documents + 1] - starts
    if field == BODY:
        starts, sizes = starts + titles, sizes - titles
    pair = np.repeat(np.arange(len(documents)), sizes)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    tokens = forward.terms[place + starts[pair]]
    number = terms.astype(tokens.dtype).searchsorted(tokens)
    inside = np.flatnonzero(number < len(terms))
    hit = inside[terms[number[inside]] == tokens[inside]]
    return pair[hit], place[hit], number[hit]


class Feature(NamedTuple):
    """A feature: its name, its field, and the function from `Matches` to a value for each pair."""

    name: str
    field: str
    compute: Callable[[Matches], np.ndarray]


def feature_matrix(
    index: Index, terms: Sequence[np.ndarray], documents: Sequence[np.ndarray], features: Sequence[Feature]
) -> np.ndarray:
    """Return the features of all pairs, float32 of shape (n_pairs, n_features), query after query.

    Each query has the terms that it has, as often as it has them, and its candidate documents. Raises
    DataError if a custom feature has another shape, or is infinite.
    """
    ends = np.concatenate([[0], np.cumsum([len(candidates) for candidates in documents], dtype=np.int64)])
    out = np.empty((ends[-1], len(features)), np.float32)
    fields = list(dict.fromkeys(feature.field for feature in features))
    for first, last in _blocks(terms, documents):
        asked = list(terms[first:last])
        wanted = query_terms(asked)
        sizes = np.diff(ends[first : last + 1])
        document = np.concatenate([np.zeros(0, np.int64), *documents[first:last]]).astype(np.int64)
        rows = out[ends[first] : ends[last]]
        frequencies = look_up(index.postings(WHOLE), wanted, *every_pair(wanted, sizes), document)
        for field in fields:
            postings = index.postings(field)
            # A part of a document has no term that the whole has not.
            matched = (
                frequencies
                if field == WHOLE
                else look_up(postings, wanted, frequencies.row, frequencies.pair, document)
            )
            positions = partial(find_positions, index.forward, field, asked, sizes, document)
            matches = find_matches(postings, wanted, matched, sizes, document, positions)
            for column, feature in enumerate(features):
                if feature.field == field:
                    rows[:, column] = _checked(feature, feature.compute(matches), len(document))
    return out


def _blocks(terms: Sequence[np.ndarray], documents: Sequence[np.ndarray]) -> Iterator[tuple[int, int]]:
    """Yield first and last query, exclusive, of blocks of bounded work."""
    first, work = 0, 0
    for query, (own_terms, own_documents) in enumerate(zip(terms, documents, strict=True)):
        more = len(own_terms) * len(own_documents)
        if query > first and work + more > BLOCK:
            yield first, query
            first, work = query, 0
        work += more
    if first < len(terms):
        yield first, len(terms)


def _checked(feature: Feature, values: np.ndarray, n_pairs: int) -> np.ndarray:
    values = np.asarray(values, np.float64)
    if values.shape != (n_pairs,):
        raise DataError(
            f"feature {feature.name}: has shape {values.shape}, expected ({n_pairs},): one per pair"
        )
    if np.isinf(values).any():
        raise DataError(f"feature {feature.name}: is infinite for a pair; expected finite numbers or NaN")
    return values
