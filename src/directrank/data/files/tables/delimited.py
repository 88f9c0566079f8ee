"""CSV and TSV, also compressed. The separator is the one of which the header has most."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from directrank.data.files.tables.format import NO_DOCUMENT, TableFormat, readable
from directrank.errors import DataError

KIND = "CSV"
SEPARATORS = ",\t;|"
#: Text that is read at a time, which stays in the cache of the processor. Rows are taken to be at most this
#: many times as long as the header; where one is longer, more text is read at a time.
BLOCK_BYTES, ROW_PER_HEADER = 1 << 20, 32
LONGEST_ROW = 1 << 29
SHOWN = 40


def schema(path: Path) -> Any:
    """Return the columns, with the types that the first rows have."""
    with readable(path, KIND) as pa:
        with closing(_rows(pa, path, {}, threads=False)) as rows:
            batch = next(rows, None)
        return pa.schema([]) if batch is None else batch.schema


def batches(path: Path, wanted: Mapping[str, Any]) -> Iterator[Any]:
    """Yield rows with the wanted columns, each read as its type. Of text, no cell is missing.

    From the first rows on that do not have these types, the columns are text: the caller names the cell.
    """
    with readable(path, KIND) as pa:
        n_read = 0
        try:
            for batch in _rows(pa, path, wanted, threads=True):
                yield batch
                n_read += len(batch)
            return
        except pa.ArrowInvalid:
            pass
        texts = dict.fromkeys(wanted, pa.string())
        yield from _after(_rows(pa, path, texts, threads=False), n_read)


def _rows(pa: Any, path: Path, wanted: Mapping[str, Any], *, threads: bool) -> Generator[Any]:
    from pyarrow import csv

    ragged = []

    def refused(row: Any) -> str:
        ragged.append(row)
        return "error"

    separator, block_bytes = _layout(path)
    parse = csv.ParseOptions(delimiter=separator, invalid_row_handler=refused)
    convert = csv.ConvertOptions(include_columns=list(wanted), column_types=dict(wanted))
    n_read = 0
    while True:
        read = csv.ReadOptions(block_size=block_bytes, use_threads=threads)
        try:
            with _opened(pa, path) as file, csv.open_csv(file, read, parse, convert) as rows:
                for batch in _after(rows, n_read):
                    yield batch
                    n_read += len(batch)
            return
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block_bytes < LONGEST_ROW:
                block_bytes *= 4
                continue
            if threads or not ragged:
                raise
            row = ragged[0]
            raise DataError(
                f"{path}: row {row.number - 1} holds {row.actual_columns} values, expected "
                f"{row.expected_columns} as in the header: {row.text[:SHOWN]!r}"
            ) from None


def _after(batches: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Yield the rows after the first n_rows."""
    for batch in batches:
        if n_rows < len(batch):
            yield batch.slice(n_rows)
        n_rows = max(0, n_rows - len(batch))


def _opened(pa: Any, path: Path) -> Any:
    return pa.input_stream(str(path), compression="detect")


def _layout(path: Path) -> tuple[str, int]:
    """Return the separator and the bytes to read at a time, or raise DataError if there is only a header."""
    with readable(path, KIND) as pa, _opened(pa, path) as file:
        text = b""
        while (more := file.read(BLOCK_BYTES)) and not (text + more).partition(b"\n")[2].strip():
            text += more
    header, _, rows = (text + more).partition(b"\n")
    if b"\0" in header:
        raise DataError(f"{path}: the names of columns hold NUL bytes, as in UTF-16; save it as UTF-8 text")
    if not rows.strip():
        raise DataError(f"{path}: {NO_DOCUMENT}")
    return max(SEPARATORS, key=header.decode().count), max(BLOCK_BYTES, ROW_PER_HEADER * len(header))


FORMAT = TableFormat(
    "CSV",
    tuple(f".{kind}{zipped}" for kind in ("csv", "tsv") for zipped in ("", ".gz", ".bz2", ".zst")),
    schema,
    batches,
)
