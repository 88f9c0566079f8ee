"""Open files, compressed or not, and check their digests; cut them into lines, or blocks of whole lines."""

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, islice
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from directrank.data.cells import is_number
from directrank.data.memory import refuse_if_too_large
from directrank.errors import DataError, DataFormatError, install_line
from directrank.kernels.aligned import aligned_zeros
from directrank.storage.hashed_file import Digests, HashedFile, file_digest
from directrank.storage.names import printable

#: Returns zeros for the features of so many documents; takes the name of the data, for messages.
Allocator = Callable[[str, int, int], np.ndarray]

#: Bytes at the end of a file, among which its last number is.
LONGEST_NUMBER = 64
#: The SHA-256, in hex, that the bytes of files must still have at the end of reading.
ANY_DIGEST: Digests = MappingProxyType({})
#: The first bytes of compressed files, and the module that opens these; pyarrow opens Zstandard.
COMPRESSED: Mapping[bytes, ModuleType] = {b"\x1f\x8b": gzip, b"BZh": bz2, b"\xfd7zXZ": lzma}
ZSTANDARD = b"(\xb5/\xfd"
#: The first bytes of files that are not read.
ARCHIVES = {b"\x04\x22\x4d\x18": "LZ4", b"\xff\x06\0\0sNaPpY": "Snappy", b"7z\xbc\xaf": "7-Zip"}
BINARIES = {
    b"\x93NUMPY": "an array of NumPy", b"\x89HDF": "HDF5", b"Obj\x01": "Avro", b"SQLite format 3": "SQLite",
    b"\x80\x04\x95": "a pickle", b"\x80\x05\x95": "a pickle", b"\xd0\xcf\x11\xe0": "an old table of Excel",
}  # fmt: skip
TAR_MAGIC_AT = 257
#: Endings of files that a message may name, and how many names of a folder are looked at.
TEXTS_AND_TABLES = (
    ".txt", ".letor", ".svm", ".dat", ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".gz", ".qrels",
    ".run", ".trec",
)  # fmt: skip
MOST_LISTED = 1000
ZIP_MAGIC = b"PK\x03\x04"
# A block stays in the cache of the processor between the passes over it.
BLOCK_BYTES = 2**20
#: The longest line of a block, in bytes: one of a million features takes about half as many; and the longest
#: line of the small files that are read line by line.
LONGEST_LINE, LONGEST_SMALL_LINE = 2**24, 2**16
#: Byte order marks of UTF-16, as Excel and PowerShell write them.
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NEWLINE, RETURN, HASH = b"\n"[0], b"\r"[0], b"#"[0]


def refuse_special(path: Path) -> None:
    """Raise `DataFormatError` if a path is a folder, a pipe or a device."""
    if path.is_dir():
        raise DataFormatError(str(path), 0, 0, f"is a folder, expected a file; {_file_in(path)}")
    if path.exists() and not path.is_file():
        problem = "is a pipe or a device, expected a file: it is read twice; save it first"
        raise DataFormatError(str(path), 0, 0, problem)


def _file_in(folder: Path) -> str:
    """Return which file in a folder may be meant: the qrels of BEIR, a part of a fold, or another."""
    patterns = ("qrels/test.tsv", "test.*", "*", "*/test.*", "*/*")
    found = chain.from_iterable(sorted(islice(folder.glob(name), MOST_LISTED)) for name in patterns)
    files = [path for path in found if path.suffix in TEXTS_AND_TABLES and path.is_file()]
    if not files:
        return "name one"
    if files[0].name.startswith("part-"):
        return "save its parts, such as those of Spark, as one"
    return f"name one, such as {printable(str(files[0]))}"


def input_digest(path: Path) -> str:
    """Return the SHA-256, in hex, of the bytes of a file; refuse a folder, a pipe and a device."""
    refuse_special(path)
    return file_digest(path)


def end_line(path: Path) -> str:
    """Return a line about a last number that may be cut: of a text whose last line has no line end."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(-min(LONGEST_NUMBER, file.seek(0, os.SEEK_END)), os.SEEK_END)
        end = file.read()
    # An archive that is cut is refused; its last bytes are no text.
    if end[-1:] in (b"", b"\n", b"\r") or not end.isascii() or b"\0" in end:
        return ""
    last = re.split(r"[\s,;:]", end.decode())[-1]
    if not is_number(last):
        return ""
    cut = f"if the file was cut short, its last number, {last!r}, may be too"
    return f"{path}: the last line has no line end: {cut}"


@contextmanager
def opened(path: Path, digests: Digests = ANY_DIGEST) -> Iterator[Any]:
    """Open a file to read its bytes, decompressed and without a byte order mark; UTF-16 becomes UTF-8.

    At their end a DataError is raised if they do not have their digest. Raises DataFormatError if the file is
    a broken archive, or no text in the encoding that its byte order mark tells.
    """
    file = path.open("rb", buffering=0)
    if path in digests:
        file = HashedFile(file, lambda digest: _refuse_changed(path, digest, digests))
    with io.BufferedReader(file) as content, _decompressed(path, content) as stream:
        start = stream.peek(len(codecs.BOM_UTF8))
        if start.startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        if not start.startswith(UTF_16_MARKS):
            yield stream
            return
        try:
            yield io.BufferedReader(_AsUTF8(stream))
        except UnicodeDecodeError as error:
            problem = f"begins as UTF-16 and is none ({error.reason}); save it as UTF-8"
            raise DataFormatError(str(path), 0, 0, problem) from None


@contextmanager
def _decompressed(path: Path, content: Any) -> Iterator[Any]:
    """Yield what a file holds, decompressed if its first bytes are those of an archive."""
    start = content.peek(8)
    if start.startswith(ZSTANDARD):
        try:
            import pyarrow
        except ImportError:
            raise DataError(
                f"{path}: reading Zstandard (.zst) needs pyarrow: {install_line('arrow')}"
            ) from None
        what, decompressed = "zstd", io.BufferedReader(pyarrow.CompressedInputStream(content, "zstd"))
    else:
        form = next((form for magic, form in COMPRESSED.items() if start.startswith(magic)), None)
        if form is None:
            if problem := _unreadable(content.peek(TAR_MAGIC_AT + 8)):
                raise DataFormatError(str(path), 0, 0, problem)
            yield content
            return
        what, decompressed = form.__name__, form.open(content)
    try:
        with decompressed:
            yield decompressed
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        problem = f"a broken archive, damaged or cut short ({what}: {error}); copy it again"
        raise DataFormatError(str(path), 0, 0, problem) from None


def _unreadable(start: bytes) -> str:
    """Return what is wrong with a file that begins so, if it is known to be no text."""
    kind = next((kind for magic, kind in ARCHIVES.items() if start.startswith(magic)), "")
    if kind or start[TAR_MAGIC_AT:].startswith(b"ustar"):
        return f"is {kind or 'an archive of tar'}, which is not read; unpack it, or compress by gzip or zstd"
    kind = next((kind for magic, kind in BINARIES.items() if start.startswith(magic)), "")
    # TensorFlow writes the length of a record first, in 8 bytes; safetensors that of its JSON.
    if not kind and start[:1] != b"\0" and start[4:8] == bytes(4):
        if start[8:9] == b"{":
            return (
                "is a model, where documents, judgments or a run are expected; `evaluate` takes it by --model"
            )
        kind = "TFRecord"
    return f"is {kind}, which is not read; write its documents as Parquet or CSV" if kind else ""


class _AsUTF8(io.RawIOBase):
    """The bytes of a file of UTF-16 as UTF-8."""

    def __init__(self, content: Any):
        self._text = io.TextIOWrapper(content, "utf-16", newline="")
        self._rest = b""

    def readable(self) -> bool:
        """Whether the file can be read, which it can."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return the number of bytes."""
        if not self._rest:
            self._rest = self._text.read(BLOCK_BYTES).encode()
        part = self._rest[: len(buffer)]
        self._rest = self._rest[len(part) :]
        buffer[: len(part)] = part
        return len(part)


def check_digest(path: Path, digests: Digests) -> None:
    """Raise DataError if the bytes of a file, which another library read, do not have their digest."""
    if path in digests:
        _refuse_changed(path, file_digest(path), digests)


def _refuse_changed(path: Path, digest: str, digests: Digests) -> None:
    if digest != digests[path]:
        problem = "changed while the comparison ran, so nothing of it is kept"
        raise DataError(f"{printable(str(path))}: {problem}; rerun the same command")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line that is not empty, without blanks at its ends.

    Small files and pipes are read so; a file without line ends is refused while it is read. Raises
    DataFormatError if a line is longer than `LONGEST_SMALL_LINE`.
    """
    with opened(path) as file:
        for number in count(1):
            line = file.readline(LONGEST_SMALL_LINE + 1)
            if not line:
                return
            if len(line) > LONGEST_SMALL_LINE:
                problem = f"the line is longer than {LONGEST_SMALL_LINE} bytes, the longest that is read"
                raise DataFormatError(str(path), number, 1, problem)
            if text := line.decode("utf-8", "replace").strip():
                yield number, text


@dataclass(frozen=True, eq=False)
class Block:
    """Whole lines of a file; reading the next block overwrites the bytes."""

    path: Path
    bytes: np.ndarray  # Ends with a newline; one is added to a last line without it
    first_line: int  # Number of the first line in the file, from 1
    added: np.ndarray | None = None  # (n_lines, 2): start and length of what the file does not have

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
        return Block(self.path, self.bytes[:stop], self.first_line, self.added)

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
        """Return an error that names the line of an offset, and its column in the file."""
        line = self.line_of(offset)
        column = offset - self.starts[line] + 1
        if self.added is not None:
            place, size = self.added[line]
            column -= min(size, max(column - 1 - place, 0))
        return DataFormatError(str(self.path), self.first_line + line, column, problem)


def blocks_of(path: Path, digests: Digests = ANY_DIGEST, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Cut a file into blocks of about `size` bytes; all lines before a fault are yielded before it is raised.

    Raises DataFormatError if the file is not plain text: a broken archive, a NUL byte, a carriage return
    within a line, a line longer than `LONGEST_LINE`.
    """
    first_line = 1
    try:
        for content, stop in _whole_lines(path, size, digests):
            block = Block(path, np.frombuffer(content, np.uint8, stop), first_line)
            if first_line == 1 and content.startswith(ZIP_MAGIC):
                raise DataFormatError(str(path), 0, 0, "is a zip archive; unpack it, or compress by gzip")
            control = _first_control(block, content, stop)
            if control >= 0:
                if before := block.line_of(control):
                    yield block.until(before)
                what = "a NUL byte" if block.bytes[control] != RETURN else "a carriage return within the line"
                raise block.error(control, f"found {what}, expected text with lines that end in LF or CRLF")
            yield block
            first_line += int(np.count_nonzero(block.bytes == NEWLINE))
    except _LineTooLongError:
        problem = f"the line is longer than {LONGEST_LINE} bytes, the longest that is read; split it"
        raise DataFormatError(str(path), first_line, 1, problem) from None


class _LineTooLongError(Exception):
    """A line does not end where the longest line would."""


def _whole_lines(path: Path, size: int, digests: Digests) -> Iterator[tuple[bytearray, int]]:
    """Yield a buffer and the number of its bytes that are whole lines."""
    refuse_special(path)
    buffer, remainder = bytearray(size), 0
    with opened(path, digests) as file:
        while n_bytes := file.readinto(memoryview(buffer)[remainder:-1]):
            filled = remainder + n_bytes
            stop = buffer.rfind(b"\n", remainder, filled) + 1
            if not stop:
                remainder = filled
                if remainder > LONGEST_LINE:
                    raise _LineTooLongError
                if remainder > len(buffer) - 1 - size // 2:
                    buffer = buffer + bytearray(size)
                continue
            yield buffer, stop
            # After a long line blocks are of the usual size again, so that they have few lines.
            remainder, rest = filled - stop, buffer[stop:filled]
            buffer = bytearray(size) if len(buffer) > size else buffer
            buffer[:remainder] = rest
    if remainder:
        buffer[remainder] = NEWLINE
        yield buffer, remainder + 1


def _first_control(block: Block, content: bytearray, stop: int) -> int:
    """Return the first NUL byte or carriage return within a line; -1 if there is none.

    Searches for one byte take a fifth of the time of a pattern.
    """
    offsets = [content.find(b"\0", 0, stop)]
    if content.find(b"\r", 0, stop) >= 0:
        returns = np.flatnonzero(block.bytes == RETURN)
        offsets += returns[block.bytes[returns + 1] != NEWLINE][:1].tolist()
    return min((offset for offset in offsets if offset >= 0), default=-1)


def rows_in_memory(name: str, n_docs: int, n_features: int) -> np.ndarray:
    """Return zeros for the features of documents, float32 (n_docs, n_features).

    Raises DataError if they do not fit in memory.
    """
    refuse_if_too_large(name, n_docs, n_features)
    return aligned_zeros((n_docs, n_features), np.float32)
