"""Files of documents in any format: LETOR text, CSV, Parquet, Arrow."""

from directrank.data.files.formats import ENDINGS, TABLE_ENDINGS, columns_line, columns_of, scan_files
from directrank.data.files.options import ReadOptions
from directrank.data.files.reading import read_file, read_parts
from directrank.data.files.tables.columns import Columns

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
