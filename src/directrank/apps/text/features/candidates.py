"""Candidate documents of queries: the first of BM25, the judged ones, or both."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from directrank.apps.text.features.definitions import K1, B, bm25_idf, bm25_saturation
from directrank.apps.text.index.folder import WHOLE, Index

DEFAULT = "bm25:200"
RULE = re.compile(r"(?:bm25:([1-9]\d*))?(\+?)(judged)?|run:(.+):([1-9]\d*)")


class CandidateRule(NamedTuple):
    """Which documents are candidates: the union of the first ones of rankings, and of the judged ones."""

    depth: int  # How many first documents of BM25; 0 for none
    judged: bool
    runs: tuple[tuple[str, int], ...] = ()  # Files of scores, and how many first documents of each

    def __str__(self) -> str:
        firsts = [(self.depth, "BM25"), *((depth, path) for path, depth in self.runs)]
        parts = [f"the first {depth} documents of {name}" for depth, name in firsts if depth]
        return " and ".join([*parts, *["the judged documents"] * self.judged])


def parse_rule(text: str) -> CandidateRule:
    """Return the rule of a text: ``bm25:200``, ``run:FILE:200``, ``judged``, or several with commas."""
    depths, judged, runs = [], False, []
    for part in text.split(","):
        match = RULE.fullmatch(part.strip())
        if (
            match is None
            or not match[0]
            or (match[2] == "+") != (match[1] is not None and match[3] is not None)
        ):
            raise ValueError(
                f"candidates {text!r}: expected bm25:200, judged or run:FILE:200, or several with commas"
            )
        depths += [int(match[1])] if match[1] else []
        judged |= match[3] is not None
        runs += [(match[4], int(match[5]))] if match[4] else []
    if len(depths) > 1 or len({path for path, _ in runs}) < len(runs):
        raise ValueError(f"candidates {text!r}: a ranking is given twice")
    return CandidateRule(depths[0] if depths else 0, judged, tuple(runs))


def bm25_top(
    index: Index, terms: np.ndarray, depth: int, k1: float = K1, b: float = B
) -> tuple[np.ndarray, np.ndarray]:
    """Return the documents with the highest BM25 over the whole text, and their scores, best first.

    Documents without a term of the query are never returned. Documents with equal scores are in the order of
    the collection. Terms are as often in `terms` as the query has them.
    """
    postings = index.postings(WHOLE)
    different, copies = np.unique(terms, return_counts=True)
    bounds = zip(postings.indptr[different].tolist(), postings.indptr[different + 1].tolist(), strict=True)
    places = np.concatenate([np.zeros(0, np.int64), *(np.arange(first, last) for first, last in bounds)])
    posting_documents, df = postings.documents[places], postings.df[different]
    saturation = bm25_saturation(
        postings.counts[places], postings.lengths[posting_documents], postings.mean_length, k1, b
    )
    weights = saturation * np.repeat(bm25_idf(df, index.n_docs) * copies, df)
    all_weights = np.bincount(posting_documents, weights, index.n_docs)
    documents = np.flatnonzero(all_weights)
    scores = all_weights[documents]
    if len(scores) > depth:
        # All that may be among the first, with those that tie with the last.
        least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        mask = scores >= least
        documents, scores = documents[mask], scores[mask]
    order = np.lexsort((documents, -scores))[:depth]
    return documents[order].astype(np.int64), scores[order]


class Ranking(NamedTuple):
    """The first documents of a query in a ranking, and their scores."""

    documents: np.ndarray
    scores: np.ndarray


class Candidates(NamedTuple):
    """The candidate documents of a query, and the score of each in every ranking; NaN where it lacks it."""

    documents: np.ndarray
    scores: np.ndarray


def candidates_of(rankings: Sequence[Ranking], judged: np.ndarray) -> Candidates:
    """Return the first documents of rankings together with the judged ones."""
    # In the order of the collection, because that of a ranking would leak the labels into the order of rows.
    documents = np.unique(np.concatenate([judged, *(ranking.documents for ranking in rankings)]))
    scores = np.full((len(documents), len(rankings)), np.nan)
    for column, ranking in enumerate(rankings):
        scores[np.searchsorted(documents, ranking.documents), column] = ranking.scores
    return Candidates(documents, scores)
