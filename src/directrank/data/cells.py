"""Cells of tables and data frames as numbers and names; the first cell that cannot be one is named."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from directrank.errors import CellError

SHOWN = 40
_NUMBER = re.compile(r"[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)
#: Text that stands for a missing number in every table, as pyarrow and pandas write it.
WORDS_FOR_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA",
    "NULL", "NaN", "n/a", "nan", "null",
)  # fmt: skip
#: Numbers with a decimal comma, separators of thousands, a percent sign or a currency.
_DECORATED = re.compile(r"[-+]?\W?\s*\d[\d.,'\s]*\s*\W?")
#: Days, such as 2026-09-01 and 1/9/2026, with or without a time.
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ].*)?", re.ASCII)
HINT = ", with a decimal point and without separators of thousands, % or currency"


def not_a_number(cell: object, columns: Sequence[str], *, trained: bool = False) -> str:
    """Return the problem of a cell of a feature, with the columns that must be corrected or left out.

    Those that a model was `trained` with can only be corrected.
    """
    if isinstance(cell, (list, tuple, np.ndarray)):
        return (
            f"found {quoted_cell(cell)}, expected a number: give each element a column of its own, such as "
            f"{columns[0]}_0, {columns[0]}_1 (in pandas, DataFrame(frame[{columns[0]!r}].tolist()))"
        )
    hint = HINT if isinstance(cell, str) and _DECORATED.fullmatch(cell.strip()) else ""
    if trained:
        return (
            f"found {quoted_cell(cell)}, expected a number{hint}, as the model was trained with; correct it"
        )
    some = list(columns[:SHOWN])
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    return (
        f"found {quoted_cell(cell)}, expected a number{hint}; correct it, or leave out what is no feature: "
        f"--drop {shlex.quote(','.join(some))}{more} (in Python, drop={some}{more}, or X.drop(columns=…)); "
        "name categories by --categorical (categorical=, or by a dtype of categories)"
    )


def quoted_cell(cell: object) -> str:
    """Return a cell as messages show it."""
    return (repr(cell) if isinstance(cell, str) else str(cell))[:SHOWN]


def is_number(cell: str) -> bool:
    """Whether a text is a number."""
    return _NUMBER.fullmatch(cell.strip()) is not None


def first_text(cells: Iterable[object]) -> tuple[int, Any] | None:
    """Return row and value of the first cell that is neither a number nor missing, if there is one."""
    for row, cell in enumerate(cells):
        if number_in(cell) is None:
            return row, cell.strip() if isinstance(cell, str) else cell
    return None


def is_missing(cell: object) -> bool:
    """Whether a cell is None, NaN, a masked value of NumPy, or the missing value of pandas."""
    try:
        return cell is None or cell is np.ma.masked or bool(cell != cell)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # An array has none either.
        return False


def unmasked(values: Any) -> Any:
    """Return a masked array of NumPy as floats, NaN where it is masked, and anything else unchanged."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    return np.ma.filled(values.astype(np.float64), np.nan)


def first_rounded(values: np.ndarray) -> tuple[int, str] | None:
    """Return place and problem of the first whole number among scores that is no float64, if there is one."""
    beyond = values.dtype.kind in "iu" and (values.max(initial=0) > 2**53 or values.min(initial=0) < -(2**53))
    for place, value in enumerate(values.flat) if beyond or values.dtype == object else ():
        if isinstance(value, int | np.integer) and int(float(value)) != int(value):
            where = "which float64 does not tell from its neighbours"
            return place, f"{value}, {where}: subtract one number from all scores"
    return None


def number_in(cell: object) -> float | None:
    """Return a cell of any table as a number, NaN where it is missing; None if it is none.

    Text is a number in the digits of ASCII, without separators of thousands. Bytes, dates and complex
    numbers are none. Numbers beyond floats are infinity, which callers refuse.
    """
    if isinstance(cell, str):
        word = cell.strip()
        if word in WORDS_FOR_MISSING:
            return np.nan
        return float(word) if _NUMBER.fullmatch(word) else None
    if isinstance(cell, Real | Decimal | np.bool_) and not isinstance(cell, np.timedelta64):
        try:
            return float(cell)
        except OverflowError:
            return np.inf
    return np.nan if is_missing(cell) and not isinstance(cell, np.datetime64 | np.timedelta64) else None


def as_numbers(
    X: Any, dtype: Any = np.float64, where: str = "X", names: Callable[[], Sequence[str]] | None = None
) -> np.ndarray:
    """Return an array or nested lists as an array of numbers, NaN where a value is missing or masked.

    An array of numbers is returned as it is, anything else in `dtype`. `where`, and the `names` of columns,
    are for messages. Raises CellError that names the first cell that is no number (`number_in`).
    """
    if isinstance(X, list | tuple) and any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, X))):
        X = np.ma.array(X)
    try:
        array: Any = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    except ValueError:
        problem = "rows have different lengths, or cells are lists; expected a number in each cell"
        raise CellError(f"{where}: {problem}") from None
    except TypeError:  # Cells that have no type in common.
        array = np.asarray(X, object)
    kind = array.dtype.kind
    if kind in "mMVc":
        problem = "Complex data not supported, " if kind == "c" else ""  # The words of scikit-learn's checks.
        raise CellError(f"{where}: {problem}found {array.dtype}, expected real numbers")
    with np.errstate(over="ignore"):
        if kind in "biuf":
            if isinstance(array, np.ma.MaskedArray):
                return np.asarray(np.ma.filled(array.astype(dtype), np.nan))
            return array
        if isinstance(array, np.ma.MaskedArray):
            cells = np.ma.filled(array.astype(object), None)
        else:  # Of a list, NumPy turns some cells into text because of others.
            cells = np.asarray(X, object)
        values = [number_in(cell) for cell in cells.ravel()]
        if None in values:
            at = values.index(None)
            cell, row_and_column = cells.ravel()[at], list(map(int, np.unravel_index(at, cells.shape)))
            name = dict(enumerate(names() if names else ()))
            row = [f"row {number}" for number in row_and_column[:1]]
            column = [f"column {name.get(number, number)!r}" for number in row_and_column[1:2]]
            place = ", ".join([where, *row, *column])
            hint = HINT if isinstance(cell, str) and _DECORATED.fullmatch(cell.strip()) else ""
            raise CellError(
                f"{place}: found {quoted_cell(cell)}, expected a number{hint}, or None where it is missing; "
                "the argument must be a data frame, an array or lists of numbers, or of strings of numbers"
            )
        return np.array(values, np.float64).reshape(cells.shape).astype(dtype)


def words_alone(cells: Iterable[object]) -> bool:
    """Whether cells are texts, not all of them dates, and none of them a number in any way to write it."""
    words = {cell.strip() if isinstance(cell, str) else "0" for cell in cells} - set(WORDS_FOR_MISSING)
    if any(_NUMBER.fullmatch(word) or _DECORATED.fullmatch(word) for word in words):
        return False
    return not all(map(_DATE.fullmatch, words))


def numbers(values: Any, dtype: type) -> np.ndarray | None:
    """Return a column of pyarrow as numbers, a missing value as NaN; None if a cell is no number."""
    import pyarrow as pa
    from pyarrow import compute, types

    wanted = pa.from_numpy_dtype(dtype)
    if values.type == wanted:
        return values.to_numpy(zero_copy_only=False)
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if types.is_string(values.type) or types.is_large_string(values.type):
        words = compute.call_function("utf8_trim_whitespace", [values])
        without_plus = compute.ReplaceSubstringOptions(r"^\+([\d.])", r"\1")
        words = compute.call_function("replace_substring_regex", [words], without_plus)
        missing = compute.SetLookupOptions(value_set=pa.array(WORDS_FOR_MISSING, words.type))
        gone = compute.call_function("is_in", [words], missing)
        values = compute.call_function("if_else", [gone, pa.scalar(None, words.type), words])
    try:
        cast = values.cast(wanted, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return cast.to_numpy(zero_copy_only=False)
