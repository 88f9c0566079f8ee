"""CSV and TSV, also compressed. The separator is the one of which the header has most."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from directrank.data.files.tables.format import NO_DOCUMENT, TableFormat, readable
from directrank.errors import DataError

KIND = "CSV"
SEPARATORS = ",\t;|"
#: Text that is read at a time, which stays in the cache of the processor; a row must be shorter. Rows are
#: taken to be at most this many times as long as the header.
BLOCK_BYTES, ROW_PER_HEADER = 1 << 20, 32
SHOWN = 40
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def schema(path: Path) -> Any:
    """Return the columns, with the types that the first rows have.

    A column of text that holds mostly numbers counts as one of numbers: its text is a fault to be named.
    """
    with readable(path, KIND) as pa:
        batch = next(_rows(pa, path, {}, threads=False), None)
        fields = [] if batch is None else zip(batch.schema, batch.columns, strict=True)
        return pa.schema([_mostly_number(pa, values, field) for field, values in fields])


def batches(path: Path, wanted: Mapping[str, Any]) -> Iterator[Any]:
    """Yield rows with the wanted columns, each read as its type.

    From the first rows on that do not have these types, the columns are text: the caller names the cell.
    """
    with readable(path, KIND) as pa:
        n_read = 0
        try:
            for batch in _rows(pa, path, wanted, threads=True):
                yield batch
                n_read += 1
            return
        except pa.ArrowInvalid:
            pass
        texts = dict.fromkeys(wanted, pa.string())
        yield from islice(_rows(pa, path, texts, threads=False), n_read, None)


def _mostly_number(pa: Any, values: Any, field: Any) -> Any:
    from pyarrow import compute

    if not pa.types.is_string(values.type):
        return field
    options = compute.MatchSubstringOptions(NUMBER)
    numbers = compute.call_function("match_substring_regex", [values], options).true_count
    return field.with_type(pa.float32()) if 2 * numbers > len(values) - values.null_count else field


def _rows(pa: Any, path: Path, wanted: Mapping[str, Any], *, threads: bool) -> Iterator[Any]:
    from pyarrow import csv

    ragged = []

    def refused(row: Any) -> str:
        ragged.append(row)
        return "error"

    separator, block_bytes = _layout(path)
    read = csv.ReadOptions(block_size=block_bytes, use_threads=threads)
    parse = csv.ParseOptions(delimiter=separator, invalid_row_handler=refused)
    convert = csv.ConvertOptions(
        include_columns=list(wanted), column_types=dict(wanted), strings_can_be_null=True
    )
    try:
        with _opened(pa, path) as file:
            yield from csv.open_csv(file, read, parse, convert)
    except pa.ArrowInvalid:
        if threads or not ragged:
            raise
        row = ragged[0]
        raise DataError(
            f"{path}: row {row.number - 1} holds {row.actual_columns} values, expected "
            f"{row.expected_columns} as in the header: {row.text[:SHOWN]!r}"
        ) from None


def _opened(pa: Any, path: Path) -> Any:
    return pa.input_stream(str(path), compression="detect")


def _layout(path: Path) -> tuple[str, int]:
    """Return the separator and the bytes to read at a time, or raise DataError if there is only a header."""
    with readable(path, KIND) as pa, _opened(pa, path) as file:
        text = b""
        while (more := file.read(BLOCK_BYTES)) and not (text + more).partition(b"\n")[2].strip():
            text += more
    header, _, rows = (text + more).partition(b"\n")
    if not rows.strip():
        raise DataError(f"{path}: {NO_DOCUMENT}")
    return max(SEPARATORS, key=header.decode().count), max(BLOCK_BYTES, ROW_PER_HEADER * len(header))


FORMAT = TableFormat(
    "CSV",
    tuple(f".{kind}{zipped}" for kind in ("csv", "tsv") for zipped in ("", ".gz", ".bz2", ".zst")),
    schema,
    batches,
)
