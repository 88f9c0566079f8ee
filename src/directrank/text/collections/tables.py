"""Tables with named columns: CSV and TSV, Parquet, and data frames."""

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from directrank.data.files.tables import SEPARATORS, TABLES
from directrank.errors import DataError
from directrank.text.collections.columns import chosen, text_of
from directrank.text.collections.opening import FALLBACK, opened
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.records import Document, Faults, Judgement, Query

NAME = "table"
#: The rule of decoders by which bytes that are not UTF-8 become cp1252.
BY_BYTE = "directrank-cp1252"
BINARY = TABLES[1:]
ENDINGS = (
    ".csv",
    ".tsv",
    *(f".{kind}.{zipped}" for kind in ("csv", "tsv") for zipped in ("gz", "bz2", "xz")),
)
#: A text is at most this long, in characters.
LONGEST_CELL = 1 << 28


def names_table(path: Path) -> bool:
    """Return whether the name of a file is that of a table."""
    return path.name.lower().endswith((*ENDINGS, *(end for each in BINARY for end in each.endings)))


def documents(source: Any, how: CollectionOptions, faults: Faults) -> Iterator[Document]:
    """Yield the documents of a file or a data frame."""
    for row in _rows(source, ("docid", "title", "body"), how):
        yield Document(*map(text_of, row))


def queries(source: Any, how: CollectionOptions, faults: Faults) -> Iterator[Query]:
    """Yield the queries of a file or a data frame."""
    for row in _rows(source, ("qid", "text"), how):
        yield Query(*map(text_of, row))


def judgements(source: Any, how: CollectionOptions, faults: Faults) -> Iterator[Judgement]:
    """Yield the judgements of a file or a data frame; without a column of grades all grades are 1."""
    for number, (qid, docid, grade) in enumerate(_rows(source, ("qid", "docid", "grade"), how), 1):
        try:
            value = 1.0 if grade is None else float(grade)
        except ValueError:
            raise DataError(f"{source}: row {number}: found the grade {grade!r}, expected a number") from None
        yield Judgement(text_of(qid), text_of(docid), value)


def _rows(source: Any, roles: Sequence[str], how: CollectionOptions) -> Iterator[Sequence[Any]]:
    """Yield the cells of the columns of these roles, row by row; None where there is no such column."""
    if not isinstance(source, Path):
        return _of_frame(source, roles, how)
    binary = next((each for each in BINARY if source.name.lower().endswith(each.endings)), None)
    return _of_text(source, roles, how) if binary is None else _of_binary(binary, source, roles, how)


def _of_text(path: Path, roles: Sequence[str], how: CollectionOptions) -> Iterator[Sequence[Any]]:
    csv.field_size_limit(LONGEST_CELL)
    with opened(path) as file:
        # A decoder cannot try again, so that single bytes, not texts, fall back to the other encoding.
        text = io.TextIOWrapper(
            file, how.encoding or "utf-8", "replace" if how.encoding else BY_BYTE, newline=""
        )
        header = text.readline()
        separator = max(SEPARATORS, key=header.count)
        names = next(csv.reader([header], delimiter=separator), [])
        columns = chosen(names, roles, how, str(path))
        places = [None if each is None else names.index(each) for each in columns]
        last = max(place for place in places if place is not None)
        for number, row in enumerate(csv.reader(text, delimiter=separator), 1):
            if row and len(row) <= last:
                raise DataError(f"{path}: row {number} holds {len(row)} values, expected {len(names)}")
            if row:
                yield [None if place is None else row[place] for place in places]


def _of_binary(
    table: Any, path: Path, roles: Sequence[str], how: CollectionOptions
) -> Iterator[Sequence[Any]]:
    schema = table.schema(path)
    columns = chosen(schema.names, roles, how, str(path))
    wanted = {name: schema.field(name).type for name in columns if name is not None}
    for batch in table.batches(path, wanted):
        cells = [
            [None] * batch.num_rows if name is None else batch.column(name).to_pylist() for name in columns
        ]
        yield from zip(*cells, strict=True)


def _of_frame(frame: Any, roles: Sequence[str], how: CollectionOptions) -> Iterator[Sequence[Any]]:
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    columns = chosen(table.columns, roles, how, "data frame")
    for row in table.iter_rows(named=True):
        yield [None if name is None else row[name] for name in columns]


def _one_byte(error: UnicodeError) -> tuple[str, int]:
    """Return the characters of bytes that are not UTF-8, by the fallback encoding."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode(FALLBACK, "replace"), error.end


codecs.register_error(BY_BYTE, _one_byte)
