"""The table of file formats: which endings belong to which format, and what reads it."""

from collections.abc import Sequence
from pathlib import Path

from directrank.data.files import letor
from directrank.data.files.options import ReadOptions
from directrank.data.files.stored import StoredFiles
from directrank.data.files.tables import arrow, delimited, parquet
from directrank.data.files.tables.columns import Columns, choose_columns
from directrank.data.files.tables.format import TableFormat
from directrank.data.files.tables.scan import TableFiles
from directrank.data.store.manifest import manifest_of
from directrank.errors import DataError

#: Every format with named columns. Any other file is read as LETOR text.
TABLES: tuple[TableFormat, ...] = (delimited.FORMAT, parquet.FORMAT, arrow.FORMAT)
#: Every ending of a name of theirs; and of all formats, in the order in which folders are searched.
TABLE_ENDINGS = tuple(ending for table in TABLES for ending in table.endings)
ENDINGS = (*letor.ENDINGS, *TABLE_ENDINGS)


def table_of(path: Path) -> TableFormat | None:
    """Return the format of a file with named columns, by its ending; None for LETOR text."""
    name = path.name.lower()
    return next((table for table in TABLES if name.endswith(table.endings)), None)


def scan_files(paths: Sequence[Path], how: ReadOptions) -> letor.LetorFiles | TableFiles | StoredFiles:
    """Make the first pass over files that form one data set: relevance, queries and the features they have.

    Raises
    ------
    DataError
        If a file cannot be used, or the files have different formats.
    """
    stores = [manifest for path in paths if (manifest := manifest_of(path)) is not None]
    if stores:
        return StoredFiles(stores if len(paths) == 1 else paths, how)
    tables = [table_of(path) for path in paths]
    if len(set(tables)) > 1:
        raise DataError(f"{paths[0]} and {paths[-1]} have different formats; save both in one")
    table = tables[0]
    return letor.LetorFiles(paths, how) if table is None else TableFiles(table, paths, how)


def columns_of(path: Path, how: ReadOptions) -> Columns | None:
    """Return which column of a file is what; None for LETOR text, which has no columns."""
    table = table_of(path)
    return None if table is None else choose_columns(table.schema(path).names, how, str(path))


def columns_line(path: Path, how: ReadOptions) -> str:
    """Return one line about which column of a file is what; nothing for LETOR text."""
    columns = columns_of(path, how)
    return "" if columns is None else columns.line()
