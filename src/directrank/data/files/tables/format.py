"""What a format of tables offers, and pyarrow, which reads all of them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from directrank.errors import DataError, install_line

#: Documents that are read at a time.
BATCH_ROWS = 1 << 14
NO_DOCUMENT = "holds no document; expected one a row, below the names of the columns"


class TableFormat(NamedTuple):
    """A format of tables.

    Attributes
    ----------
    name : str
    endings : tuple of str
        The endings of file names, in lower case.
    schema : callable
        From a path to the columns of the file, a schema of pyarrow.
    batches : callable
        From a path, and a type of pyarrow for each wanted column, to batches of rows that have these columns.
        A format that stores types may keep its own.
    """

    name: str
    endings: tuple[str, ...]
    schema: Callable[[Path], Any]
    batches: Callable[[Path, Mapping[str, Any]], Iterator[Any]]


def import_pyarrow(path: Path | str) -> Any:
    """Return pyarrow, or raise DataError that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise DataError(
            f"{path}: reading and writing tables needs pyarrow: {install_line('arrow')}"
        ) from None
    return pyarrow


@contextmanager
def readable(path: Path, kind: str) -> Iterator[Any]:
    """Yield pyarrow; its errors about a file become a DataError of one line that names the file."""
    pyarrow = import_pyarrow(path)
    if path.is_dir():
        raise DataError(f"{path}: is a folder, expected a file of {kind}")
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
