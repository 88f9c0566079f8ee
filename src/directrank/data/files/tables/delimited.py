"""CSV and TSV, also compressed. The separator is the one of which the header has most."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from directrank.data.files.tables.format import TableFormat, readable
from directrank.errors import DataError

KIND = "CSV"
SEPARATORS = ",\t;|"
#: The header, and every row, must be shorter.
BLOCK_BYTES = 1 << 24
SHOWN = 40


def schema(path: Path) -> Any:
    """Return the columns, with the types that the first rows have."""
    with readable(path, KIND) as pa, _opened(pa, path) as file:
        return _reader(pa, file, _separator(path)).schema


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


def _rows(pa: Any, path: Path, wanted: Mapping[str, Any], *, threads: bool) -> Iterator[Any]:
    ragged = []

    def refused(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        with _opened(pa, path) as file:
            yield from _reader(pa, file, _separator(path), wanted, refused, threads)
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


def _separator(path: Path) -> str:
    with readable(path, KIND) as pa, _opened(pa, path) as file:
        header = file.read(BLOCK_BYTES).split(b"\n", 1)[0].decode()
    return max(SEPARATORS, key=header.count)


def _reader(pa: Any, file: Any, separator: str, wanted=None, refused=None, threads: bool = True) -> Any:
    from pyarrow import csv

    types = wanted or {}
    return csv.open_csv(
        file,
        read_options=csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=threads),
        parse_options=csv.ParseOptions(delimiter=separator, invalid_row_handler=refused),
        convert_options=csv.ConvertOptions(
            include_columns=list(types), column_types=dict(types), strings_can_be_null=True
        ),
    )


FORMAT = TableFormat(
    "CSV",
    tuple(f".{kind}{zipped}" for kind in ("csv", "tsv") for zipped in ("", ".gz", ".bz2", ".zst")),
    schema,
    batches,
)
