"""Digests of files: of a whole one, and of one that is hashed while it is read."""

import hashlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = [
    "Digests",
    "HashedFile",
    "file_digest",
]

#: Files, and the digests that they must have.
Digests = Mapping[Path, str]


def file_digest(path: Path) -> str:
    """Return the SHA-256, in hex, of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class HashedFile(io.RawIOBase):
    """A file that can only be read from start to end, so that its digest is that of the bytes that were read.

    `ended` is called with the SHA-256, in hex, each time the end is read; what it raises, the reader gets.
    """

    def __init__(self, file: io.RawIOBase, ended: Callable[[str], None]):
        self._file, self._ended = file, ended
        self._digest = hashlib.sha256()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer, /) -> int:
        """Read into a buffer and return the number of bytes, 0 at the end."""
        view = memoryview(buffer)
        count = self._file.readinto(view) or 0
        if count:
            self._digest.update(view[:count])
        elif len(view):
            self._ended(self._digest.hexdigest())
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
