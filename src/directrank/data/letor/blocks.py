"""Read text files, plain or gzipped, in blocks of whole lines."""

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from directrank.errors import DataFormatError

# A block stays in the cache of the processor between the passes over it.
BLOCK_BYTES = 2**20
#: The longest line, in bytes. A line of a million features takes about half as many.
LONGEST_LINE = 2**24
GZIP_MAGIC, ZIP_MAGIC = b"\x1f\x8b", b"PK\x03\x04"
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

    def first_letter(self, line: int) -> int:
        """Return the offset of the first token of a line that has one."""
        start = int(self.starts[line])
        text = self.bytes[start : self.ends[line]].tobytes()
        return start + len(text) - len(text.lstrip(b" \t"))

    def token(self, offset: int) -> str:
        """Return the data from an offset to the next blank."""
        rest = self.bytes[offset : self.ends[self.line_of(offset)]].tobytes()
        return re.split(rb"[ \t]", rest, maxsplit=1)[0].decode("utf-8", "backslashreplace")

    def error(self, offset: int, problem: str) -> DataFormatError:
        """Return an error that names the line and column of an offset."""
        line = self.line_of(offset)
        return DataFormatError(
            str(self.path), self.first_line + line, offset - self.starts[line] + 1, problem
        )


#: Opens a file to read its bytes from start to end.
Opener = Callable[[Path], io.RawIOBase]


def plain_file(path: Path) -> io.RawIOBase:
    """Open a file without a buffer."""
    return path.open("rb", buffering=0)


def blocks_of(path: Path, open_file: Opener = plain_file, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Cut a file into blocks of about `size` bytes; all lines before a fault are yielded before it is raised.

    Raises
    ------
    DataFormatError
        If the file is not plain text: a broken archive, a byte order mark, a NUL byte, a carriage return
        within a line, a line longer than `LONGEST_LINE`.
    """
    first_line = 1
    try:
        for content, stop in _whole_lines(path, size, open_file):
            block = Block(path, np.frombuffer(content, np.uint8, stop), first_line)
            if first_line == 1 and content.startswith(BYTE_ORDER_MARKS):
                problem = "begins with a byte order mark, expected a label; save it as UTF-8 without the mark"
                raise block.error(0, problem)
            if first_line == 1 and content.startswith(ZIP_MAGIC):
                raise DataFormatError(str(path), 0, 0, "is a zip archive; unpack it, or compress by gzip")
            control = _first_control(block, content, stop)
            if control >= 0:
                if before := block.line_of(control):
                    yield block.until(before)
                raise _control_fault(block, control)
            yield block
            first_line += int(np.count_nonzero(block.bytes == NEWLINE))
    except _LineTooLongError:
        problem = f"the line is longer than {LONGEST_LINE} bytes, the longest that is read; split it"
        raise DataFormatError(str(path), first_line, 1, problem) from None


class _LineTooLongError(Exception):
    """A line does not end where the longest line would."""


def refuse_special(path: Path) -> None:
    """Raise `DataFormatError` if a path is a folder, a pipe or a device."""
    if path.is_dir():
        problem = "is a folder, expected a file; load_letor reads the folder of one fold"
        raise DataFormatError(str(path), 0, 0, problem)
    if path.exists() and not path.is_file():
        problem = "is a pipe or a device, expected a file: it is read twice; save it first"
        raise DataFormatError(str(path), 0, 0, problem)


@contextmanager
def _opened(path: Path, open_file: Opener) -> Iterator[io.BufferedIOBase]:
    refuse_special(path)
    with io.BufferedReader(open_file(path)) as file:
        if not file.peek(2).startswith(GZIP_MAGIC):
            yield file
            return
        with gzip.GzipFile(fileobj=file) as unzipped:
            yield unzipped


def _whole_lines(path: Path, size: int, open_file: Opener) -> Iterator[tuple[bytearray, int]]:
    """Yield a buffer and the number of its bytes that are whole lines."""
    buffer, kept = bytearray(size), 0
    try:
        with _opened(path, open_file) as file:
            while read := file.readinto(memoryview(buffer)[kept:-1]):
                filled = kept + read
                stop = buffer.rfind(b"\n", kept, filled) + 1
                if not stop:
                    kept = filled
                    if kept > LONGEST_LINE:
                        raise _LineTooLongError
                    if kept > len(buffer) - 1 - size // 2:
                        buffer = buffer + bytearray(size)
                    continue
                yield buffer, stop
                # After a long line blocks are of the usual size again, so that they have few lines.
                kept, rest = filled - stop, buffer[stop:filled]
                buffer = bytearray(size) if len(buffer) > size else buffer
                buffer[:kept] = rest
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = f"the gzip archive is damaged or cut short ({error})"
        raise DataFormatError(str(path), 0, 0, problem) from None
    if kept:
        buffer[kept] = NEWLINE
        yield buffer, kept + 1


def _first_control(block: Block, content: bytearray, stop: int) -> int:
    """Return the first NUL byte or carriage return within a line; -1 if there is none.

    Searches for one byte take a fifth of the time of a pattern.
    """
    found = [content.find(b"\0", 0, stop)]
    if content.find(b"\r", 0, stop) >= 0:
        returns = np.flatnonzero(block.bytes == RETURN)
        found += returns[block.bytes[returns + 1] != NEWLINE][:1].tolist()
    return min((each for each in found if each >= 0), default=-1)


def _control_fault(block: Block, offset: int) -> DataFormatError:
    what = "a carriage return within the line" if block.bytes[offset] == RETURN else "a NUL byte"
    return block.error(offset, f"found {what}, expected text with lines that end in LF or CRLF")
