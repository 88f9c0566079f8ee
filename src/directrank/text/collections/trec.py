"""The formats of TREC: documents between ``<DOC>`` tags, topics between ``<top>`` tags, qrels."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from directrank.data.trec.judgments import EXPECTED
from directrank.data.trec.words import as_bytes, read_rows
from directrank.errors import DataError
from directrank.text.collections.opening import decoded, opened
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.records import Document, Faults, Judgement, Query

NAME = "TREC"
#: A document longer than this is not closed by its tag.
LONGEST_DOCUMENT = 1 << 28
DOCNO = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.S | re.I)
TITLES = re.compile(r"<(TITLE|TI|TTL|HEADLINE|HEAD|HL|H3)>(.*?)</\1>", re.S | re.I)
BODIES = re.compile(r"<(TEXT|LP|LEADPARA|ABSTRACT|BODY)>(.*?)</\1>", re.S | re.I)
#: Numbers, dates and codes, which are no text.
CODES = re.compile(
    r"<(DOCNO|DOCID|FILEID|DATE|DATE1|DD|AN|SO|CO|IN|GV|RE|NS|G|ST|SECTION|LENGTH)>.*?</\1>", re.S | re.I
)
TAG = re.compile(r"<[^<>]*>")
BLANKS = re.compile(r"\s+")
NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.I)
#: Words that TREC repeats after a tag.
LABELS = re.compile(r"^\s*(Topic|Description|Narrative)\s*:", re.I)


def detects(head: bytes) -> bool:
    """Return whether a file begins with a document or a topic of TREC."""
    start = head.lstrip()[:64].lower()
    return start.startswith((b"<doc>", b"<top>", b"<!doctype", b"<?xml"))


def documents(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Document]:
    """Yield the documents of a file.

    Titles are the contents of TITLE, HEADLINE, HL and alike; the body is that of TEXT, LP and alike, or,
    without them, all other text.
    """
    for number, content in enumerate(_between(path, b"doc"), 1):
        text = decoded(content, how.encoding, f"document {number}", faults)
        found = DOCNO.search(text)
        if found is None:
            faults.add("documents without <DOCNO> are left out", f"document {number} of {path.name}")
            continue
        bodies = " ".join(each[1] for each in BODIES.findall(text))
        title = " ".join(each[1] for each in TITLES.findall(BODIES.sub(" ", text)))
        body = bodies or TITLES.sub(" ", CODES.sub(" ", text))
        yield Document(found[1].strip(), _plain(title), _plain(body, how.title_ends))


def queries(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Query]:
    """Yield the topics of a file: the parts that `topic_fields` names, closed by a tag or by the next one."""
    for number, content in enumerate(_between(path, b"top"), 1):
        text = decoded(content, how.encoding, f"topic {number}", faults)
        found = NUMBER.search(text)
        if found is None:
            faults.add("topics without <num> are left out", f"topic {number} of {path.name}")
            continue
        parts = [re.search(rf"<{name}>(.*?)(?=<[a-z/]|\Z)", text, re.S | re.I) for name in how.topic_fields]
        yield Query(found[1], " ".join(_plain(LABELS.sub("", each[1])) for each in parts if each))


def _plain(text: str, kept: str | None = None) -> str:
    """Return text without tags, with single blanks; `kept` stays as it is."""
    text = html.unescape(TAG.sub("\n", text)).strip()
    if kept is not None and kept in text:
        title, _, body = text.partition(kept)
        return f"{BLANKS.sub(' ', title)}{kept}{BLANKS.sub(' ', body)}"
    return BLANKS.sub(" ", text)


def _between(path: Path, tag: bytes) -> Iterator[bytes]:
    """Yield what stands between the opening and the closing tags."""
    opening, closing = b"<" + tag + b">", b"</" + tag + b">"
    with opened(path) as file:
        lines: list[bytes] | None = None
        size = 0
        for line in file:
            low = line.lower()
            if opening in low:
                lines, size = [], 0
                line = line[low.index(opening) + len(opening) :]
                low = line.lower()
            if lines is None:
                continue
            lines.append(line[: low.index(closing)] if closing in low else line)
            size += len(line)
            if closing in low:
                yield b"".join(lines)
                lines = None
            elif size > LONGEST_DOCUMENT:
                raise DataError(
                    f"{path}: a document of more than {LONGEST_DOCUMENT} bytes; its closing tag is missing"
                )


def detects_judgements(head: bytes) -> bool:
    """Return whether the first line has four words."""
    return len(head.partition(b"\n")[0].split()) == 4


def judgements(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Judgement]:
    """Yield the lines of qrels: ``query iteration document grade``."""
    rows = read_rows(path, 4, EXPECTED)
    grades = rows.numbers(3, "expected a grade: a number").tolist()
    words = [
        as_bytes(rows.block.bytes, np.ascontiguousarray(rows.words[:, column])).tolist() for column in (0, 2)
    ]
    for qid, docid, grade in zip(*words, grades, strict=True):
        yield Judgement(
            qid.decode("utf-8", "backslashreplace"), docid.decode("utf-8", "backslashreplace"), grade
        )
