"""Records with named columns, in CSV, Parquet, Arrow, JSON lines and data frames; and vectors of texts."""

import codecs
import csv
import io
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from directrank.apps.text.collections.records import (
    FALLBACK,
    GUESSES,
    CollectionOptions,
    Document,
    Faults,
    Judgement,
    Query,
    decoded,
    opened,
)
from directrank.data.columns import guessed
from directrank.errors import DataError
from directrank.files.tables import SEPARATORS, TABLES, TableFormat

if TYPE_CHECKING:
    import pyarrow

#: Roles without which a record is of no use.
NEEDED = ("docid", "qid", "body", "text")
SHOWN = 12
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
REPEATED = "vectors have the name of an earlier one and are left out"


def called(source: object) -> str:
    """Return what a path or a data frame is called in messages."""
    return str(source) if isinstance(source, str | os.PathLike) else "data frame"


def chosen(
    names: Iterable[str], roles: Iterable[str], how: CollectionOptions, where: str
) -> list[str | None]:
    """Return the column of each role: as given, or the one with a usual name; None for one that need not be.

    Raises DataError if a column does not exist, or none is called like a role that is needed.
    """
    names, columns = list(names), []
    listed = ", ".join(names[:SHOWN])
    for role in roles:
        column = how.columns.get(role)
        if column is not None and column not in names:
            raise DataError(f"{where}: no column {column!r}; the columns are {listed}")
        column = column or guessed(GUESSES[role], names)
        if column is None and role in NEEDED:
            raise DataError(
                f"{where}: no column is called like a {role}; name it by --columns {role}=NAME; "
                f"the columns are {listed}"
            )
        columns.append(column)
    return columns


def text_of(value: object) -> str:
    """Return a cell as text; nothing, and NaN, is empty."""
    if value is None or value != value:
        return ""
    return value if isinstance(value, str) else str(value)


def names_table(path: Path) -> bool:
    """Return whether the name of a file is that of a table."""
    return path.name.lower().endswith((*ENDINGS, *(end for form in BINARY for end in form.endings)))


#: The cells of a row, in the order of their roles.
Cells = Sequence[Any]
#: From a source, roles, options and faults to the cells of the columns of these roles, row by row.
Rows = Callable[[Any, Sequence[str], CollectionOptions, Faults], Iterator[Cells]]


def texts(
    rows: Rows, record: type[Document | Query], source: object, how: CollectionOptions, faults: Faults
) -> Iterator[Document | Query]:
    """Yield documents or queries, whose fields are texts."""
    for row in rows(source, record._fields, how, faults):
        yield record(*map(text_of, row))


def judgements(source: object, how: CollectionOptions, faults: Faults) -> Iterator[Judgement]:
    """Yield the judgements of a file or a data frame; without a column of grades all grades are 1."""
    for number, (qid, docid, grade) in enumerate(table_rows(source, Judgement._fields, how, faults), 1):
        try:
            value = 1.0 if grade is None else float(grade)
        except ValueError:
            raise DataError(f"{source}: row {number}: found the grade {grade!r}, expected a number") from None
        yield Judgement(text_of(qid), text_of(docid), value)


def table_rows(
    source: object, roles: Sequence[str], how: CollectionOptions, faults: Faults
) -> Iterator[Cells]:
    """Yield the cells of a table or a data frame; None where there is no such column."""
    if not isinstance(source, Path):
        return _of_frame(source, roles, how)
    binary = _binary(source)
    return _of_text(source, roles, how) if binary is None else _of_binary(binary, source, roles, how)


def json_rows(path: Path, roles: Sequence[str], how: CollectionOptions, faults: Faults) -> Iterator[Cells]:
    """Yield the values of the objects of JSON lines; None where there is no such key."""
    keys, columns = None, []
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(decoded(line, how.encoding, f"line {number}", faults))
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                faults.add("lines are no JSON objects and are left out", f"line {number} of {path.name}")
                continue
            if record.keys() != keys:
                keys, columns = record.keys(), chosen(record, roles, how, str(path))
            yield [None if column is None else record.get(column) for column in columns]


#: What reads documents, queries and judgements of tables; and of JSON lines.
READERS = {
    "documents": partial(texts, table_rows, Document),
    "queries": partial(texts, table_rows, Query),
    "judgements": judgements,
}
JSON_READERS = {
    "documents": partial(texts, json_rows, Document),
    "queries": partial(texts, json_rows, Query),
}


def _binary(path: Path) -> TableFormat | None:
    return next((form for form in BINARY if path.name.lower().endswith(form.endings)), None)


def _of_text(path: Path, roles: Sequence[str], how: CollectionOptions) -> Iterator[Cells]:
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
        places = [None if column is None else names.index(column) for column in columns]
        last = max(place for place in places if place is not None)
        for number, row in enumerate(csv.reader(text, delimiter=separator), 1):
            if row and len(row) <= last:
                raise DataError(f"{path}: row {number} holds {len(row)} values, expected {len(names)}")
            if row:
                yield [None if place is None else row[place] for place in places]


def _of_binary(
    table: TableFormat, path: Path, roles: Sequence[str], how: CollectionOptions
) -> Iterator[Cells]:
    schema = table.schema(path)
    columns = chosen(schema.names, roles, how, str(path))
    wanted = {name: schema.field(name).type for name in columns if name is not None}
    for batch in table.batches(path, wanted):
        cells = [
            [None] * batch.num_rows if name is None else batch.column(name).to_pylist() for name in columns
        ]
        yield from zip(*cells, strict=True)


def _of_frame(frame: Any, roles: Sequence[str], how: CollectionOptions) -> Iterator[Cells]:
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


class Vectors(NamedTuple):
    """Vectors of the same length, one per row, and the row of each name."""

    rows: dict[str, int]
    values: np.ndarray


def read_vectors(
    source: object, role: str, wanted: Collection[str], options: CollectionOptions, faults: Faults
) -> Vectors:
    """Return the vectors of the wanted names, float32; rows without a vector are skipped.

    The source is Parquet, Arrow or a data frame, with a column of names and one with lists of numbers; among
    several others the names are docid, qid or text by `role`. Raises DataError if there is no such column, or
    vectors have different lengths or numbers that are not finite.
    """
    where, rows, parts = called(source), {}, [np.zeros((0, 0), np.float32)]
    for names, vectors in _columns(source, role, options):
        places = []
        for place, (value, is_valid) in enumerate(
            zip(names.to_pylist(), vectors.is_valid().to_pylist(), strict=True)
        ):
            name = text_of(value)
            if name in rows:
                faults.add(REPEATED, name)
            elif is_valid and name in wanted:
                rows[name] = len(rows)
                places.append(place)
        if places:
            parts.append(_matrix(vectors.take(places), where))
    if len({part.shape[1] for part in parts[1:]}) > 1:
        raise DataError(f"{where}: its vectors have different lengths; expected the same for all")
    values = np.concatenate(parts[1:] or parts)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        name = list(rows)[int(np.argmin(finite))]
        raise DataError(f"{where}: the vector of {name!r} has a number that is missing or not finite")
    return Vectors(rows, values)


def _columns(
    source: Any, role: str, options: CollectionOptions
) -> Iterator[tuple["pyarrow.Array", "pyarrow.Array"]]:
    """Yield names and vectors, some rows at a time, as arrays of pyarrow."""
    if isinstance(source, Path):
        form = _binary(source)
        if form is None:
            raise DataError(f"{source}: expected vectors in Parquet or Arrow, a file such as vectors.parquet")
        schema = form.schema(source)
        columns = _chosen(schema, role, options, called(source))
        batches = form.batches(source, {name: schema.field(name).type for name in columns})
    else:
        import narwhals as nw

        table = nw.from_native(source, eager_only=True).to_arrow()
        columns = _chosen(table.schema, role, options, called(source))
        batches = table.to_batches()
    for batch in batches:
        yield batch.column(columns[0]), batch.column(columns[1])


def _chosen(schema: "pyarrow.Schema", role: str, options: CollectionOptions, where: str) -> tuple[str, str]:
    """Return the columns of names and of vectors."""
    with_vectors = [field.name for field in schema if _has_vectors(field.type)]
    if len(with_vectors) != 1:
        raise DataError(
            f"{where}: has {len(with_vectors)} columns of lists of numbers, expected one; "
            f"the columns are {', '.join(schema.names)}"
        )
    rest = [name for name in schema.names if name != with_vectors[0]]
    if len(rest) == 1 and role not in options.columns:
        return rest[0], with_vectors[0]
    (name,) = chosen(schema.names, [role], options, where)
    return name, with_vectors[0]  # pyright: ignore[reportReturnType]


def _has_vectors(kind: "pyarrow.DataType") -> bool:
    from pyarrow import types

    lists = types.is_list, types.is_large_list, types.is_fixed_size_list
    numbers = types.is_floating, types.is_integer
    return any(is_list(kind) for is_list in lists) and any(
        is_number(kind.value_type) for is_number in numbers
    )


def _matrix(vectors: "pyarrow.Array", where: str) -> np.ndarray:
    """Return lists of numbers as rows."""
    from pyarrow.compute import list_value_length  # pyright: ignore[reportAttributeAccessIssue]

    lengths = list_value_length(vectors).unique().to_pylist()
    if len(lengths) > 1:
        raise DataError(f"{where}: its vectors have different lengths; expected the same for all")
    numbers = vectors.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    return numbers.reshape(len(vectors), lengths[0])
