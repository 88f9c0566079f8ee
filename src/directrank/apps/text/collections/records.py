"""Documents, queries and judgements: how they are read, their text, and what was wrong with them."""

import codecs
import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from directrank.errors import DataError
from directrank.files.opening import opened as bytes_of
from directrank.storage.names import printable

#: Names that are listed of each kind of fault, and their longest form.
LISTED, SHOWN = 3, 40
HEAD_BYTES = 1 << 16
#: The second guess at an encoding; it decodes nearly all bytes.
FALLBACK = "cp1252"
NOT_UTF8 = f"texts are not UTF-8 and were read as {FALLBACK} (--encoding names another)"
#: Texts are read in pieces of about so many characters: results of many words take many times their memory.
PIECE = 1 << 20
#: Usual names of columns and keys, in lower case without punctuation, the most likely ones first.
GUESSES = {
    "docid": (
        "id", "docid", "docno", "documentid", "corpusid", "did", "pid", "passageid", "doc", "document", "url",
    ),
    "title": ("title", "headline", "heading", "name"),
    "body": ("text", "body", "contents", "content", "abstract", "passage", "description"),
    "qid": ("queryid", "qid", "topicid", "topic", "id"),
    "text": ("text", "query", "title", "question"),
    "grade": ("score", "grade", "relevance", "rel", "label", "judgment", "judgement"),
}  # fmt: skip
BLANK, TAG_BEGINS = re.compile(r"\s"), re.compile("<")


@dataclass(frozen=True, kw_only=True)
class CollectionOptions:
    """How to read the files of a collection.

    Attributes
    ----------
    form : str, optional
        The name of a format; by default it is detected.
    encoding : str, optional
        The encoding of the text; by default UTF-8, and cp1252 for texts that are not.
    columns : mapping of str to str
        Columns of tables and keys of JSON lines by their role, such as ``{"body": "abstract"}``. Roles are
        docid, title, body, qid, text and grade; those that are not given are guessed by usual names.
    title_ends : str, optional
        Text that ends the title, in a format without titles: what stands before its first occurrence is the
        title.
    topic_fields : tuple of str, default=("title",)
        The parts of a TREC topic that make the text of the query: title, desc, narr.
    grades : mapping of float to float
        Grades in place of the codes of the judgements, such as ``{1: 4, 4: 1}``; others stay.
    """

    form: str | None = None
    encoding: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    title_ends: str | None = None
    topic_fields: tuple[str, ...] = ("title",)
    grades: Mapping[float, float] = field(default_factory=dict)

    def __post_init__(self):
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(f"no encoding is called {self.encoding!r}; try utf-8 or latin-1") from None
        if unknown := self.columns.keys() - GUESSES.keys():
            raise ValueError(f"no column is a {min(unknown)}; expected one of {', '.join(GUESSES)}")


def without_zeros(name: str) -> str:
    """Return the name of a document or a query; a number without leading zeros, as SMART's tools read it."""
    return name.lstrip("0") or "0" if name.isascii() and name.isdigit() else name


def known_name(name: str, names: Container[str]) -> str:
    """Return a name; without its leading zeros if it is known only so."""
    number = without_zeros(name)
    return number if name not in names and number in names else name


def with_like_names(unknown: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return names that do not exist, each with one that is the same number, such as ``46 (0046 does)``."""
    unknown = list(unknown)
    numbers = {number for name in unknown if (number := without_zeros(name)).isdigit()}
    like = {number: name for name in names if (number := without_zeros(name)) in numbers} if numbers else {}
    plains = map(without_zeros, unknown)
    return [
        f"{name} ({like[number]} does)" if number in like else name
        for name, number in zip(unknown, plains, strict=True)
    ]


class Document(NamedTuple):
    """A document: its name, its title, which may be empty, and the rest of its text."""

    docid: str
    title: str
    body: str


class Query(NamedTuple):
    """A query: its name and its text."""

    qid: str
    text: str


class Judgement(NamedTuple):
    """The grade of a document for a query."""

    qid: str
    docid: str
    grade: float


class Faults:
    """Counts what is wrong with a collection, by kind, and keeps the first names of each kind."""

    def __init__(self):
        self._count: Counter[str] = Counter()
        self._names: dict[str, list[str]] = {}

    def add(self, kind: str, name: str) -> None:
        """Count one fault, such as ``"documents without text"``, with the name of what has it."""
        self._count[kind] += 1
        names = self._names.setdefault(kind, [])
        if len(names) < LISTED:
            names.append(printable(name[:SHOWN]))

    def count(self, kind: str) -> int:
        """Return the number of faults of a kind."""
        return self._count[kind]

    def lines(self) -> list[str]:
        """Return one sentence for each kind, with its count and the first names."""
        return [
            f"{count} {kind}: {', '.join(self._names[kind])}{', …' * (count > LISTED)}"
            for kind, count in self._count.items()
        ]


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its bytes, decompressed, without a byte order mark, UTF-16 as UTF-8.

    Raises DataError if it is no regular file, or a broken archive.
    """
    if not path.is_file():
        os.stat(path)  # says that nothing has this name
        raise DataError(f"{path}: not a regular file, expected a file of documents, queries or judgements")
    with bytes_of(path) as file:
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
    while match := begin.search(text, start + PIECE):
        yield text[start : match.start()]
        start = match.start()
    yield text[start:]
