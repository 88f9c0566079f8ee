"""Digests of files: of a whole one, and of one that is hashed while it is read."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path


class HashedFile(io.RawIOBase):
    """A file whose digest is known when its end is read.

    It can only be read from start to end, so that the digest is that of the bytes that the reader got.
    Wrap it in `io.BufferedReader` for small reads, and in `gzip.GzipFile` for compressed data.

    Parameters
    ----------
    file : io.RawIOBase
        Open, at its start.
    ended : callable
        Called with the SHA-256, in hex, each time the end is read; what it raises, the reader gets.
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


def file_digest(path: Path) -> str:
    """Return the SHA-256, in hex, of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
