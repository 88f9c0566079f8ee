"""The SMART format: ``.I`` begins a document or a query, ``.T`` its title, ``.W`` its text."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from directrank.data.files.words import Rows, as_bytes, read_rows
from directrank.text.collections.opening import decoded, opened
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.records import Document, Faults, Judgement, Query, without_zeros

NAME = "SMART"
MARKER = re.compile(rb"\.([A-Z])\s*$")
ITEM = re.compile(rb"\.I\s+(\S+)")
BLANKS = re.compile(r"\s+")
#: Titles of fewer blanks may begin a text by chance.
LEAST_BLANKS = 2


def detects(head: bytes) -> bool:
    """Return whether a file begins with an item of SMART."""
    return ITEM.match(head.lstrip()) is not None


def documents(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Document]:
    """Yield the documents of a file; a title that the text repeats is removed from the text."""
    for docid, parts in _items(path, how, faults):
        title, body = parts.get("T", ""), parts.get("W", "")
        if title.count(" ") >= LEAST_BLANKS and f"{body} ".startswith(f"{title} "):
            body = body[len(title) :].lstrip()
        yield Document(docid, title, body)


def queries(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Query]:
    """Yield the queries of a file: title and text."""
    for qid, parts in _items(path, how, faults):
        yield Query(qid, " ".join(filter(None, (parts.get("T"), parts.get("W")))))


def _items(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[tuple[str, dict[str, str]]]:
    with opened(path) as file:
        name, parts, current = None, {}, None
        for line in file:
            if item := ITEM.match(line):
                if name is not None:
                    yield _item(name, parts, how, faults)
                name, parts, current = item[1], {}, None
            elif marker := MARKER.match(line):
                current = parts.setdefault(marker[1], [])
            elif current is not None:
                current.append(line)
        if name is not None:
            yield _item(name, parts, how, faults)


def _item(
    name: bytes, parts: dict[bytes, list[bytes]], how: CollectionOptions, faults: Faults
) -> tuple[str, dict[str, str]]:
    docid = without_zeros(name.decode("utf-8", "backslashreplace"))
    texts = {
        letter.decode(): decoded(b"".join(lines), how.encoding, docid, faults)
        for letter, lines in parts.items()
        if letter in b"TW"
    }
    return docid, {letter: BLANKS.sub(" ", text).strip() for letter, text in texts.items()}


def detects_judgements(head: bytes) -> bool:
    """Return whether lines are ``query document code``, or ``query document 0 0.0``.

    The second form may have a whole number at its end, as CACM's ``01 1410 0 0``. In TREC's form, these lines
    would all judge a document called 0 as not relevant.
    """
    whole = head[: head.rfind(b"\n") + 1] or head
    lines = [words for line in whole.splitlines() if (words := line.split())]
    return len(lines[0]) == 3 or (
        all(len(each) == 4 and each[2] == b"0" and each[3].strip(b"0") in (b"", b".") for each in lines)
        and any(each[1].strip(b"0") for each in lines)
    )


def judgements(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Judgement]:
    """Yield the judgement of each line: ``query document code``, or ``query document 0 0.0``.

    The second form, that of CISI and CACM, names relevant documents, so the grade is 1.
    """
    with opened(path) as file:
        width = len(file.readline().split())
    rows = read_rows(
        path, width, f"expected {width} as in the first line: query, document and a code (SMART)"
    )
    grades = rows.numbers(2, "expected a code: a number") if width == 3 else np.ones(len(rows.line))
    names = zip(_words(rows, 0), _words(rows, 1), grades.tolist(), strict=True)
    for qid, docid, grade in names:
        yield Judgement(without_zeros(qid), without_zeros(docid), grade)


def _words(rows: Rows, column: int) -> list[str]:
    found = as_bytes(rows.block.bytes, np.ascontiguousarray(rows.words[:, column]))
    return [word.decode("utf-8", "backslashreplace") for word in found.tolist()]
