"""The formats of collections: tables, JSON lines, SMART and TREC; how each is recognised and read."""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.data.files.trec import QRELS_EXPECTED
from directrank.data.files.words import read_rows
from directrank.data.files.words import text_of as word_of
from directrank.errors import DataError
from directrank.text.collections import tables
from directrank.text.collections.records import (
    BLANK,
    TAG_BEGINS,
    CollectionOptions,
    Document,
    Faults,
    Judgement,
    Query,
    decoded,
    head_of,
    opened,
    pieces,
    without_zeros,
)
from directrank.text.collections.tables import chosen, text_of

Reader = Callable[[Any, CollectionOptions, Faults], Iterator[Any]]

# JSON lines, one object a line, and BEIR's folder: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/``.


def json_detects(head: bytes) -> bool:
    """Return whether a file begins with an object of JSON."""
    return head.lstrip().startswith(b"{")


def json_documents(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Document]:
    """Yield the documents of a file."""
    for cells in _json_cells(path, ("docid", "title", "body"), how, faults):
        yield Document(*cells)


def json_queries(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Query]:
    """Yield the queries of a file."""
    for cells in _json_cells(path, ("qid", "text"), how, faults):
        yield Query(*cells)


def _json_cells(
    path: Path, roles: tuple[str, ...], how: CollectionOptions, faults: Faults
) -> Iterator[list[str]]:
    """Yield the values of these roles, as text, of each object."""
    keys, columns = None, []
    for record in _json_records(path, how, faults):
        if record.keys() != keys:
            keys, columns = record.keys(), chosen(record, roles, how, str(path))
        yield ["" if column is None else text_of(record.get(column)) for column in columns]


def _json_records(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[dict[str, Any]]:
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(decoded(line, how.encoding, f"line {number}", faults))
            except (ValueError, RecursionError):
                record = None
            if isinstance(record, dict):
                yield record
            else:
                faults.add("lines are no JSON objects and are left out", f"line {number} of {path.name}")


# The SMART format: ``.I`` begins a document or a query, ``.T`` its title, ``.W`` its text.
MARKER = re.compile(rb"\.([A-Z])\s*$")
ITEM = re.compile(rb"\.I\s+(\S+)")
BLANKS = re.compile(r"\s+")
#: Titles of fewer blanks may begin a text by chance.
LEAST_BLANKS = 2


def smart_detects(head: bytes) -> bool:
    """Return whether a file begins with an item of SMART."""
    return ITEM.match(head.lstrip()) is not None


def smart_documents(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Document]:
    """Yield the documents of a file; a title that the text repeats is removed from the text."""
    for docid, parts in _smart_items(path, how, faults):
        title, body = parts.get("T", ""), parts.get("W", "")
        if title.count(" ") >= LEAST_BLANKS and f"{body} ".startswith(f"{title} "):
            body = body[len(title) :].lstrip()
        yield Document(docid, title, body)


def smart_queries(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Query]:
    """Yield the queries of a file: title and text."""
    for qid, parts in _smart_items(path, how, faults):
        yield Query(qid, " ".join(filter(None, (parts.get("T"), parts.get("W")))))


def _smart_items(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[tuple[str, dict[str, str]]]:
    with opened(path) as file:
        name, parts, current = None, {}, None
        for line in file:
            if item := ITEM.match(line):
                if name is not None:
                    yield _smart_item(name, parts, how, faults)
                name, parts, current = item[1], {}, None
            elif marker := MARKER.match(line):
                current = parts.setdefault(marker[1], [])
            elif current is not None:
                current.append(line)
        if name is not None:
            yield _smart_item(name, parts, how, faults)


def _smart_item(
    name: bytes, parts: dict[bytes, list[bytes]], how: CollectionOptions, faults: Faults
) -> tuple[str, dict[str, str]]:
    docid = without_zeros(name.decode("utf-8", "backslashreplace"))
    texts = {
        letter.decode(): decoded(b"".join(lines), how.encoding, docid, faults)
        for letter, lines in parts.items()
        if letter in b"TW"
    }
    return docid, {letter: BLANKS.sub(" ", text).strip() for letter, text in texts.items()}


def smart_detects_judgements(head: bytes) -> bool:
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


def smart_judgements(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Judgement]:
    """Yield the judgement of each line: ``query document code``, or ``query document 0 0.0``.

    The second form, that of CISI and CACM, names relevant documents, so the grade is 1.
    """
    with opened(path) as file:
        width = len(file.readline().split())
    rows = read_rows(
        path, width, f"expected {width} as in the first line: query, document and a code (SMART)"
    )
    grades = rows.numbers(2, "expected a code: a number") if width == 3 else np.ones(len(rows.line))
    qids, docids = (map(word_of, column.tolist()) for column in rows.columns[:2])
    for qid, docid, grade in zip(qids, docids, grades.tolist(), strict=True):
        yield Judgement(without_zeros(qid), without_zeros(docid), grade)


# The formats of TREC: documents between ``<DOC>`` tags, topics between ``<top>`` tags, qrels.
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


def trec_detects(head: bytes) -> bool:
    """Return whether a file begins with a document or a topic of TREC."""
    start = head.lstrip()[:64].lower()
    return start.startswith((b"<doc>", b"<top>", b"<!doctype", b"<?xml"))


def trec_documents(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Document]:
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


def trec_queries(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Query]:
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


def trec_detects_judgements(head: bytes) -> bool:
    """Return whether the first line has four words."""
    return len(head.partition(b"\n")[0].split()) == 4


def trec_judgements(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Judgement]:
    """Yield the lines of qrels: ``query iteration document grade``."""
    rows = read_rows(path, 4, QRELS_EXPECTED)
    grades = rows.numbers(3, "expected a grade: a number").tolist()
    qids, docids = (map(word_of, rows.columns[column].tolist()) for column in (0, 2))
    yield from map(Judgement, qids, docids, grades)


class CollectionFormat(NamedTuple):
    """A format of documents, queries or judgements."""

    # name, called: As on the command line, and as in messages
    name: str
    called: str
    # From documents, queries or judgements to whether the first bytes of a file are those of one, and to what
    # reads it: from a path, the options and the faults to records
    readers: Mapping[str, tuple[Callable[[bytes], bool], Reader]]


#: Every format. A name of a table decides before content; else the first one that recognises a file reads it.
FORMATS = (
    CollectionFormat("table", "table", {
        role: (lambda _: False, reader) for role, reader in tables.READERS.items()
    }),
    CollectionFormat("jsonl", "JSON lines", {
        "documents": (json_detects, json_documents),
        "queries": (json_detects, json_queries),
    }),
    CollectionFormat("smart", "SMART", {
        "documents": (smart_detects, smart_documents),
        "queries": (smart_detects, smart_queries),
        "judgements": (smart_detects_judgements, smart_judgements),
    }),
    CollectionFormat("trec", "TREC", {
        "documents": (trec_detects, trec_documents),
        "queries": (trec_detects, trec_queries),
        "judgements": (trec_detects_judgements, trec_judgements),
    }),
)  # fmt: skip


def format_of(path: Path, role: str, how: CollectionOptions) -> CollectionFormat:
    """Return the format of a file of documents, queries or judgements.

    Raises DataError if no format recognises it, ValueError if the options name a format that does not exist
    or has no such role.
    """
    able = {form.name: form for form in FORMATS if role in form.readers}
    if how.form is not None and role == "documents":
        if how.form not in able:
            raise ValueError(f"expected {', '.join(able)}, not {how.form!r}")
        return able[how.form]
    if tables.names_table(path):
        return able["table"]
    head = head_of(path)
    if not head.strip():
        raise DataError(f"{path}: is empty, expected {role}")
    for form in able.values():
        if form.readers[role][0](head):
            return form
    known = ", ".join(form.called for form in able.values())
    raise DataError(f"{path}: not recognised as {role}; expected one of {known}, also compressed")
