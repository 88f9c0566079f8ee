"""The formats of TREC: documents between ``<DOC>`` tags, topics between ``<top>`` tags, qrels."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from directrank.data.files.trec import QRELS_EXPECTED
from directrank.data.files.words import as_bytes, read_rows
from directrank.errors import DataError
from directrank.text.collections.opening import BLANK, TAG_BEGINS, decoded, opened, pieces
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.records import Document, Faults, Judgement, Query

NAME = "TREC"
#: A document longer than this is not closed by its tag.
LONGEST_DOCUMENT = 1 << 28
# These patterns match single tags: one that looks for the closing tag, too, reads the rest of the text again
# for each opening tag that is not closed.
DOCNO = re.compile("<(/?)(DOCNO)>", re.I)
TITLES = re.compile("<(/?)(TITLE|TI|TTL|HEADLINE|HEAD|HL|H3)>", re.I)
BODIES = re.compile("<(/?)(TEXT|LP|LEADPARA|ABSTRACT|BODY)>", re.I)
#: Numbers, dates and codes, which are no text.
CODES = re.compile("<(/?)(DOCNO|DOCID|FILEID|DATE|DATE1|DD|AN|SO|CO|IN|GV|RE|NS|G|ST|SECTION|LENGTH)>", re.I)
TAG = re.compile(r"<[^<>]*>")
NUMBER = re.compile(r"<num>\s*(?:Number:\s*)?([^\s<]+)", re.I)
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
        names, _ = _divided(text, DOCNO)
        if not names:
            faults.add("documents without <DOCNO> are left out", f"document {number} of {path.name}")
            continue
        bodies, others = _divided(text, BODIES)
        titles, _ = _divided(" ".join(others), TITLES)
        body = " ".join(bodies)
        if not body:
            _, others = _divided(text, CODES)
            _, others = _divided(" ".join(others), TITLES)
            body = " ".join(others)
        yield Document(names[0].strip(), _plain(" ".join(titles)), _plain(body, how.title_ends))


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


def _divided(text: str, tags: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Return what stands between opening tags and the next closing tags of their names, and all the rest."""
    found = list(tags.finditer(text))
    closing: dict[str, re.Match[str]] = {}
    elements = []
    for tag in reversed(found):
        name = tag[2].lower()
        if tag[1]:
            closing[name] = tag
        elif name in closing:
            elements.append((tag, closing[name]))
    inside, outside, end = [], [], 0
    for first, last in reversed(elements):
        if first.start() >= end:
            outside.append(text[end : first.start()])
            inside.append(text[first.end() : last.start()])
            end = last.end()
    return inside, [*outside, text[end:]]


def _plain(text: str, kept: str | None = None) -> str:
    """Return text without tags, with single blanks; `kept` stays as it is."""
    text = "".join(TAG.sub("\n", piece) for piece in pieces(text, TAG_BEGINS))
    text = "".join(html.unescape(piece) for piece in pieces(text, BLANK)).strip()
    if kept is not None and kept in text:
        title, _, body = text.partition(kept)
        return f"{_single_blanks(title)}{kept}{_single_blanks(body)}"
    return _single_blanks(text)


def _single_blanks(text: str) -> str:
    words = (" ".join(piece.split()) for piece in pieces(text, BLANK))
    return " ".join(filter(None, words))


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
                content, lines = b"".join(lines), None
                yield content
                del content
            elif size > LONGEST_DOCUMENT:
                raise DataError(
                    f"{path}: a document of more than {LONGEST_DOCUMENT} bytes; its closing tag is missing"
                )


def detects_judgements(head: bytes) -> bool:
    """Return whether the first line has four words."""
    return len(head.partition(b"\n")[0].split()) == 4


def judgements(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Judgement]:
    """Yield the lines of qrels: ``query iteration document grade``."""
    rows = read_rows(path, 4, QRELS_EXPECTED)
    grades = rows.numbers(3, "expected a grade: a number").tolist()
    words = [
        as_bytes(rows.block.bytes, np.ascontiguousarray(rows.words[:, column])).tolist() for column in (0, 2)
    ]
    for qid, docid, grade in zip(*words, grades, strict=True):
        yield Judgement(
            qid.decode("utf-8", "backslashreplace"), docid.decode("utf-8", "backslashreplace"), grade
        )
