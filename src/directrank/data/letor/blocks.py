"""Read text files, plain or gzipped, in blocks of whole lines."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np

from directrank.errors import DataFormatError

# A block stays in the cache of the processor between the passes over it.
BLOCK_BYTES = 2**20
GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
NEWLINE, RETURN, HASH = b"\n"[0], b"\r"[0], b"#"[0]


@dataclass(frozen=True, eq=False)
class Block:
    """Whole lines of a file; reading the next block overwrites the bytes.

    Attributes
    ----------
    path : Path
    bytes : ndarray of uint8
        Ends with a newline; one is added to a last line without it.
    first_line : int
        Number of the first line in the file, from 1.
    """

    path: Path
    bytes: np.ndarray
    first_line: int

    @cached_property
    def _newlines(self) -> np.ndarray:
        return np.flatnonzero(self.bytes == NEWLINE)

    @cached_property
    def starts(self) -> np.ndarray:
        """Start of each line, int64 (n_lines,)."""
        return np.concatenate(([0], self._newlines[:-1] + 1))

    @cached_property
    def stops(self) -> np.ndarray:
        """End of each line, before its line break, int64 (n_lines,)."""
        before = self.bytes[np.maximum(self._newlines - 1, 0)] == RETURN
        return self._newlines - before

    @cached_property
    def ends(self) -> np.ndarray:
        """End of the data of each line, before its comment, int64 (n_lines,)."""
        hashes = np.flatnonzero(self.bytes == HASH)
        if not len(hashes):
            return self.stops
        first = hashes[np.minimum(np.searchsorted(hashes, self.starts), len(hashes) - 1)]
        return np.where((first >= self.starts) & (first < self.stops), first, self.stops)

    def until(self, n_lines: int) -> "Block":
        """Return a block of only the first `n_lines` lines."""
        stop = len(self.bytes) if n_lines == len(self.starts) else self.starts[n_lines]
        return Block(self.path, self.bytes[:stop], self.first_line)

    def line_of(self, offset: int) -> int:
        """Return the number of the line that contains an offset; the first line of the block is 0."""
        return int(np.searchsorted(self.starts, offset, side="right")) - 1


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
        for content, stop in _whole_lines(path, file, size):
            block = Block(path, np.frombuffer(content, np.uint8, stop), first_line)
            if first_line == 1 and content.startswith(BYTE_ORDER_MARKS):
                problem = "begins with a byte order mark, expected a label; save it as UTF-8 without the mark"
                raise DataFormatError(str(path), 1, 1, problem)
            _refuse_controls(block, content, stop)
            yield block
            first_line += int(np.count_nonzero(block.bytes == NEWLINE))


def _opened(path: Path) -> BinaryIO:
    if path.is_dir():
        problem = "is a folder, expected a file; load_letor reads the folder of one fold"
        raise DataFormatError(str(path), 0, 0, problem)
    if path.exists() and not path.is_file():
        problem = "is a pipe or a device, expected a file: it is read twice; save it first"
        raise DataFormatError(str(path), 0, 0, problem)
    with path.open("rb") as file:
        zipped = file.read(2) == GZIP_MAGIC
    return gzip.open(path) if zipped else path.open("rb", buffering=0)  # type: ignore[return-value]


def _whole_lines(path: Path, file: BinaryIO, size: int) -> Iterator[tuple[bytearray, int]]:
    """Yield a buffer and the number of its bytes that are whole lines."""
    buffer, rest = bytearray(size), 0
    while read := _read_into(path, file, memoryview(buffer)[rest:-1]):
        filled = rest + read
        stop = buffer.rfind(b"\n", rest, filled) + 1
        if not stop:
            rest = filled
            if rest > len(buffer) // 2:
                buffer = buffer + bytearray(len(buffer))
            continue
        yield buffer, stop
        rest = filled - stop
        buffer[:rest] = buffer[stop:filled]
    if rest:
        buffer[rest] = NEWLINE
        yield buffer, rest + 1


def _read_into(path: Path, file: BinaryIO, buffer: memoryview) -> int:
    try:
        return file.readinto(buffer)  # type: ignore[attr-defined]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = f"the gzip archive is damaged or cut short ({error})"
        raise DataFormatError(str(path), 0, 0, problem) from None


def _refuse_controls(block: Block, content: bytearray, stop: int) -> None:
    zero = content.find(b"\0", 0, stop)
    _refuse(block, zero, "a NUL byte")
    if content.find(b"\r", 0, stop) >= 0:
        returns = np.flatnonzero(block.bytes == RETURN)
        inside = returns[block.bytes[returns + 1] != NEWLINE]
        _refuse(block, inside[0] if len(inside) else -1, "a carriage return within the line")


def _refuse(block: Block, offset: int, what: str) -> None:
    if offset < 0:
        return
    line = block.line_of(offset)
    column = int(offset) - int(block.starts[line]) + 1
    problem = f"found {what}, expected text with lines that end in LF or CRLF"
    raise DataFormatError(str(block.path), block.first_line + line, column, problem)
