"""The folder of an index: a header, ``index.json``, and the folder of arrays that it names, with checksums.

A new index is written beside the old one and takes its place when the header is replaced, which is atomic.
"""

import hashlib
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Any

from directrank.errors import DataError
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import StrictJSONError, dump, parse

HEADER = "index.json"
FORMAT = "directrank index 1"
DATA = re.compile(r"data-[0-9a-f]{16}")
#: The largest header, in bytes.
MAX_HEADER = 1 << 20
REMEDY = "build it again by `directrank index`"


def new_data_folder(folder: Path) -> Path:
    """Create an empty folder for arrays inside the folder of an index."""
    data = folder / f"data-{secrets.token_hex(8)}"
    data.mkdir()
    return data


def write_header(folder: Path, data: Path, facts: dict[str, Any]) -> None:
    """Write the header, by which the data become the index of the folder."""
    files = {
        each.name: {"bytes": each.stat().st_size, "sha256": _digest(each)} for each in sorted(data.iterdir())
    }
    content = {"format": FORMAT, "data": data.name, "files": files, **facts}
    signed = {**content, "sha256": hashlib.sha256(dump(content).encode()).hexdigest()}
    write_atomically(folder / HEADER, dump(signed) + "\n")


def read_header(folder: Path) -> dict[str, Any]:
    """Return the header of an index.

    Raises
    ------
    DataError
        If the folder is no index, was damaged, or comes from another release.
    """
    path = folder / HEADER
    if not path.is_file():
        os.stat(folder)  # says that nothing has this name
        raise DataError(
            f"{folder}: not an index of directrank; `directrank index COLLECTION -o {folder}` builds one"
        )
    if path.stat().st_size > MAX_HEADER:
        raise DataError(f"{path}: too large for the header of an index; {REMEDY}")
    try:
        content = parse(path.read_bytes())
        signature = content.pop("sha256")
        intact = signature == hashlib.sha256(dump(content).encode()).hexdigest()
    except (StrictJSONError, AttributeError, KeyError, TypeError):
        raise DataError(f"{path}: not the header of an index; {REMEDY}") from None
    if content.get("format") != FORMAT:
        raise DataError(f"{path}: its format is {content.get('format')!r}, expected {FORMAT!r}; {REMEDY}")
    if not intact or not DATA.fullmatch(str(content.get("data"))):
        raise DataError(f"{path}: damaged, its checksum does not fit its content; {REMEDY}")
    return content


def check_files(folder: Path, header: dict[str, Any], *, digests: bool) -> Path:
    """Return the folder of the arrays, all of which have their sizes and, if asked for, their checksums.

    Raises
    ------
    DataError
        If one of them has not.
    """
    data = folder / header["data"]
    for name, expected in header["files"].items():
        path = data / name
        if not path.is_file() or path.stat().st_size != expected["bytes"]:
            raise DataError(f"{path}: missing or cut; {REMEDY}")
        if digests and _digest(path) != expected["sha256"]:
            raise DataError(f"{path}: damaged, its checksum does not fit its content; {REMEDY}")
    return data


def remove_other_data(folder: Path, data: Path) -> None:
    """Remove the arrays of an earlier index, and of builds that were killed."""
    for each in folder.iterdir():
        if DATA.fullmatch(each.name) and each.name != data.name and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
