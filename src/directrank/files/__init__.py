"""Files of documents in any format: LETOR text, CSV, Parquet, Arrow, stores."""

from directrank.data.columns import Columns
from directrank.data.reading_options import MISSING, ReadOptions, TableOptions
from directrank.files.folds import PARTS, Fold, find_folds, load_data, load_letor
from directrank.files.json_lines import json_lines
from directrank.files.letor import read_letor, write_letor
from directrank.files.opening import end_line, input_digest
from directrank.files.query_sizes import size_files
from directrank.files.reading import (
    ENDINGS,
    TABLE_ENDINGS,
    columns_line,
    columns_of,
    convert_data,
    read_file,
    read_parts,
    refuse_absent_columns,
    scan_files,
)
from directrank.files.runs import read_scored
from directrank.files.scores import document_names
from directrank.files.store import manifest_of, open_store
from directrank.files.tables import read_columns, table_columns
from directrank.files.trec import Union, united

__all__ = [
    "ENDINGS",
    "MISSING",
    "PARTS",
    "TABLE_ENDINGS",
    "Columns",
    "Fold",
    "ReadOptions",
    "TableOptions",
    "Union",
    "columns_line",
    "columns_of",
    "convert_data",
    "document_names",
    "end_line",
    "find_folds",
    "input_digest",
    "json_lines",
    "load_data",
    "load_letor",
    "manifest_of",
    "open_store",
    "read_columns",
    "read_file",
    "read_letor",
    "read_parts",
    "read_scored",
    "refuse_absent_columns",
    "scan_files",
    "size_files",
    "table_columns",
    "united",
    "write_letor",
]
