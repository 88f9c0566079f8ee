"""From rows that carry a qid to contiguous queries sorted by descending relevance."""

import warnings

import numpy as np

from directrank.data.queries import Queries
from directrank.errors import DataError


def query_codes(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the queries in the order in which they first appear.

    Parameters
    ----------
    qid : ndarray of shape (n_docs,)
        Any hashable values.

    Returns
    -------
    codes : ndarray of shape (n_docs,), int64
    names : ndarray of shape (n_queries,)
        The qid of each number.
    """
    if qid.dtype == object:
        numbers: dict = {}
        codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in qid), np.int64, len(qid))
        names = np.empty(len(numbers), dtype=object)
        names[:] = list(numbers)
        return codes, names
    changes = np.flatnonzero(qid[1:] != qid[:-1]) + 1
    runs = np.concatenate(([0], changes)) if len(qid) else np.empty(0, np.int64)
    values, inverse = np.unique(qid[runs], return_inverse=True)
    order_of_first = np.full(len(values), len(runs), dtype=np.int64)
    np.minimum.at(order_of_first, inverse, np.arange(len(runs)))
    number = np.empty(len(values), dtype=np.int64)
    number[np.argsort(order_of_first)] = np.arange(len(values))
    lengths = np.diff(np.append(runs, len(qid)))
    return np.repeat(number[inverse], lengths), values[np.argsort(number)]


def group_rows(
    relevance: np.ndarray, qid: np.ndarray, docid: np.ndarray | None = None
) -> tuple[Queries, np.ndarray]:
    """Gather the rows of each query and sort them by descending relevance, stably.

    Parameters
    ----------
    relevance : ndarray of shape (n_docs,)
        Finite and not negative.
    qid : ndarray of shape (n_docs,)
    docid : ndarray of shape (n_docs,), optional

    Returns
    -------
    queries : Queries
    order : ndarray of shape (n_docs,), int64
        The caller's row of each inner document.

    Warns
    -----
    UserWarning
        If rows of one qid came apart and had to be gathered.
    """
    codes, names = query_codes(qid)
    if np.any(codes[1:] < codes[:-1]):
        apart = names[codes[1:][codes[1:] < codes[:-1]][0]]
        warnings.warn(
            f"rows of the same query are not next to each other (qid {apart}, for one); "
            "they were gathered. Scores come back in your row order.",
            UserWarning,
            stacklevel=3,
        )
    order = np.lexsort((-relevance, codes))
    indptr = np.searchsorted(codes[order], np.arange(len(names) + 1)).astype(np.int64)
    queries = Queries(
        np.ascontiguousarray(relevance[order]),
        indptr,
        order,
        names,
        None if docid is None else docid[order],
    )
    return queries, order


def checked_relevance(relevance, n_docs: int) -> np.ndarray:
    """Return relevance as float64, or say which row cannot be one.

    Raises
    ------
    DataError
        If a value is missing, infinite or negative, or the length is wrong.
    """
    values = np.asarray(relevance, dtype=np.float64)
    if values.shape != (n_docs,):
        raise DataError(f"relevance has shape {values.shape}, expected ({n_docs},): one grade a document")
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise DataError(
            f"relevance of row {wrong[0]} is {values[wrong[0]]}; expected a finite grade of 0 or more"
        )
    return values
