"""Files of documents in any format: LETOR text, CSV, Parquet, Arrow, stores."""

from directrank.data.columns import Columns, ReadOptions
from directrank.files.logs import json_lines
from directrank.files.reading import (
    ENDINGS,
    TABLE_ENDINGS,
    columns_line,
    columns_of,
    read_file,
    read_parts,
    scan_files,
)
from directrank.files.runs import read_scored
from directrank.files.scores import document_names
from directrank.files.tables import read_columns, table_columns

__all__ = [
    "ENDINGS",
    "TABLE_ENDINGS",
    "Columns",
    "ReadOptions",
    "columns_line",
    "columns_of",
    "document_names",
    "json_lines",
    "read_columns",
    "read_file",
    "read_parts",
    "read_scored",
    "scan_files",
    "table_columns",
]
