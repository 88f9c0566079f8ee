"""Columns of a batch as arrays of numbers; the first cell that cannot be one is named."""

from pathlib import Path
from typing import Any

import numpy as np

from directrank.errors import DataError

SHOWN = 40


class Place:
    """Where a batch of rows is, for messages.

    Parameters
    ----------
    path : Path
    first : int
        Number of rows before the batch.
    """

    def __init__(self, path: Path, first: int):
        self.path, self.first = path, first

    def error(self, column: str, row: int, problem: str) -> DataError:
        """Return the error for a cell; rows of the batch count from 0, rows of the message from 1."""
        return DataError(f"{self.path}: column {column!r}, row {self.first + row + 1}: {problem}")


def numbers(batch: Any, column: str, dtype: type, place: Place, expected: str) -> np.ndarray:
    """Return a column as numbers; a missing value is NaN.

    Raises
    ------
    DataError
        If a cell holds text that is no number.
    """
    import pyarrow as pa
    from pyarrow import compute, types

    values = batch.column(column)
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if types.is_string(values.type) or types.is_large_string(values.type):
        values = compute.call_function("utf8_trim_whitespace", [values])
    try:
        cast = values.cast(pa.from_numpy_dtype(dtype), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        row, text = _first_text(values)
        raise place.error(column, row, f"found {text}, expected {expected}") from None
    return cast.to_numpy(zero_copy_only=False)


def _first_text(values: Any) -> tuple[int, str]:
    for row, value in enumerate(values.to_pylist()):
        try:
            float(0 if value is None else value)
        except (TypeError, ValueError):
            return row, repr(value)[:SHOWN]
    return 0, f"{values.type}"


def texts(values: Any) -> Any:
    """Return a column as text."""
    import pyarrow as pa

    return values.cast(pa.string())


def missing_row(values: Any) -> int | None:
    """Return the first row without a value, if there is one."""
    if not values.null_count:
        return None
    return int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
