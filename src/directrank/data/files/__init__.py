"""Files of documents in any format: LETOR text, CSV, Parquet, Arrow."""

from directrank.data.files.formats import ENDINGS, TABLE_ENDINGS, columns_line, scan_files
from directrank.data.files.options import ReadOptions
from directrank.data.files.reading import read_file, read_parts

__all__ = ["ENDINGS", "TABLE_ENDINGS", "ReadOptions", "columns_line", "read_file", "read_parts", "scan_files"]
