"""Tables: CSV, Parquet, Arrow and Excel, read by pyarrow in two passes.

Relevance and queries are read first, then each row of features goes to its final place.
"""

import csv
import io
import logging
import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from directrank.data.categories import Values
from directrank.data.cells import first_text, not_a_number, numbers, quoted_cell
from directrank.data.columns import (
    Columns,
    ReadOptions,
    choose_columns,
    has_header,
    known_column,
)
from directrank.data.grouping import first_bad_float, grouped, whole_numbers
from directrank.data.groups import QueryGroups
from directrank.errors import DataError, HeaderError, install_line
from directrank.features.statistics import fill_query_minimum
from directrank.files.excel import read_sheet
from directrank.files.opening import (
    COMPRESSED,
    UTF_16_MARKS,
    ZSTANDARD,
    Allocator,
    check_digest,
    opened,
    rows_in_memory,
)
from directrank.files.words import named_queries

if TYPE_CHECKING:
    import pyarrow

#: Documents that are read at a time.
BATCH_ROWS = 1 << 14
#: Rows that are turned from columns into rows at a time: they stay in the cache of the processor.
BLOCK_ROWS = 512
#: The separator of CSV is the one of which the header has most.
SEPARATORS = ",\t;|"
#: Text of CSV that is read at a time, which stays in the cache of the processor. Rows are taken to be at most
#: this many times as long as the header; where one is longer, more text is read at a time.
BLOCK_BYTES, ROW_PER_HEADER = 1 << 20, 32
LONGEST_ROW = 1 << 29
SHOWN = 40
#: What RecBole writes after the name of each column, as in user_id:token.
RECBOLE_TYPE = re.compile(r":(token|float)(_seq)?$")
#: How pyarrow says that a row has more or fewer values than the header; it counts it, and what is above it.
RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
CSV, PARQUET, ARROW = "CSV", "Parquet", "an Arrow or Feather file"
NO_DOCUMENT = "holds no document; expected one per row, below the column names"
FIRST = ", which the first file has"
#: The name of the query of a table without a column of queries.
ONLY_QUERY = 1


class Place:
    """Where a batch of rows is, for messages: `first` rows of the file are before it."""

    def __init__(self, path: Path, first: int):
        self.path, self.first = path, first

    def error(self, column: str, row: int, problem: str) -> DataError:
        """Return the error for a cell; rows of the batch count from 0, rows of the message from 1."""
        return DataError(f"{self.path}: column {column!r}, row {self.first + row + 1}: {problem}")


class TableFormat(NamedTuple):
    """A format of tables."""

    name: str
    endings: tuple[str, ...]  # The endings of file names, in lower case
    schema: Callable[[Path], "pyarrow.Schema"]  # From a path to the columns of the file, a schema of pyarrow
    # From a path, and a type of pyarrow for each wanted column, to batches of rows that have these columns. A
    # format that stores types may keep its own.
    batches: Callable[[Path, Mapping[str, "pyarrow.DataType"]], Iterator["pyarrow.RecordBatch"]]


def import_pyarrow(path: Path | str) -> ModuleType:
    """Return pyarrow, or raise DataError that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise DataError(
            f"{path}: reading and writing tables needs pyarrow: {install_line('arrow')}"
        ) from None
    return pyarrow


@contextmanager
def readable(path: Path, kind: str) -> Iterator[ModuleType]:
    """Yield pyarrow; its errors about a file become a DataError of one line that names the file."""
    pyarrow = import_pyarrow(path)
    if path.is_dir():
        remedy = "; Spark writes one file by coalesce(1)" if kind == PARQUET else ""
        raise DataError(f"{path}: is a folder, expected a file of {kind}{remedy}")
    if not path.stat().st_size:
        raise DataError(f"{path}: is empty, expected {kind} with documents")
    try:
        yield pyarrow
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text ({error.reason}); save it as UTF-8") from None
    except PermissionError as error:
        raise PermissionError(error.errno, "no permission to read it", str(path)) from None
    except (pyarrow.ArrowException, OSError) as error:
        remedy = "; save it as UTF-8" if "UTF8" in str(error) else ""
        raise DataError(f"{path}: is not readable as {kind} ({str(error).splitlines()[0]}){remedy}") from None


def parquet_schema(path: Path) -> "pyarrow.Schema":
    """Return the columns and their types."""
    with readable(path, PARQUET):
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            return file.schema_arrow


def parquet_batches(path: Path, wanted: Mapping[str, "pyarrow.DataType"]) -> Iterator["pyarrow.RecordBatch"]:
    """Yield rows with the wanted columns, in the types of the file."""
    with readable(path, PARQUET):
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=list(wanted)):
                batch.validate(full=True)
                yield batch


def arrow_schema(path: Path) -> "pyarrow.Schema":
    """Return the columns and their types."""
    with readable(path, ARROW) as pa, pa.memory_map(str(path)) as file:
        columns = pa.ipc.open_file(file).schema
        # Names are decoded here: bytes that are no text are an error of this file.
        return pa.schema(list(zip(columns.names, columns.types, strict=True)))


def arrow_batches(path: Path, wanted: Mapping[str, "pyarrow.DataType"]) -> Iterator["pyarrow.RecordBatch"]:
    """Yield rows with the wanted columns, in the types of the file."""
    places = {name: place for place, name in enumerate(arrow_schema(path).names)}
    with readable(path, ARROW) as pa, pa.memory_map(str(path)) as file:
        fields = [places[name] for name in wanted]
        reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=fields))
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)
            yield batch


def excel_schema(path: Path) -> "pyarrow.Schema":
    """Return the columns, with the types of their cells: numbers where all are, else text."""
    return _excel(path).schema


def excel_batches(path: Path, wanted: Mapping[str, "pyarrow.DataType"]) -> Iterator["pyarrow.RecordBatch"]:
    """Yield rows with the wanted columns, in the types of the file."""
    yield from _excel(path).select(list(wanted)).to_batches(BATCH_ROWS)


def _excel(path: Path) -> "pyarrow.Table":
    pa = import_pyarrow(path)
    columns = {}
    for name, cells in read_sheet(path).items():
        numeric = all(cell is None or type(cell) in (int, float) for cell in cells)
        columns[name] = pa.array(
            cells if numeric else [None if cell is None else str(cell) for cell in cells]
        )
    return pa.table(columns)


def csv_schema(path: Path) -> "pyarrow.Schema":
    """Return the columns, with the types that the first rows have.

    Raises DataError if the first row holds values instead of names.
    """
    with readable(path, CSV) as pa:
        _, first, second = csv_head(path)
        if not has_header(first, second):
            raise HeaderError(
                f"{path}: the first line holds values ({', '.join(first)[:SHOWN]}) and no names of columns",
                "write a line of names above it, such as qid,label,docid and those of features",
            )
        with closing(_csv_rows(pa, path, {}, threads=False)) as rows:
            batch = next(rows, None)
        if batch is None:
            return pa.schema([])
        return pa.schema(list(zip(_untyped(batch.schema.names), batch.schema.types, strict=True)))


def csv_batches(path: Path, wanted: Mapping[str, "pyarrow.DataType"]) -> Iterator["pyarrow.RecordBatch"]:
    """Yield rows with the wanted columns, each read as its type. Of text, no cell is missing.

    From the first rows on that do not have these types, the columns are text: the caller names the cell.
    """
    with readable(path, CSV) as pa:
        _, stored, _ = csv_head(path)
        by_name = dict(zip(_untyped(stored), stored, strict=True))
        kinds, n_read = {by_name.get(name, name): kind for name, kind in wanted.items()}, 0
        try:
            for batch in _csv_rows(pa, path, kinds, threads=True):
                yield batch.rename_columns(list(wanted)) if wanted else batch
                n_read += len(batch)
            return
        except pa.ArrowInvalid:
            pass
        texts = dict.fromkeys(kinds, pa.string())
        for batch in _after(_csv_rows(pa, path, texts, threads=False), n_read):
            yield batch.rename_columns(list(wanted)) if wanted else batch


def _untyped(names: Sequence[str]) -> list[str]:
    """Return the names of columns without the types that RecBole writes after all of them."""
    bare = [RECBOLE_TYPE.sub("", name) for name in names]
    return bare if all(map(str.__ne__, bare, names)) else list(names)


def _csv_rows(
    pa: ModuleType, path: Path, wanted: Mapping[str, "pyarrow.DataType"], *, threads: bool
) -> Generator["pyarrow.RecordBatch"]:
    from pyarrow import csv

    separator, block_bytes, n_comments = _csv_layout(path)
    # No function of Python is given to pyarrow: its threads would release it, and where the interpreter ends
    # at that moment the process aborts.
    parse = csv.ParseOptions(delimiter=separator)
    convert = csv.ConvertOptions(include_columns=list(wanted), column_types=dict(wanted))
    n_read = 0
    while True:
        reading = csv.ReadOptions(block_size=block_bytes, use_threads=threads, skip_rows=n_comments)
        try:
            with _csv_opened(pa, path) as file, csv.open_csv(file, reading, parse, convert) as rows:
                for batch in _after(rows, n_read):
                    yield batch
                    n_read += len(batch)
            return
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block_bytes < LONGEST_ROW:
                block_bytes *= 4
                continue
            ragged = RAGGED.search(str(error))
            if threads or not ragged:
                raise
            number, expected, n_values, text = ragged.groups()
            raise DataError(
                f"{path}: row {int(number) - 1 - n_comments} holds {n_values} values, expected {expected} "
                f"as in the header: {text[:SHOWN]!r}"
            ) from None


def _after(batches: Iterable["pyarrow.RecordBatch"], n_rows: int) -> Iterator["pyarrow.RecordBatch"]:
    """Yield the rows after the first n_rows."""
    for batch in batches:
        if n_rows < len(batch):
            yield batch.slice(n_rows)
        n_rows = max(0, n_rows - len(batch))


@contextmanager
def _csv_opened(pa: ModuleType, path: Path) -> Iterator["pyarrow.NativeFile"]:
    """Open CSV to read its bytes: by pyarrow, if it has the ending; UTF-16 becomes UTF-8.

    A compressed file without the ending of one is decompressed, too.
    """
    with path.open("rb") as file:
        start = file.read(8)
    zipped = path.suffix.lower() not in (".gz", ".bz2", ".zst") and start.startswith((*COMPRESSED, ZSTANDARD))
    if zipped or start.startswith(UTF_16_MARKS) or table_of(path) is None:
        with opened(path) as file:
            yield pa.PythonFile(file, "r")
        return
    with pa.input_stream(str(path), compression="detect") as file:
        yield file


def csv_head(path: Path) -> tuple[str, list[str], list[str]]:
    """Return the separator of CSV, and the cells of its first row and of its second, if there is one."""
    with opened(path) as file:
        text = file.read(BLOCK_BYTES)
    below = text[_comments_above(text)[1] :].decode("utf-8", "replace")
    lines = [line for line in below.splitlines() if line.strip()][:2]
    separator = max(SEPARATORS, key=(lines or [""])[0].count)
    rows = [[cell.strip(' "') for cell in line.split(separator)] for line in lines]
    return separator, *[*rows, [], []][:2]


def _comments_above(text: bytes) -> tuple[int, int]:
    """Return how many lines above the names of columns are comments, and where these end.

    They begin with #, and have not as many cells as the row below, as names of columns that begin so do.
    """
    lines, end = text.split(b"\n"), 0
    first = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith(b"#")), 0)
    separator = max(SEPARATORS, key=lines[first].decode("utf-8", "replace").count).encode()
    n_cells = lines[first].count(separator)
    while first and lines[first - 1].count(separator) == n_cells > 0:
        first -= 1
    end = sum(map(len, lines[:first])) + first
    return first, end


def _csv_layout(path: Path) -> tuple[str, int, int]:
    """Return the separator, the bytes to read at a time, and how many lines above the header are comments.

    Raises DataError if there is only a header.
    """
    with readable(path, CSV) as pa, _csv_opened(pa, path) as file:
        text, n_comments, end = b"", 0, 0
        while more := file.read(BLOCK_BYTES):
            text += more
            n_comments, end = _comments_above(text)
            if text[end:].partition(b"\n")[2].strip():
                break
    header, _, rows = text[end:].partition(b"\n")
    if b"\0" in header:
        raise DataError(f"{path}: the names of columns hold NUL bytes, as in UTF-16; save it as UTF-8 text")
    if not rows.strip():
        raise DataError(f"{path}: {NO_DOCUMENT}")
    block_bytes = max(BLOCK_BYTES, ROW_PER_HEADER * len(header))
    return max(SEPARATORS, key=header.decode().count), block_bytes, n_comments


#: Every format with named columns. Any other file is read as LETOR text.
TABLES = (
    TableFormat(
        "CSV",
        tuple(
            f".{kind}{zipped}" for kind in ("csv", "tsv", "inter") for zipped in ("", ".gz", ".bz2", ".zst")
        ),
        csv_schema,
        csv_batches,
    ),
    TableFormat("Parquet", (".parquet", ".pq"), parquet_schema, parquet_batches),
    TableFormat("Arrow", (".arrow", ".feather", ".ipc"), arrow_schema, arrow_batches),
    TableFormat("Excel", (".xlsx",), excel_schema, excel_batches),
)


def table_of(path: Path) -> TableFormat | None:
    """Return the format of a file with named columns, by its ending; None for LETOR text."""
    name = path.name.lower()
    return next((table for table in TABLES if name.endswith(table.endings)), None)


def columns_in(schema: "pyarrow.Schema", how: ReadOptions, path: Path) -> Columns:
    """Return the role of each column of a file; those of dictionaries of text are categories."""
    from pyarrow import types

    kinds = dict(zip(schema.names, schema.types, strict=True))
    coded = [
        name for name, kind in kinds.items() if types.is_dictionary(kind)
        and (types.is_string(kind.value_type) or types.is_large_string(kind.value_type))
    ]  # fmt: skip
    return choose_columns(schema.names, how, str(path), coded)


def table_columns(path: Path) -> list[str]:
    """Return the names of the columns of a CSV, Parquet or Arrow file, or raise DataError if it is none."""
    table = table_of(path)
    if table is None:
        endings = ", ".join(ending for form in TABLES for ending in form.endings if ending.count(".") == 1)
        raise DataError(
            f"{path}: is no table by its name; expected the ending of CSV, Parquet or Arrow: {endings}"
        )
    return list(table.schema(path).names)


def read_columns(path: Path, kinds: Mapping[str, type[str] | type[float]]) -> Iterator["pyarrow.RecordBatch"]:
    """Yield columns of a table, some rows at a time, as batches of pyarrow.

    Columns of kind str are text, with nulls, and those of kind float float64, with NaN for a missing number.
    Raises DataError if a column does not exist, or a cell is no number: names file, column, row.
    """
    names = table_columns(path)
    table: Any = table_of(path)
    for name in kinds:
        known_column(name, names, str(path))
    pa, n_rows = import_pyarrow(path), 0
    stored = dict(zip(names, table.schema(path).types, strict=True))
    wanted = {
        name: pa.string()
        if kind is str
        else pa.bool_()
        if pa.types.is_boolean(stored[name])
        else pa.float64()
        for name, kind in kinds.items()
    }
    for batch in table.batches(path, wanted):
        place, columns = Place(path, n_rows), []
        for name, kind in kinds.items():
            if kind is str:
                columns.append(id_texts(batch, name, place))
            else:
                columns.append(pa.array(column_numbers(batch, name, place, "expected a number")))
        yield pa.RecordBatch.from_arrays(columns, names=list(kinds))
        n_rows += len(batch)


class TableFiles:
    """Tables that form one data set, after the first pass over them; `qid` is in order of appearance."""

    def __init__(self, table: TableFormat, paths: Sequence[Path], how: ReadOptions):
        self._table, self._paths, self._how = table, paths, how
        self._null = how.null()
        self._schemas = [table.schema(path) for path in paths]
        chosen = [columns_in(self._schemas[0], how, paths[0])]
        self.reading = chosen[0].record(how)
        for path, schema in zip(paths[1:], self._schemas[1:], strict=True):
            chosen.append(columns_in(schema, how.as_first(self.reading), path))
        self.features = chosen[0].features
        self._categorical = chosen[0].categorical
        logging.getLogger("directrank").info("%s: %s", paths[0], chosen[0].line())
        qids, labels, docids = [], [], []
        for path, columns in zip(paths, chosen, strict=True):
            for qid, label, docid in _heads(table, path, columns, how.labelled):
                qids.append(qid)
                labels.append(label)
                docids.append(docid)
        self._codes, self.qid = _numbered(qids)
        self._labels = np.concatenate(labels)
        self._docid = None if any(names is None for names in docids) else np.concatenate(docids)

    @property
    def name(self) -> str:
        """The files' names, for messages."""
        return " + ".join(map(str, self._paths))

    def fill(self, features: Sequence[str], allocate: Allocator = rows_in_memory) -> QueryGroups:
        """Make the second pass, which reads the columns of these features.

        Raises DataError if a column is missing or holds a cell that cannot be used, or X would not fit in
        memory.
        """
        X = allocate(self.name, len(self._codes), len(features))
        queries = grouped(self._codes, self.qid, self._labels, self._docid, self.name)
        categories = self._fill(X, queries.inner, features)
        if self._how.missing_rule == "query_min":
            fill_query_minimum(X, queries.indptr)
        return QueryGroups.from_inner(
            X, queries, feature_names=features, name=self.name, labelled=self._how.labelled,
            categories=categories, reading=self.reading,
        )  # fmt: skip

    def _fill(self, X: np.ndarray, places: np.ndarray, features: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Fill rows of X, and return the values of categorical columns."""
        done, categorical = 0, {name: Values() for name in self._categorical if name in features}
        coded = [name in categorical and not np.isinf(self._null) for name in features]
        nulls = np.where(coded, np.float32(Values.MISSING), self._null)
        for path, schema in zip(self._paths, self._schemas, strict=True) if features else ():
            before = done
            for batch in self._table.batches(path, _types(path, schema, features, categorical)):
                place = Place(path, done - before)
                _fill_batch(batch, features, places[done:], X, nulls, place, categorical, self._how.trained)
                done += len(batch)
            check_digest(path, self._how.digests)
        if features and done != len(places):
            raise DataError(f"{self.name}: the file changed while it was read; read it again")
        categories = {}
        for name, values in categorical.items():
            categories[name], codes = values.ordered()
            column = X[:, features.index(name)]
            column[:] = codes[column.astype(np.int64)]
        return categories


def _heads(table: TableFormat, path: Path, columns: Columns, labelled: bool) -> Iterator[tuple]:
    """Yield queries, relevance and names of the documents of one file, batch by batch; None without names."""
    pa, n_rows = import_pyarrow(path), 0
    label = columns.label if labelled else None
    kinds = ((columns.qid, pa.string()), (label, pa.float64()), (columns.docid, pa.string()))
    for batch in table.batches(path, {name: kind for name, kind in kinds if name is not None}):
        place = Place(path, n_rows)
        qid = pa.nulls(len(batch)) if columns.qid is None else _qid(batch, columns.qid, place)
        labels = np.zeros(len(batch)) if label is None else _labels(batch, label, place)
        names = None if columns.docid is None else id_texts(batch, columns.docid, place).fill_null("")
        yield qid, labels, None if names is None else names.to_numpy(zero_copy_only=False)
        n_rows += len(batch)
    if not n_rows:
        raise DataError(f"{path}: {NO_DOCUMENT}")


def _qid(batch: "pyarrow.RecordBatch", column: str, place: Place) -> "pyarrow.Array":
    from pyarrow import compute, types

    values = batch.column(column)
    if types.is_nested(values.type):
        raise place.error(column, 0, f"holds {values.type}, expected the number or name of a query")
    missing = values.is_null()
    if types.is_string(values.type) or types.is_large_string(values.type):
        missing = compute.call_function("or_kleene", [missing, compute.call_function("equal", [values, ""])])
    if (rows := np.flatnonzero(missing.to_numpy(zero_copy_only=False))).size:
        raise place.error(column, int(rows[0]), "has no value; give every document its query")
    if types.is_floating(values.type) and (wrong := first_bad_float(values.to_numpy())) is not None:
        raise place.error(column, *wrong)
    return values


def id_texts(batch: "pyarrow.RecordBatch", column: str, place: Place) -> "pyarrow.Array":
    """Return a column of ids as text, whole floats as whole numbers; null where one is missing or NaN.

    Raises DataError that names the first float that may stand for several whole numbers.
    """
    import pyarrow as pa

    values = batch.column(column)
    if not pa.types.is_floating(values.type):
        return texts(values)
    floats = values.to_numpy(zero_copy_only=False)
    present = np.flatnonzero(~np.isnan(floats))
    if (wrong := first_bad_float(floats[present])) is not None:
        raise place.error(column, int(present[wrong[0]]), wrong[1])
    names = [None if name != name else str(int(name)) if name.is_integer() else str(name) for name in floats]
    return pa.array(names, pa.string())


def _labels(batch: "pyarrow.RecordBatch", column: str, place: Place) -> np.ndarray:
    values = column_numbers(
        batch, column, place, "expected a grade: replace words by 0, 1, 2, …, the best highest"
    )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        value = values[wrong[0]]
        problem = "has no value" if np.isnan(value) else f"found {value:g}"
        unjudged = "; leave out the rows of documents that are not judged" if np.isnan(value) else ""
        raise place.error(
            column, int(wrong[0]), f"{problem}, expected relevance: a finite grade of 0 or more{unjudged}"
        )
    return values


def column_numbers(batch: "pyarrow.RecordBatch", column: str, place: Place, expected: str) -> np.ndarray:
    """Return a column as float64, or raise DataError that names its first cell that is no number."""
    cells = batch.column(column)
    values = numbers(cells, np.float64)
    if values is None:
        row, cell = first_text(cells.to_pylist()) or (0, cells.type)
        raise place.error(column, row, f"found {quoted_cell(cell)}, {expected}")
    return values


def _numbered(batches: Sequence["pyarrow.RecordBatch"]) -> tuple[np.ndarray, np.ndarray]:
    """Number queries by first appearance; names that are plain integers become integers, as in LETOR text."""
    import pyarrow as pa

    if pa.types.is_null(batches[0].type):  # There is no column of queries.
        return np.zeros(sum(map(len, batches)), np.int64), np.array([ONLY_QUERY])
    if len({values.type for values in batches}) > 1 or pa.types.is_dictionary(batches[0].type):
        batches = [texts(values) for values in batches]
    coded = pa.concat_arrays(batches).dictionary_encode()
    names = coded.dictionary
    codes = coded.indices.to_numpy().astype(np.int64)
    if pa.types.is_integer(names.type) or pa.types.is_floating(names.type):
        numbers = whole_numbers(names.to_numpy())
        if numbers.dtype.kind != "f":
            return codes, numbers
    return codes, named_queries(map(str, names.to_pylist()))


def _types(
    path: Path, schema: "pyarrow.Schema", features: Sequence[str], categories: Collection[str]
) -> dict:
    """Return the type in which each column of features is read, or raise DataError if one does not exist."""
    pa = import_pyarrow(path)
    kinds = dict(zip(schema.names, schema.types, strict=True))
    for name in features:
        if name not in kinds:
            known_column(name, schema.names, str(path), FIRST)
    wanted = {name: kinds[name] if pa.types.is_boolean(kinds[name]) else pa.float32() for name in features}
    return {**wanted, **dict.fromkeys(categories, pa.string())}


def _fill_batch(
    batch: "pyarrow.RecordBatch", features: Sequence[str], places, X, nulls: np.ndarray, place: Place,
    categories: Mapping[str, Values], trained: bool,
) -> None:  # fmt: skip
    """Fill rows of X, whose numbers are `places`; `nulls` stand for missing values, infinity refuses them.

    The values of categorical columns are added to `categories`. Raises DataError if a cell holds no finite
    float32.
    """
    by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns: list[Any] = [
        _codes(by_name[name], categories[name], f"{place.path}: column {name!r}") if name in categories
        else numbers(by_name[name], np.float32) for name in features
    ]  # fmt: skip
    if wrong := [name for name, values in zip(features, columns, strict=True) if values is None]:
        values = by_name[wrong[0]]
        row, cell = first_text(values.to_pylist()) or (0, values.type)
        raise place.error(wrong[0], row, not_a_number(cell, wrong, trained=trained))
    block = np.empty((BLOCK_ROWS, len(features)), np.float32)
    for first in range(0, len(batch), BLOCK_ROWS):
        rows = block[: min(BLOCK_ROWS, len(batch) - first)]
        for number, values in enumerate(columns):
            rows[:, number] = values[first : first + len(rows)]
        finite = np.isfinite(rows)
        if not finite.all():
            _replace_missing(rows, finite, features, nulls, Place(place.path, place.first + first))
        X[places[first : first + len(rows)]] = rows


def _codes(values: "pyarrow.DictionaryArray", categories: Values, where: str) -> np.ndarray:
    """Return the number of each value of a categorical column, NaN where it is missing."""
    from pyarrow import types

    coded = values if types.is_dictionary(values.type) else values.dictionary_encode()
    try:
        numbers = np.append(categories.codes(coded.dictionary.to_pylist()), np.nan)
    except TypeError as error:
        raise DataError(f"{where}: {error}") from None
    numbers[numbers == Values.MISSING] = np.nan
    return numbers[coded.indices.fill_null(-1).to_numpy()]


def _replace_missing(rows, finite, features: Sequence[str], nulls: np.ndarray, place: Place) -> None:
    refused = (~finite & np.isinf(nulls)) | np.isinf(rows)
    if refused.any():
        row, column = map(int, np.argwhere(refused)[0])
        number = rows[row, column]
        problem = (
            "has no value; fill it, or read it by --missing (in Python, missing=) nan, query_min or a number"
            if np.isnan(number)
            else f"found {number}, expected a finite number that fits float32 (at most 3.4e38)"
        )
        raise place.error(features[column], row, problem)
    rows[~finite] = np.broadcast_to(nulls, rows.shape)[~finite]


def delimited_text(columns: Mapping[str, np.ndarray], separator: str = ",") -> str:
    """Return columns as CSV; a cell of NaN is empty."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    cells = (["" if cell != cell else cell for cell in values.tolist()] for values in columns.values())
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def arrow_table(columns: Mapping[str, np.ndarray], path: Path | str) -> "pyarrow.Table":
    """Return columns as a table of pyarrow; `path` names the file in messages."""
    cells = {name: values.tolist() if values.dtype == object else values for name, values in columns.items()}
    return import_pyarrow(path).table(cells)


def parquet_bytes(columns: Mapping[str, np.ndarray], path: Path | str) -> bytes:
    """Return columns as the content of a file of Parquet."""
    table, file = arrow_table(columns, path), io.BytesIO()
    from pyarrow import parquet

    parquet.write_table(table, file)
    return file.getvalue()


def texts(values: Any) -> Any:
    """Return a column as text."""
    import pyarrow as pa

    return values.cast(pa.string())
