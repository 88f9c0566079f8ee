"""The first sheet of an Excel workbook, as columns."""

from pathlib import Path
from zipfile import BadZipFile

from directrank.errors import DataError, install_line

REMEDY = "save the sheet as CSV"


def read_sheet(path: Path) -> dict[str, list]:
    """Return the columns of the first sheet, below their names; empty rows are skipped.

    Raises DataError if openpyxl is not installed, or the file is no workbook.
    """
    path.stat()  # a missing file is an error before a missing package
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise DataError(
            f"{path}: reading Excel needs openpyxl: {install_line('excel')}; or {REMEDY}"
        ) from None
    try:
        workbook = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, InvalidFileException, KeyError, ValueError) as error:
        raise DataError(f"{path}: is not readable as an Excel workbook ({error}); {REMEDY}") from None
    rows = [
        row
        for row in workbook.worksheets[0].iter_rows(values_only=True)
        if any(cell is not None for cell in row)
    ]
    workbook.close()
    if len(rows) < 2:
        raise DataError(f"{path}: the first sheet has no row below the names of columns; {REMEDY}")
    names = ["" if name is None else str(name).strip() for name in rows[0]]
    columns = {
        name: list(cells) for name, cells in zip(names, zip(*rows[1:], strict=True), strict=True) if name
    }
    if len(columns) < sum(map(bool, names)):
        raise DataError(f"{path}: a name of a column is there twice; rename one of them")
    return columns
