"""Files of documents in any format: LETOR text, CSV, Parquet, Arrow, stores."""

from directrank.data.files.columns import Columns, ReadOptions
from directrank.data.files.reading import (
    ENDINGS,
    TABLE_ENDINGS,
    columns_line,
    columns_of,
    read_file,
    read_parts,
    scan_files,
)

__all__ = [
    "ENDINGS",
    "TABLE_ENDINGS",
    "Columns",
    "ReadOptions",
    "columns_line",
    "columns_of",
    "read_file",
    "read_parts",
    "scan_files",
]
