"""Scores and vectors that others computed, such as those of a cross-encoder, as features."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrank.apps.text.collections import tables
from directrank.apps.text.collections.records import CollectionOptions, Faults
from directrank.apps.text.collections.tables import Vectors, called, read_vectors
from directrank.apps.text.features.candidates import Ranking
from directrank.apps.text.index.folder import Index
from directrank.errors import DataError
from directrank.files.forms import RUN, TRIPLES, form_of
from directrank.files.runs import DOCUMENT, QUERY, read_run

COSINE = "cosine"
NO_SCORE = "candidates have no score"


def outside_scores(
    source: object, name: str, qids: Sequence[str], docids: Sequence[Sequence[str]], faults: Faults
) -> np.ndarray:
    """Return the score of every pair, float32 (n_pairs,); pairs without one are NaN, and counted.

    The source is a TREC run, or a table or data frame of qid, docid and score; `docids` are the names of the
    candidates of each query. Raises DataError if it cannot be read, or has no score of any candidate.
    """
    scores = dict(_scores(source))
    values = [
        scores.get((qid, docid), np.nan)
        for qid, candidates in zip(qids, docids, strict=True)
        for docid in candidates
    ]
    return _counted(np.array(values, np.float32), str(source), name, qids, docids, faults)


def first_of_run(
    source: str, depth: int, qids: Sequence[str], index: Index, faults: Faults
) -> dict[str, Ranking]:
    """Return the first documents of each query in a TREC run or a table of scores.

    Documents with equal scores are in the order of the collection; those that the index lacks are counted.
    Raises DataError if the source cannot be read, or has no document of any of these queries.
    """
    scored: dict[str, list[tuple[float, int]]] = {qid: [] for qid in qids}
    for (qid, docid), score in _scores(source):
        place = index.ids.find(docid) if qid in scored else 0
        if place < 0:
            faults.add(f"documents of {source} are not in the index", docid)
        elif qid in scored:
            scored[qid].append((-score, place))
    if not any(scored.values()):
        raise DataError(
            f"{source}: has no document of a query; its names of queries and documents are others"
        )
    firsts = {qid: sorted(pairs)[:depth] for qid, pairs in scored.items()}
    return {
        qid: Ranking(np.array([d for _, d in pairs], np.int64), np.array([-s for s, _ in pairs]))
        for qid, pairs in firsts.items()
    }


class Embeddings:
    """Inner products of queries with the documents of an index, by their vectors.

    The source is vectors of documents; vectors of queries by their text, or a function from a list of texts
    to one vector per text; and "cosine" if wanted. Raises DataError if no document of the index has a vector.
    """

    def __init__(self, source: Sequence[object], name: str, docids: Iterable[str]):
        of_documents, self._queries, self._cosine = _parts(source, name)
        documents = read_vectors(of_documents, "docid", set(docids), CollectionOptions(), Faults())
        if not documents.rows:
            raise DataError(f"embeddings {name}: no document of the index has a vector")
        self._name, self._documents = name, _of_length_one(documents) if self._cosine else documents

    def products(self, query: str, docids: Sequence[str]) -> np.ndarray:
        """Return the inner product of a query with each document, float64; NaN without a vector.

        Raises DataError if the query has no vector, or one of another length.
        """
        if callable(self._queries):
            values = np.asarray(self._queries([query]), np.float64)
            vectors = Vectors({query: 0}, values)
        else:
            vectors = read_vectors(self._queries, "text", {query}, CollectionOptions(), Faults())
            values = vectors.values
        if not len(values):
            raise DataError(
                f"embeddings {self._name}: {called(self._queries)} has no vector of the text {query!r}"
            )
        if values.shape != (1, self._documents.values.shape[1]) or not np.isfinite(values).all():
            raise DataError(
                f"embeddings {self._name}: the vector of the query has shape {values.shape}, or numbers "
                f"that are not finite; expected (1, {self._documents.values.shape[1]})"
            )
        vectors = _of_length_one(vectors) if self._cosine else vectors
        return _products(self._documents, vectors, query, docids)


def _counted(
    values: np.ndarray,
    where: str,
    name: str,
    qids: Sequence[str],
    docids: Sequence[Sequence[str]],
    faults: Faults,
) -> np.ndarray:
    """Return the values of all pairs of a feature, after missing ones were counted; refuse it if all are."""
    missing = np.isnan(values)
    if missing.all():
        raise DataError(
            f"{where}: has no score of a candidate; its names of queries and documents are others"
        )
    pairs = [f"{qid} {docid}" for qid, candidates in zip(qids, docids, strict=True) for docid in candidates]
    for row in np.flatnonzero(missing):
        faults.add(f"{NO_SCORE} of {name} (a missing value)", pairs[row])
    return values


def _scores(source: object):
    """Yield pairs of names, and their scores."""
    source = Path(source) if isinstance(source, (str, os.PathLike)) else source
    if isinstance(source, Path) and not tables.names_table(source) and form_of(source) in (RUN, TRIPLES):
        run = read_run(source)
        for row, score in enumerate(run.scores.tolist()):
            yield (run.rows.text(row, QUERY), run.rows.text(row, DOCUMENT)), score
        return
    for judgement in tables.judgements(source, CollectionOptions(), Faults()):
        yield (judgement.qid, judgement.docid), judgement.grade


def embedding_scores(
    source: Sequence[object],
    name: str,
    qids: Sequence[str],
    docids: Sequence[Sequence[str]],
    options: CollectionOptions,
    faults: Faults,
) -> np.ndarray:
    """Return the inner product of every pair, float32 (n_pairs,); pairs without one are NaN, and counted.

    The source is vectors of documents and of queries, as `read_vectors` takes them, and "cosine" if wanted.
    Raises DataError if a table cannot be read, or no candidate has an inner product.
    """
    of_documents, of_queries, cosine = _parts(source, name)
    every = {docid for candidates in docids for docid in candidates}
    documents = read_vectors(of_documents, "docid", every, options, faults)
    queries = read_vectors(of_queries, "qid", set(qids), options, faults)
    if documents.rows and queries.rows and documents.values.shape[1] != queries.values.shape[1]:
        raise DataError(
            f"embeddings {name}: vectors of documents have {documents.values.shape[1]} numbers, "
            f"those of queries {queries.values.shape[1]}"
        )
    if cosine:
        documents, queries = _of_length_one(documents), _of_length_one(queries)
    values = [
        _products(documents, queries, *query_and_docids)
        for query_and_docids in zip(qids, docids, strict=True)
    ]
    return _counted(
        np.concatenate(values).astype(np.float32), f"embeddings {name}", name, qids, docids, faults
    )


def _parts(source: Sequence[object], name: str) -> tuple[Any, Any, bool]:
    if isinstance(source, str) or len(source) not in (2, 3) or list(source[2:]) not in ([], [COSINE]):
        raise ValueError(
            f"embeddings {name}: expected vectors of documents, vectors of queries and, if wanted, {COSINE}"
        )
    documents, queries = (
        Path(vectors) if isinstance(vectors, (str, os.PathLike)) else vectors for vectors in source[:2]
    )
    return documents, queries, len(source) == 3


def _of_length_one(vectors: Vectors) -> Vectors:
    """Return vectors of length 1; those of length 0 stay."""
    values = vectors.values.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    return vectors._replace(values=values / np.where(lengths > 0, lengths, 1.0)[:, None])


def _products(documents: Vectors, queries: Vectors, qid: str, docids: Sequence[str]) -> np.ndarray:
    """Return the inner products of a query; NaN without a vector."""
    products = np.full(len(docids), np.nan)
    rows = np.array([documents.rows.get(docid, -1) for docid in docids], np.int64)
    has_vector = rows >= 0
    if qid in queries.rows and has_vector.any():
        query = queries.values[queries.rows[qid]].astype(np.float64)
        # Not by BLAS, whose sums depend on the number of threads.
        products[has_vector] = np.einsum(
            "ij,j->i", documents.values[rows[has_vector]].astype(np.float64), query
        )
    return products
