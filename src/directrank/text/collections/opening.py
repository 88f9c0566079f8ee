"""Open the files of a collection, compressed or not, and decode their text."""

import codecs
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from directrank.data.files.opening import ANY_DIGEST
from directrank.data.files.opening import opened as bytes_of
from directrank.errors import DataError
from directrank.text.collections.records import Faults

HEAD_BYTES = 1 << 16
#: The second guess at an encoding; it decodes nearly all bytes.
FALLBACK = "cp1252"
NOT_UTF8 = f"texts are not UTF-8 and were read as {FALLBACK} (--encoding names another)"
#: Texts are read in pieces of about so many characters: results of many words take many times their memory.
PIECE = 1 << 20
BLANK, TAG_BEGINS = re.compile(r"\s"), re.compile("<")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its bytes, decompressed, without a byte order mark, UTF-16 as UTF-8.

    Raises
    ------
    DataError
        If it is no regular file, or a broken archive.
    """
    if not path.is_file():
        os.stat(path)  # says that nothing has this name
        raise DataError(f"{path}: not a regular file, expected a file of documents, queries or judgements")
    with bytes_of(path, ANY_DIGEST) as file:
        mark = file.peek(len(codecs.BOM_UTF8))
        if mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            yield codecs.EncodedFile(file, "utf-8", "utf-16", "replace")  # pyright: ignore[reportReturnType]
            return
        if mark.startswith(codecs.BOM_UTF8):
            file.read(len(codecs.BOM_UTF8))
        yield file


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with opened(path) as file:
        return file.read(HEAD_BYTES)


def decoded(content: bytes, encoding: str | None, name: str, faults: Faults) -> str:
    """Return text: in the encoding that is given, or UTF-8 and else cp1252, which is counted."""
    if encoding is not None:
        return content.decode(encoding, "replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        faults.add(NOT_UTF8, name)
        return content.decode(FALLBACK, "replace")


def pieces(text: str, begin: re.Pattern[str]) -> Iterator[str]:
    """Yield a text in pieces, each of which but the first one begins with a match of a pattern."""
    start = 0
    while found := begin.search(text, start + PIECE):
        yield text[start : found.start()]
        start = found.start()
    yield text[start:]
