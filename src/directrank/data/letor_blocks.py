"""Text files, plain or gzipped, in blocks of whole lines."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from directrank.errors import DataFormatError

# The passes over a block find it in the processor's cache.
BLOCK_BYTES = 2**21
GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
NEWLINE, RETURN, HASH = 10, 13, 35


@dataclass(frozen=True)
class Block:
    """Whole lines of a file; the bytes are overwritten when the next block is asked for.

    Attributes
    ----------
    path : Path
    bytes : ndarray of uint8
        Ends with a newline, which is added to a last line without one.
    first_line : int
        Number of the first line in the file, from 1.
    starts, ends, stops : ndarray of shape (n_lines,), int64
        Where each line starts, where its data end (before a comment) and where its text ends.
    """

    path: Path
    bytes: np.ndarray
    first_line: int
    starts: np.ndarray
    ends: np.ndarray
    stops: np.ndarray

    def until(self, n_lines: int) -> "Block":
        """Return the first lines alone."""
        ends = self.starts[:n_lines], self.ends[:n_lines], self.stops[:n_lines]
        return Block(self.path, self.bytes, self.first_line, *ends)


def blocks_of(path: Path, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Cut a file into blocks of about `size` bytes.

    Raises
    ------
    DataFormatError
        If the file is not plain text: a broken archive, a byte order mark, a NUL byte, a carriage return
        within a line.
    """
    first_line = 1
    with _opened(path) as file:
        for content in _whole_lines(path, file, size):
            if first_line == 1:
                _refuse_marks(path, content)
            block = _cut(path, content, first_line)
            yield block
            first_line += len(block.starts)


def _opened(path: Path) -> BinaryIO:
    if path.is_dir():
        raise DataFormatError(
            str(path), 0, 0, "is a folder, expected a file; load_letor reads folders of folds"
        )
    with path.open("rb") as file:
        zipped = file.read(2) == GZIP_MAGIC
    return gzip.open(path) if zipped else path.open("rb", buffering=0)  # type: ignore[return-value]


def _whole_lines(path: Path, file: BinaryIO, size: int) -> Iterator[np.ndarray]:
    buffer, kept = np.empty(size, np.uint8), 0
    while True:
        read = _read_into(path, file, buffer[kept : len(buffer) - 1])
        filled = kept + read
        if not read:
            break
        newlines = np.flatnonzero(buffer[kept:filled] == NEWLINE)
        if not len(newlines):
            kept = filled
            if kept >= len(buffer) // 2:
                buffer = np.concatenate((buffer, np.empty_like(buffer)))
            continue
        stop = kept + int(newlines[-1]) + 1
        yield buffer[:stop]
        kept = filled - stop
        buffer[:kept] = buffer[stop:filled].copy()
    if kept:
        buffer[kept] = NEWLINE
        yield buffer[: kept + 1]


def _read_into(path: Path, file: BinaryIO, room: np.ndarray) -> int:
    try:
        return file.readinto(memoryview(room))  # type: ignore[attr-defined]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFormatError(
            str(path), 0, 0, f"the gzip archive is damaged or cut short ({error})"
        ) from None


def _refuse_marks(path: Path, content: np.ndarray) -> None:
    if content[:3].tobytes().startswith(BYTE_ORDER_MARKS):
        raise DataFormatError(
            str(path),
            1,
            1,
            "begins with a byte order mark, expected a label; save it as UTF-8 without the mark",
        )


def _cut(path: Path, content: np.ndarray, first_line: int) -> Block:
    newlines = np.flatnonzero(content == NEWLINE)
    starts = np.concatenate(([0], newlines[:-1] + 1))
    _refuse_byte(path, content, newlines, first_line, np.flatnonzero(content == 0), "a NUL byte")
    returns = np.flatnonzero(content == RETURN)
    inside = returns[content[returns + 1] != NEWLINE]
    _refuse_byte(path, content, newlines, first_line, inside, "a carriage return within the line")
    stops = newlines.copy()
    stops[np.searchsorted(newlines, returns)] -= 1
    ends = stops.copy()
    hashes = np.flatnonzero(content == HASH)
    if len(hashes):
        first = np.minimum(np.searchsorted(hashes, starts), len(hashes) - 1)
        commented = (hashes[first] >= starts) & (hashes[first] < stops)
        ends = np.where(commented, hashes[first], stops)
    return Block(path, content, first_line, starts, ends, stops)


def _refuse_byte(path, content, newlines, first_line, places, what) -> None:
    if not len(places):
        return
    line = int(np.searchsorted(newlines, places[0]))
    start = int(newlines[line - 1]) + 1 if line else 0
    raise DataFormatError(
        str(path),
        first_line + line,
        int(places[0]) - start + 1,
        f"found {what}, expected text with lines that end in LF or CRLF",
    )
