"""Inner products of vectors that others computed for documents and queries, as a feature."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrank.errors import DataError
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.records import Faults
from directrank.text.collections.vectors import Vectors, read_vectors
from directrank.text.features.outside import counted

COSINE = "cosine"


def embedding_scores(
    source: Sequence[Any],
    name: str,
    qids: Sequence[str],
    docids: Sequence[Sequence[str]],
    options: CollectionOptions,
    faults: Faults,
) -> np.ndarray:
    """Return the inner product of every pair, float32 (n_pairs,); pairs without one are NaN, and counted.

    Parameters
    ----------
    source : sequence of two paths or data frames, and "cosine" if wanted
        Vectors of documents and of queries, as `read_vectors` takes them.
    name : str
        The name of the feature.
    qids : sequence of str
    docids : sequence of sequence of str
        The names of the candidates of each query.
    options : CollectionOptions
    faults : Faults

    Raises
    ------
    DataError
        If a table cannot be read, or no candidate has an inner product.
    ValueError
        If `source` is something else.
    """
    of_documents, of_queries, cosine = _parts(source, name)
    every = {docid for own in docids for docid in own}
    documents = read_vectors(of_documents, "docid", every, options, faults)
    queries = read_vectors(of_queries, "qid", set(qids), options, faults)
    if documents.rows and queries.rows and documents.values.shape[1] != queries.values.shape[1]:
        raise DataError(
            f"embeddings {name}: vectors of documents have {documents.values.shape[1]} numbers, "
            f"those of queries {queries.values.shape[1]}"
        )
    if cosine:
        documents, queries = _of_length_one(documents), _of_length_one(queries)
    values = [_products(documents, queries, *each) for each in zip(qids, docids, strict=True)]
    return counted(
        np.concatenate(values).astype(np.float32), f"embeddings {name}", name, qids, docids, faults
    )


def _parts(source: Sequence[Any], name: str) -> tuple[Any, Any, bool]:
    if isinstance(source, str) or len(source) not in (2, 3) or list(source[2:]) not in ([], [COSINE]):
        raise ValueError(
            f"embeddings {name}: expected vectors of documents, vectors of queries and, if wanted, {COSINE}"
        )
    documents, queries = (Path(each) if isinstance(each, (str, os.PathLike)) else each for each in source[:2])
    return documents, queries, len(source) == 3


def _of_length_one(vectors: Vectors) -> Vectors:
    """Return vectors of length 1; those of length 0 stay."""
    values = vectors.values.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    return vectors._replace(values=values / np.where(lengths > 0, lengths, 1.0)[:, None])


def _products(documents: Vectors, queries: Vectors, qid: str, docids: Sequence[str]) -> np.ndarray:
    """Return the inner products of a query; NaN without a vector."""
    found = np.full(len(docids), np.nan)
    rows = np.array([documents.rows.get(docid, -1) for docid in docids], np.int64)
    known = rows >= 0
    if qid in queries.rows and known.any():
        query = queries.values[queries.rows[qid]].astype(np.float64)
        # Not by BLAS, whose sums depend on the number of threads.
        found[known] = np.einsum("ij,j->i", documents.values[rows[known]].astype(np.float64), query)
    return found
