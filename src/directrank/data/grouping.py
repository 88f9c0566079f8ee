"""From rows that carry a qid to contiguous queries sorted by descending relevance."""

import warnings

import numpy as np

from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.jit import kernel

LARGEST_EXACT_INTEGER = 2**53


def checked_qid(qid, n_docs: int, name: str = "") -> np.ndarray:
    """Return qid as an array of names that are compared as the caller wrote them.

    Python lists that mix kinds, and integers beyond int64, stay objects: NumPy would turn 1 and "1" into
    one name, and 2⁶³ into a float.

    Raises
    ------
    DataError
        If the length is wrong, or a value is missing or not hashable.
    """
    where = f"{name}: " if name else ""
    if isinstance(qid, (list, tuple)) and len({type(each) for each in qid} - {int, np.int64}) != 0:
        values = np.empty(len(qid), dtype=object)
        values[:] = qid
        if {type(each) for each in qid} == {str}:
            values = np.asarray(qid)
    else:
        values = np.asarray(qid)
    if values.dtype.kind == "f" and isinstance(qid, (list, tuple)):
        values = np.array(qid, dtype=object)
    if values.shape != (n_docs,):
        raise DataError(f"{where}qid has shape {values.shape}, expected ({n_docs},): one query a row")
    absent = _absent(values, where)
    if len(absent):
        raise DataError(f"{where}qid of row {absent[0]} is missing; give every row its query")
    return values


def _absent(values: np.ndarray, where: str) -> np.ndarray:
    if values.dtype != object:
        return np.flatnonzero(values != values)
    return np.array([], np.int64)


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
    relevance: np.ndarray, qid: np.ndarray, docid: np.ndarray | None = None, *, name: str = ""
) -> tuple[Queries, np.ndarray]:
    """Gather the rows of each query and sort them by descending relevance, stably.

    Parameters
    ----------
    relevance : ndarray of shape (n_docs,)
        Finite and not negative.
    qid : ndarray of shape (n_docs,)
    docid : ndarray of shape (n_docs,), optional
    name : str, default=""
        Where the rows came from, for the warning.

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
    warn_if_apart(codes, names, name)
    order, indptr = sorted_order(codes, relevance, len(names))
    queries = Queries(
        np.ascontiguousarray(relevance[order]),
        indptr,
        order,
        names,
        None if docid is None else docid[order],
    )
    return queries, order


def warn_if_apart(codes: np.ndarray, names: np.ndarray, name: str = "") -> None:
    """Warn if the rows of some query are not next to each other."""
    back = np.flatnonzero(codes[1:] < codes[:-1])
    if not len(back):
        return
    where = f"{name}: " if name else ""
    warnings.warn(
        f"{where}rows of the same query are not next to each other (qid {names[codes[back[0] + 1]]}, for "
        "one); they were gathered. Scores come back in your row order.",
        UserWarning,
        stacklevel=4,
    )


def sorted_order(
    codes: np.ndarray, relevance: np.ndarray, n_queries: int
) -> tuple[np.ndarray, np.ndarray]:
    """Order rows by query, then by descending relevance, stably.

    Parameters
    ----------
    codes : ndarray of shape (n_docs,), int64
        The number of each row's query.
    relevance : ndarray of shape (n_docs,), float64
    n_queries : int

    Returns
    -------
    order : ndarray of shape (n_docs,), int64
    indptr : ndarray of shape (n_queries + 1,), int64
    """
    indptr = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=n_queries)))).astype(np.int64)
    order = np.empty(len(codes), np.int64)
    _gather(codes, indptr[:-1].copy(), order)
    _sort_queries(relevance[order], indptr, order, np.empty(len(codes)), np.empty(len(codes), np.int64))
    return order, indptr


def sorted_order_naive(codes: np.ndarray, relevance: np.ndarray) -> np.ndarray:
    """The order by definition, for tests."""
    return np.lexsort((-relevance, codes))


@kernel
def _gather(codes, free, order):
    for row in range(len(codes)):
        order[free[codes[row]]] = row
        free[codes[row]] += 1


@kernel
def _sort_queries(keys, indptr, order, spare_keys, spare_order):
    for q in range(len(indptr) - 1):
        first, last = indptr[q], indptr[q + 1]
        k, o = keys[first:last], order[first:last]
        _merge_sort(k, o, spare_keys[first:last], spare_order[first:last])


@kernel
def _merge_sort(keys, order, spare_keys, spare_order):
    """Sort by descending key, stably; merges of doubling width, none where the halves are in order."""
    n, width = len(keys), 1
    while width < n:
        for start in range(0, n - width, 2 * width):
            middle, stop = start + width, min(start + 2 * width, n)
            if keys[middle - 1] >= keys[middle]:
                continue
            left, right = start, middle
            for k in range(start, stop):
                take_left = left < middle and (right >= stop or keys[left] >= keys[right])
                source = left if take_left else right
                spare_keys[k], spare_order[k] = keys[source], order[source]
                left, right = (left + 1, right) if take_left else (left, right + 1)
            for k in range(start, stop):
                keys[k], order[k] = spare_keys[k], spare_order[k]
        width *= 2


def checked_relevance(relevance, n_docs: int, name: str = "") -> np.ndarray:
    """Return relevance as float64, or say which row cannot be one.

    Raises
    ------
    DataError
        If a value is missing, infinite or negative, or the length is wrong.
    """
    where = f"{name}: " if name else ""
    try:
        values = np.asarray(relevance, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}relevance is not numeric: {error}") from None
    if values.shape != (n_docs,):
        raise DataError(f"{where}relevance has shape {values.shape}, expected ({n_docs},): one grade a document")
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise DataError(
            f"{where}relevance of row {wrong[0]} is {values[wrong[0]]}; expected a finite grade of 0 or more"
        )
    return values
