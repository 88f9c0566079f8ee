"""The libraries of the extra `text`, imported when they are used."""

from importlib import import_module
from typing import Any

from directrank.errors import DataError, install_line

#: What each module is called as a package.
PACKAGES = {"Stemmer": "PyStemmer", "bm25s.stopwords": "bm25s", "pyarrow.parquet": "pyarrow"}


def imported(module: str) -> Any:
    """Return a module of the extra.

    Raises
    ------
    DataError
        If it is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError:
        raise DataError(f"this needs {PACKAGES[module]}: {install_line('text')}") from None
