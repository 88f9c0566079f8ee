"""The arguments of `evaluate`, checked and converted."""

import warnings
from dataclasses import replace

import numpy as np

from directrank.data.grouping import checked_relevance, group_rows, qid_array
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.errors import DataError


def queries_of(relevance, qid, docid) -> Queries:
    """Return the queries of a `QueryGroups`, `Queries` themselves, or those of arrays.

    Raises DataError if lengths differ, there are no documents, or a grade is not a number ≥ 0. Warns if no
    qid is given: all rows count as one query.
    """
    if isinstance(relevance, QueryGroups | Queries):
        if qid is not None or docid is not None:
            kind = type(relevance).__name__
            raise DataError(f"documents that come as {kind} have their qid and docid; give no others")
        if isinstance(relevance, Queries):
            return relevance
        if not relevance.labelled:
            raise DataError(f"{relevance!r} has no relevance to evaluate against")
        return relevance.queries
    n_docs = len(np.atleast_1d(np.asarray(relevance)))
    if n_docs == 0:
        raise DataError("there are no documents to evaluate")
    if qid is None:
        warnings.warn(
            f"no qid given: all {n_docs} rows are taken as one query. Give qid= to tell queries apart.",
            UserWarning,
            stacklevel=3,
        )
        qid = np.zeros(n_docs, np.int64)
    columns = np.asarray(relevance).T if np.ndim(relevance) == 2 else [relevance]
    grades = np.stack([checked_relevance(each, n_docs) for each in columns], axis=1)
    names = None if docid is None else _shaped("docid has", np.asarray(docid), n_docs, "a row")
    queries, order = group_rows(
        grades.max(axis=1), _shaped("qid has", qid_array(qid), n_docs, "a row"), names
    )
    return replace(queries, subtopics=grades[order]) if np.ndim(relevance) == 2 else queries


def checked_scores(
    scores, n_docs: int, score_type: type = np.float64, retrieved: np.ndarray | None = None
) -> np.ndarray:
    """Return scores as floats; those of documents that were not retrieved may be anything.

    Raises DataError if the length is wrong, or a score is NaN or not a number.
    """
    values = _shaped("scores have", np.asarray(scores), n_docs, "score a document")
    if values.dtype.kind not in "biufO":
        raise DataError(f"scores are of type {values.dtype}; expected numbers")
    try:
        with np.errstate(over="ignore"):  # beyond float32 is infinite there, as in the tools that use it
            values = values.astype(np.float32 if values.dtype == np.float32 else score_type)
    except (TypeError, ValueError) as error:
        raise DataError(f"scores must be numbers: {error}") from None
    wrong = np.flatnonzero(np.isnan(values) & (True if retrieved is None else retrieved))
    if len(wrong):
        raise DataError(f"the score of row {wrong[0]} is NaN; expected a number for every document")
    return values


def checked_retrieved(retrieved, n_docs: int) -> np.ndarray | None:
    """Return which documents were retrieved as bool (n_docs,), or None for all.

    Raises DataError if the length is wrong or the values are not true or false.
    """
    if retrieved is None:
        return None
    values = _shaped("retrieved has", np.asarray(retrieved), n_docs, "value a document")
    if values.dtype != bool:
        raise DataError(f"retrieved is of type {values.dtype}; expected true or false for each document")
    return None if values.all() else values


def ranked_last(queries: Queries, scores: np.ndarray, retrieved: np.ndarray) -> np.ndarray:
    """Return scores with those of documents that were not retrieved below all others of their query."""
    known = np.where(retrieved, scores, scores.dtype.type(np.inf))
    least = np.minimum.reduceat(known, queries.indptr[:-1])
    # Without a retrieved document, all of the query are tied.
    below = np.nextafter(np.where(np.isinf(least), scores.dtype.type(0), least), scores.dtype.type(-np.inf))
    return np.where(retrieved, scores, np.repeat(below, queries.sizes))


def checked_weights(weights, n_queries: int) -> np.ndarray | None:
    """Return weights of queries as float64, or None for equal ones.

    Raises DataError if the length is wrong, a weight is negative or not finite, or all are 0.
    """
    if weights is None:
        return None
    values = _shaped("query_weight has", np.asarray(weights, np.float64), n_queries, "weight a query")
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise DataError(
            f"the weight of query {wrong[0]} is {values[wrong[0]]}; expected a finite one of 0 or more"
        )
    if not values.any():
        raise DataError("all query weights are 0; expected a positive one")
    return values


def _shaped(what: str, values: np.ndarray, expected: int, each: str) -> np.ndarray:
    if values.shape != (expected,):
        raise DataError(f"{what} shape {values.shape}, expected ({expected},): one {each}")
    return values
