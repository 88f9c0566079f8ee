"""Cells of tables and data frames as numbers and names; the first cell that cannot be one is named."""

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrank.errors import DataError

SHOWN = 40
_NUMBER = re.compile(r"[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)
#: Text that stands for a missing number in every table, as pyarrow and pandas write it.
WORDS_FOR_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA",
    "NULL", "NaN", "n/a", "nan", "null",
)  # fmt: skip
#: Numbers with a decimal comma, separators of thousands, a percent sign or a currency.
_DECORATED = re.compile(r"[-+]?\W?\s*\d[\d.,'\s]*\s*\W?")
HINT = ", with a decimal point and without separators of thousands, % or currency"


class Place:
    """Where a batch of rows is, for messages: `first` rows of the file are before it."""

    def __init__(self, path: Path, first: int):
        self.path, self.first = path, first

    def error(self, column: str, row: int, problem: str) -> DataError:
        """Return the error for a cell; rows of the batch count from 0, rows of the message from 1."""
        return DataError(f"{self.path}: column {column!r}, row {self.first + row + 1}: {problem}")


def not_a_number(cell: Any, columns: Sequence[str]) -> str:
    """Return the problem of a cell of a feature, with the columns that must be corrected or left out."""
    hint = HINT if isinstance(cell, str) and _DECORATED.fullmatch(cell.strip()) else ""
    some = list(columns[:SHOWN])
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    return (
        f"found {shown(cell)}, expected a number{hint}; correct it, or leave out what is no feature: "
        f"--drop {shlex.quote(','.join(some))}{more} (in Python, drop={some}{more}, or X.drop(columns=…)); "
        "name categories by --categorical (categorical=, or by a dtype of categories)"
    )


def shown(cell: Any) -> str:
    """Return a cell as messages show it."""
    return (repr(cell) if isinstance(cell, str) else str(cell))[:SHOWN]


def is_number(cell: str) -> bool:
    """Whether a text is a number."""
    return _NUMBER.fullmatch(cell.strip()) is not None


def first_text(cells: Iterable[Any]) -> tuple[int, Any] | None:
    """Return row and value of the first cell that is neither a number nor missing, if there is one."""
    for row, cell in enumerate(cells):
        if isinstance(cell, str):
            word = cell.strip()
            if not _NUMBER.fullmatch(word) and word not in WORDS_FOR_MISSING:
                return row, word
            continue
        try:
            float(np.nan if cell is None else cell)
        except (TypeError, ValueError):
            return row, cell
    return None


def words_alone(cells: Iterable[Any]) -> bool:
    """Whether cells are texts, none of which looks like a number, in any way to write it."""
    words = {cell.strip() if isinstance(cell, str) else "0" for cell in cells} - set(WORDS_FOR_MISSING)
    return bool(words) and not any(_NUMBER.fullmatch(word) or _DECORATED.fullmatch(word) for word in words)


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
        plain = compute.ReplaceSubstringOptions(r"^\+([\d.])", r"\1")
        words = compute.call_function("replace_substring_regex", [words], plain)
        missing = compute.SetLookupOptions(value_set=pa.array(WORDS_FOR_MISSING, words.type))
        gone = compute.call_function("is_in", [words], missing)
        values = compute.call_function("if_else", [gone, pa.scalar(None, words.type), words])
    try:
        cast = values.cast(wanted, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return cast.to_numpy(zero_copy_only=False)


def texts(values: Any) -> Any:
    """Return a column as text."""
    import pyarrow as pa

    return values.cast(pa.string())


def missing_row(values: Any) -> int | None:
    """Return the first row without a value, which an empty text is not, if there is one."""
    from pyarrow import compute, types

    missing = values.is_null()
    if types.is_string(values.type) or types.is_large_string(values.type):
        missing = compute.call_function("or_kleene", [missing, compute.call_function("equal", [values, ""])])
    rows = np.flatnonzero(missing.to_numpy(zero_copy_only=False))
    return int(rows[0]) if len(rows) else None
