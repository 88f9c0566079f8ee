"""From rows that carry a qid to contiguous queries sorted by descending relevance."""

import logging
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from directrank.data.cells import as_numbers, is_missing, unmasked
from directrank.data.queries import Queries
from directrank.errors import DataError

#: Whole floats that become integers are below this.
LARGEST_INTEGER = 2.0**63
#: An array of text holds at most so many times the letters that it is made of.
LARGEST_PADDING = 8
#: So many scores are sorted at once, list by list.
SORTED_AT_ONCE = 2**17


def checked_qid(qid, n_docs: int, name: str = "") -> np.ndarray:
    """Return qid as an array whose values differ wherever the caller's values differ.

    Raises DataError if there is not one qid a row.
    """
    where = f"{name}: " if name else ""
    values = id_array(qid, f"{where}qid")
    if values.shape != (n_docs,):
        raise DataError(f"{where}qid has shape {values.shape}, expected ({n_docs},): one query a row")
    return values


def id_array(ids, what: str = "qid") -> np.ndarray:
    """Return ids of queries or documents as an array in which two are equal only if the caller's are.

    Raises DataError that names the first row whose id is masked, or a float that may stand for several whole
    numbers; `what` names the ids.
    """
    if isinstance(ids, np.ma.MaskedArray):
        if (masked := np.flatnonzero(np.ma.getmaskarray(ids))).size:
            raise DataError(f"{what} of row {masked[0]} is missing; give every row its {what.split()[-1]}")
        ids = ids.data
    values = _as_array(ids)
    if values.dtype.kind == "f":
        wrong = np.flatnonzero(np.abs(values) >= least_rounded(values.dtype))
    elif values.dtype == object and any(
        issubclass(kind, float | np.floating) for kind in set(map(type, values.flat))
    ):
        wrong = [row for row, value in enumerate(values.flat) if _is_rounded(value)]
    else:
        return values
    if len(wrong):
        problem = rounded(values.flat[wrong[0]])
        raise DataError(f"{what} of row {wrong[0]}: {problem}")
    return values


def _as_array(ids) -> np.ndarray:
    if not isinstance(ids, (list, tuple)):
        return np.asarray(ids)
    # NumPy would turn 1 and "1" into the same text, and 2⁶³ beside a negative number into a rounded float.
    kinds = {type(value) for value in ids}
    if kinds == {str} or kinds == {bytes}:
        return text_array(ids)
    if len(kinds) == 1 and kinds <= {int, float, bool}:
        values = np.asarray(ids)
        if int not in kinds or values.dtype.kind in "iu":
            return values
    if len(kinds) == 1 and issubclass(kinds.pop(), np.number):
        return np.asarray(ids)
    return np.fromiter(ids, dtype=object, count=len(ids))


def least_rounded(dtype: np.dtype) -> float:
    """Return the least float of a type that does not tell neighbouring whole numbers apart."""
    return min(2.0 ** (np.finfo(dtype).nmant + 1), LARGEST_INTEGER)


def _is_rounded(value: object) -> bool:
    """Whether a float may stand for several whole numbers."""
    if not isinstance(value, float | np.floating):
        return False
    return bool(abs(value) >= least_rounded(np.asarray(value).dtype))


def rounded(value: Any) -> str:
    """Return the problem of a float that may stand for several whole numbers, for messages."""
    kind = np.asarray(value).dtype
    return f"found {value}, a {kind} that may stand for several numbers; store ids as integers or text"


def text_array(texts: Sequence[str] | Sequence[bytes]) -> np.ndarray:
    """Return texts in NumPy's form, which pads all to the longest; as objects if one is far longer.

    So are texts that end in a NUL: padding is of them.
    """
    longest = max(map(len, texts), default=0)
    padded = longest * len(texts) > LARGEST_PADDING * max(1, sum(map(len, texts)))
    if padded or any(text[-1:] in ("\0", b"\0") for text in texts):
        return np.fromiter(texts, dtype=object, count=len(texts))
    return np.asarray(texts)


def query_codes(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the queries in the order in which they first appear; return codes of rows, and the qid of each.

    Raises DataError if a qid is missing or cannot be hashed.
    """
    codes, names = _numbered_objects(qid) if qid.dtype == object else _numbered(qid)
    names = whole_numbers(names)
    for number, name in enumerate(names) if names.dtype.kind in "OfcmM" else ():
        if is_missing(name):
            raise DataError(f"qid of row {np.argmax(codes == number)} is missing; give every row its query")
    return codes, names


def first_bad_float(names: np.ndarray) -> tuple[int, str] | None:
    """Return place and problem of the first float that cannot name a query, if there is one."""
    wrong = np.flatnonzero(~(np.abs(names) < least_rounded(names.dtype)))
    if not len(wrong):
        return None
    name = names[wrong[0]]
    if np.isnan(name):
        return int(wrong[0]), "has no value; give every document its query"
    return int(wrong[0]), rounded(name)


def whole_numbers(names: np.ndarray) -> np.ndarray:
    """Return names as integers where they are floats that all are whole, as joins make them."""
    are_integers = (
        names.dtype.kind == "f" and first_bad_float(names) is None and (names == np.trunc(names)).all()
    )
    return names.astype(np.int64) if are_integers else names


def _numbered_objects(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    numbers: dict = {}
    try:
        codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in qid), np.int64, len(qid))
    except TypeError as error:
        raise DataError(f"qid must be hashable: {error}") from None
    return codes, np.fromiter(numbers, dtype=object, count=len(numbers))


def _numbered(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    changes = np.flatnonzero(qid[1:] != qid[:-1]) + 1
    runs = np.concatenate(([0], changes)) if len(qid) else np.empty(0, np.int64)
    values, first, inverse = np.unique(qid[runs], return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    number = np.argsort(by_appearance)
    lengths = np.diff(np.append(runs, len(qid)))
    return np.repeat(number[inverse], lengths), values[by_appearance]


def group_rows(
    relevance: np.ndarray, qid: np.ndarray, docid: np.ndarray | None = None, *, name: str = ""
) -> tuple[Queries, np.ndarray]:
    """Gather the rows of each query and sort them by descending relevance, stably.

    Returned are the queries, and the caller's row of each inner document; `name` says in the log where the
    rows came from.
    """
    queries = grouped(*query_codes(qid), relevance, docid, name)
    return queries, queries.row


def grouped(
    codes: np.ndarray, names: np.ndarray, relevance: np.ndarray, docid: np.ndarray | None, name: str = ""
) -> Queries:
    """Return the queries of rows with the numbers `codes`; the debug log says if rows of one are apart."""
    back = np.flatnonzero(codes[1:] < codes[:-1])
    if len(back):
        logging.getLogger("directrank").debug(
            "%s: rows of the same query are not next to each other, such as qid %s; they are grouped "
            "internally, and scores are returned in the order of the rows",
            name or "data",
            names[codes[back[0] + 1]],
        )
    order, indptr = sorted_order(codes, relevance, len(names))
    return Queries(relevance[order], indptr, order, names, None if docid is None else docid[order])


def sorted_order(codes: np.ndarray, relevance: np.ndarray, n_queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows by query, then by descending relevance, stably, and the boundaries of queries."""
    indptr = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=n_queries)))).astype(np.int64)
    return np.lexsort((-relevance, codes)), indptr


def descending_order(scores: np.ndarray, indptr: np.ndarray, *, stable: bool = True) -> np.ndarray:
    """Return the places of scores, list by list of `indptr`, by descending value; none is NaN.

    Lists of like length are rows of matrices that fit the processor's cache, where sorting takes a third of
    the time of a sort of all scores.
    """
    sizes, order = np.diff(indptr), np.empty(len(scores), np.int64)
    by_size = np.argsort(sizes, kind="stable")
    sorted_sizes = sizes[by_size]
    start = np.searchsorted(sorted_sizes, 1)
    while start < len(by_size):
        longest = 2 * sorted_sizes[start]
        most = start + max(1, SORTED_AT_ONCE // longest)
        stop = min(most, np.searchsorted(sorted_sizes, longest))
        lists = by_size[start:stop]
        first = indptr[lists, None]
        places = first + np.arange(sorted_sizes[stop - 1])
        inside = places < indptr[lists + 1, None]
        values = np.where(inside, -scores[np.minimum(places, len(scores) - 1)], np.nan)
        ranked = np.argsort(values, axis=1, kind="stable" if stable else None)
        order[places[inside]] = (first + ranked)[inside]
        start = stop
    return order


def refuse_other_order(columns: Mapping[str, Any]) -> None:
    """Raise `DataError` if the index of a pandas column, matched by row, is that of the first reordered."""
    pandas: Any = sys.modules.get("pandas")  # Who passes its columns has imported it.
    kinds = () if pandas is None else (pandas.DataFrame, pandas.Series)
    indices = {name: values.index for name, values in columns.items() if isinstance(values, kinds)}
    for name, index in indices.items():
        first, expected = next(iter(indices.items()))
        alike = len(index) == len(expected) and not index.equals(expected) and index.isin(expected).all()
        if alike and (index.is_unique or Counter(index) == Counter(expected)):
            raise DataError(
                f"{name} has the rows of {first} in another order, by its index: reorder it, or pass "
                f"{name}.to_numpy() if it has the order of {first}"
            )


def checked_relevance(relevance, n_docs: int, name: str = "") -> np.ndarray:
    """Return relevance as float64; ordered categories become grades (`as_grades`).

    Raises DataError if the length is wrong, or a value is no number, missing, infinite or negative: the first
    such row is named.
    """
    where = f"{name}: " if name else ""
    values = np.asarray(as_numbers(as_grades(relevance, where), np.float64, f"{where}relevance"), np.float64)
    if values.shape != (n_docs,):
        raise DataError(
            f"{where}relevance has shape {values.shape}, expected ({n_docs},): one grade per document"
        )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise DataError(
            f"{where}relevance of row {wrong[0]} is {values[wrong[0]]}; expected a finite grade of 0 or more"
        )
    return values


SHOWN = 5


def as_grades(relevance, where: str = ""):
    """Return relevance with ordered categories replaced by 0, 1, …, from the lowest category up.

    Categories that are numbers stand for themselves, a missing category and a masked value become NaN, and
    relevance of any other kind is returned unchanged. Raises DataError, whose message begins with `where`, if
    the categories have no order.
    """
    dtype = getattr(relevance, "dtype", None)
    kind = type(dtype).__name__
    if kind == "CategoricalDtype":
        return _grades_of_pandas(relevance, dtype, where)
    if kind == "Categorical":
        raise DataError(
            f"{where}relevance has categories without an order; cast them to pl.Enum([…]), the lowest first"
        )
    return relevance.to_physical().to_numpy() if kind == "Enum" else unmasked(relevance)


def _grades_of_pandas(relevance, dtype, where: str) -> np.ndarray:
    categories = np.asarray(dtype.categories)
    if categories.dtype.kind in "biuf":
        return np.asarray(relevance, dtype=np.float64)
    if not dtype.ordered:
        names = ", ".join(map(str, categories[:SHOWN]))
        raise DataError(
            f"{where}relevance has categories without an order ({names}{', …' * (len(categories) > SHOWN)}); "
            "order them by pd.Categorical(values, categories=[…], ordered=True), the lowest first"
        )
    codes = np.asarray(getattr(relevance, "cat", relevance).codes)
    return np.where(codes < 0, np.nan, codes)
