"""Folders of results: which of them may be written to, and the file that marks them."""

import errno
import os
from pathlib import Path

from directrank.storage.atomic import PART, write_atomically

__all__ = [
    "claim_folder",
    "foreign_entry",
    "is_marked",
]

#: The file by which a folder of results is recognised.
MARK = ".directrank"
MARK_TEXT = "A folder of results of directrank: its commands replace the files that they write here.\n"


def foreign_entry(folder: str | os.PathLike) -> str | None:
    """Return the name of something in a folder that is not ours; None if it is empty, absent or ours."""
    folder = Path(folder)
    if not folder.is_dir() or is_marked(folder):
        return None
    return min((entry.name for entry in os.scandir(folder) if not PART.fullmatch(entry.name)), default=None)


def is_marked(folder: Path) -> bool:
    """Return whether a folder has the file that marks those of results, with its text."""
    if not (folder / MARK).is_file():
        return False
    with (folder / MARK).open("rb") as file:
        return file.read(len(MARK_TEXT) + 1) == MARK_TEXT.encode()


def claim_folder(folder: str | os.PathLike, *, force: bool = False) -> None:
    """Create a folder of results, or take one that is empty or ours, and mark it; `force` takes any."""
    folder = Path(folder)
    entry = None if force else foreign_entry(folder)
    if entry is not None:
        remedy = "choose an empty or a new folder, or use force"
        problem = f"holds {entry!r}, and no results of directrank; {remedy}"
        raise FileExistsError(errno.EEXIST, problem, str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    if not is_marked(folder):
        write_atomically(folder / MARK, MARK_TEXT)
