"""Candidate documents of queries: the first of BM25, the judged ones, or both."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from directrank.text.features.definitions import K1, B, bm25_idf, bm25_saturation
from directrank.text.index.opening import WHOLE, Index

DEFAULT = "bm25:200"
RULE = re.compile(r"(?:bm25:(\d+))?(\+?)(judged)?")


class CandidateRule(NamedTuple):
    """Which documents are candidates: the first `depth` of BM25, and the judged ones if `judged`."""

    depth: int
    judged: bool

    def __str__(self) -> str:
        found = f"the first {self.depth} documents of BM25" if self.depth else ""
        return " and ".join(filter(None, (found, "the judged documents" if self.judged else "")))


def parse_rule(text: str) -> CandidateRule:
    """Return the rule of a text: ``bm25:200``, ``judged`` or ``bm25:200+judged``.

    Raises
    ------
    ValueError
        If it is something else.
    """
    match = RULE.fullmatch(text.replace(" ", ""))
    parts = 0 if match is None else (match[1] is not None) + (match[3] is not None)
    if match is None or parts == 0 or (match[2] == "+") != (parts == 2) or match[1] == "0":
        raise ValueError(f"candidates {text!r}: expected bm25:200, judged or bm25:200+judged")
    return CandidateRule(int(match[1] or 0), match[3] is not None)


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
    found, df = postings.documents[places], postings.df[different]
    saturation = bm25_saturation(
        postings.counts[places], postings.lengths[found], postings.mean_length, k1, b
    )
    weights = saturation * np.repeat(bm25_idf(df, index.n_docs) * copies, df)
    whole = np.bincount(found, weights, index.n_docs)
    documents = np.flatnonzero(whole)
    scores = whole[documents]
    if len(scores) > depth:
        # All that may be among the first, with those that tie with the last.
        least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        kept = scores >= least
        documents, scores = documents[kept], scores[kept]
    order = np.lexsort((documents, -scores))[:depth]
    return documents[order].astype(np.int64), scores[order]


def candidates(
    index: Index, terms: Sequence[np.ndarray], judged: Sequence[np.ndarray], rule: CandidateRule
) -> list[np.ndarray]:
    """Return the candidate documents of each query, from its terms and its judged documents."""
    found = []
    for own_terms, own_judged in zip(terms, judged, strict=True):
        first = bm25_top(index, own_terms, rule.depth)[0] if rule.depth else np.zeros(0, np.int64)
        # In the order of the collection, because that of BM25 would leak the labels into the order of rows.
        found.append(np.union1d(first, own_judged) if rule.judged else np.sort(first))
    return found
