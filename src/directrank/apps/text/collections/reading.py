"""Read documents, queries and judgements: of a file, a folder or a data frame, whatever its format."""

import html
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.text.collections import tables
from directrank.apps.text.collections.records import (
    BLANK,
    TAG_BEGINS,
    CollectionOptions,
    Document,
    Faults,
    Judgement,
    Query,
    decoded,
    head_of,
    known_name,
    opened,
    pieces,
    with_like_names,
    without_zeros,
)
from directrank.apps.text.collections.tables import called
from directrank.errors import DataError
from directrank.files.trec import QRELS_EXPECTED
from directrank.files.words import read_rows
from directrank.files.words import text_of as word_of

# The SMART format: ``.I`` begins a document or a query, ``.T`` its title, ``.W`` its text.
MARKER = re.compile(rb"\.([A-Z])\s*$")
ITEM = re.compile(rb"\.I\s+(\S+)")
BLANKS = re.compile(r"\s+")
#: Titles of fewer blanks may begin a text by chance.
LEAST_BLANKS = 2


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


def has_smart_judgements(head: bytes) -> bool:
    """Return whether lines are ``query document code``, or ``query document 0 0.0``.

    The second form may have a whole number at its end, as CACM's ``01 1410 0 0``. In TREC's form, these lines
    would all judge a document called 0 as not relevant.
    """
    complete = head[: head.rfind(b"\n") + 1] or head
    lines = [words for line in complete.splitlines() if (words := line.split())]
    return len(lines[0]) == 3 or (
        all(len(row) == 4 and row[2] == b"0" and row[3].strip(b"0") in (b"", b".") for row in lines)
        and any(row[1].strip(b"0") for row in lines)
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
    qids, docids = (map(word_of, rows.column(column).tolist()) for column in (0, 1))
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
        bodies, rest = _divided(text, BODIES)
        titles, _ = _divided(" ".join(rest), TITLES)
        body = " ".join(bodies)
        if not body:
            _, rest = _divided(text, CODES)
            _, rest = _divided(" ".join(rest), TITLES)
            body = " ".join(rest)
        yield Document(names[0].strip(), _without_tags(" ".join(titles)), _without_tags(body, how.title_ends))


def trec_queries(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Query]:
    """Yield the topics of a file: the parts that `topic_fields` names, closed by a tag or by the next one."""
    for number, content in enumerate(_between(path, b"top"), 1):
        text = decoded(content, how.encoding, f"topic {number}", faults)
        match = NUMBER.search(text)
        if match is None:
            faults.add("topics without <num> are left out", f"topic {number} of {path.name}")
            continue
        parts = [re.search(rf"<{name}>(.*?)(?=<[a-z/]|\Z)", text, re.S | re.I) for name in how.topic_fields]
        yield Query(match[1], " ".join(_without_tags(LABELS.sub("", part[1])) for part in parts if part))


def _divided(text: str, tags: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Return what stands between opening tags and the next closing tags of their names, and all the rest."""
    matches = list(tags.finditer(text))
    closing: dict[str, re.Match[str]] = {}
    elements = []
    for tag in reversed(matches):
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


def _without_tags(text: str, separator: str | None = None) -> str:
    """Return text without tags, with single blanks; `separator` stays as it is."""
    text = "".join(TAG.sub("\n", piece) for piece in pieces(text, TAG_BEGINS))
    text = "".join(html.unescape(piece) for piece in pieces(text, BLANK)).strip()
    if separator is not None and separator in text:
        title, _, body = text.partition(separator)
        return f"{_single_blanks(title)}{separator}{_single_blanks(body)}"
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


def trec_judgements(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Judgement]:
    """Yield the lines of qrels: ``query iteration document grade``."""
    rows = read_rows(path, 4, QRELS_EXPECTED)
    grades = rows.numbers(3, "expected a grade: a number").tolist()
    qids, docids = (map(word_of, rows.column(column).tolist()) for column in (0, 2))
    yield from map(Judgement, qids, docids, grades)


class CollectionFormat(NamedTuple):
    """A format of documents, queries or judgements."""

    # name, called: As on the command line, and as in messages
    name: str
    called: str
    # From documents, queries or judgements to what reads them: from a path, the options and the faults
    readers: Mapping[str, Callable[[Any, CollectionOptions, Faults], Iterator[Any]]]
    # Whether the first bytes of a file, without blanks before them, are those of documents or queries; and
    # whether the first bytes are those of judgements
    has_texts: Callable[[bytes], bool]
    has_judgements: Callable[[bytes], bool] = lambda head: False


#: Every format. A name of a table decides before content; else the first one that recognises a file reads it.
FORMATS = (
    CollectionFormat("table", "table", tables.READERS, lambda head: False, lambda head: False),
    CollectionFormat("jsonl", "JSON lines", tables.JSON_READERS, lambda head: head.startswith(b"{")),
    CollectionFormat(
        "smart", "SMART",
        {"documents": smart_documents, "queries": smart_queries, "judgements": smart_judgements},
        lambda head: ITEM.match(head) is not None, has_smart_judgements,
    ),
    CollectionFormat(
        "trec", "TREC",
        {"documents": trec_documents, "queries": trec_queries, "judgements": trec_judgements},
        lambda head: head[:64].lower().startswith((b"<doc>", b"<top>", b"<!doctype", b"<?xml")),
        lambda head: len(head.partition(b"\n")[0].split()) == 4,
    ),
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
        if form.has_judgements(head) if role == "judgements" else form.has_texts(head.lstrip()):
            return form
    names = ", ".join(form.called for form in able.values())
    raise DataError(f"{path}: not recognised as {role}; expected one of {names}, also compressed")


#: BEIR's names of files, by role.
BEIR = {"documents": "corpus.jsonl", "queries": "queries.jsonl", "judgements": "qrels/test.tsv"}
#: Files of a folder that hold no documents, by their names.
OTHER_FILES = re.compile(r"(?i)(qry|quer|qrel|\brel\b|topic|readme|judg|licen[cs]e)")


class Documents(NamedTuple):
    """The documents of a collection, read while they are iterated over, and where they come from."""

    records: Iterator[Document]
    lines: list[str]


def read_documents(source: object, how: CollectionOptions, faults: Faults) -> Documents:
    """Return the documents of a file, of all files of a folder, or of a data frame.

    Raises DataError if there is no file, or one is not recognised.
    """
    if not isinstance(source, (str, os.PathLike)):
        return Documents(tables.READERS["documents"](source, how, faults), ["documents: a data frame"])
    path = Path(source)
    files, rest = _files(path)
    formats = [format_of(file, "documents", how) for file in files]
    names = sorted({form.called for form in formats})
    of = f"{files[0]}" if len(files) == 1 else f"{len(files)} files of {path}"
    lines = [f"documents: {', '.join(names)}, {of}"]
    if rest:
        lines.append(f"not documents, by their names: {', '.join(file.name for file in rest)}")
    readers = [form.readers["documents"] for form in formats]
    records = (
        record for reader, file in zip(readers, files, strict=True) for record in reader(file, how, faults)
    )
    return Documents(_with_titles(records, how.title_ends), lines)


def read_queries(source: object, how: CollectionOptions, faults: Faults) -> tuple[list[Query], list[str]]:
    """Return the queries of a file, BEIR's folder or a data frame, each name once, and a sentence on them.

    Raises DataError if the file is not recognised or holds no query.
    """
    records, line = _records(source, "queries", how, faults)
    return _distinct_queries(records, faults), [line]


def read_judgements(
    source: object, queries: list[Query], how: CollectionOptions, faults: Faults
) -> tuple[list[Judgement], list[str]]:
    """Return the judgements of a file, BEIR's folder or a data frame, and sentences on them.

    Judgements of SMART collections may number the queries in their order instead of using their names. They
    are taken so if they name a query that does not exist, and all are numbers from 1 to the number of
    queries. Numbers with leading zeros stand for the query without them if no query has them. Raises
    DataError if the file is not recognised, or says of no document that it is relevant for one of the
    queries.
    """
    records, line = _records(source, "judgements", how, faults)
    names = {query.qid for query in queries}
    records = (judgement._replace(qid=known_name(judgement.qid, names)) for judgement in records)
    if how.grades:
        records = (
            judgement._replace(grade=how.grades.get(judgement.grade, judgement.grade))
            for judgement in records
        )
    judgements = list(_distinct_judgements(records, called(source), faults))
    judged, lines = {judgement.qid for judgement in judgements}, [line]
    numbers = {str(number): query.qid for number, query in enumerate(queries, 1)}
    if not judged <= names and judged <= numbers.keys():
        judgements = [judgement._replace(qid=numbers[judgement.qid]) for judgement in judgements]
        lines.append("judgements number the queries in their order, which are not the names of the queries")
        judged = {judgement.qid for judgement in judgements}
    for qid in with_like_names(sorted(judged - names), names):
        faults.add("judged queries do not exist", qid)
    for qid in sorted(names - judged):
        faults.add("queries have no judgement", qid)
    if not judged & names:
        raise DataError(
            f"{called(source)}: none of its queries exists: they are called {min(judged, default='')!r} and "
            f"{queries[0].qid!r}, for example; give the judgements of these queries"
        )
    judgements = [judgement for judgement in judgements if judgement.qid in names]
    if not any(judgement.grade > 0 for judgement in judgements):
        raise DataError(
            f"{line}: no document is relevant for these queries, as none of {len(judgements)} judgements has "
            "a grade above 0; expected `query iteration document grade` (TREC) or `query document code` "
            "(SMART); --grade 0=1 replaces a code"
        )
    return judgements, lines


def read_judgments(
    source: object, how: CollectionOptions | None = None
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Return judgments of any form that `make_features` reads, by the names of queries and documents.

    Parameters
    ----------
    source : path, or data frame
        TREC qrels, SMART's form, a table of qid, docid and grade, or BEIR's folder.
    how : CollectionOptions, optional

    Returns
    -------
    judgments : dict of str to dict of str to float
        Grades, 0 in place of negative ones.
    lines : list of str
        What was read, and what was wrong with it.

    Raises
    ------
    DataError
        If the file is not recognised, cannot be used, or has two grades of a document for one query.
    """
    faults = Faults()
    records, line = _records(source, "judgements", how or CollectionOptions(), faults)
    judgments: dict[str, dict[str, float]] = {}
    for judgement in _distinct_judgements(records, called(source), faults):
        judgments.setdefault(judgement.qid, {})[judgement.docid] = judgement.grade
    return judgments, [line, *faults.lines()]


def _records(source: object, role: str, how: CollectionOptions, faults: Faults) -> tuple[Iterable[Any], str]:
    if not isinstance(source, (str, os.PathLike)):
        return tables.READERS[role](source, how, faults), f"{role}: a data frame"
    path = Path(source)
    if path.is_dir():
        path = _compressed(path / BEIR[role])
        if not path.is_file():
            raise DataError(f"{source}: a folder without {BEIR[role]}; name the file of the {role}")
    form = format_of(path, role, how)
    return form.readers[role](path, how, faults), f"{role}: {form.called}, {path}"


def _files(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of documents of a path, and those that are none by their names."""
    if not path.is_dir():
        return [path], []
    corpus = _compressed(path / BEIR["documents"])
    if corpus.is_file():
        return [corpus], []
    paths = sorted(file for file in path.rglob("[!.]*") if file.is_file())
    files = [file for file in paths if not OTHER_FILES.search(file.name)]
    if not files:
        raise DataError(f"{path}: holds no file of documents")
    return files, [file for file in paths if file not in set(files)]


def _compressed(path: Path) -> Path:
    """Return the path, or the one with .gz after it if that exists."""
    zipped = path.with_name(f"{path.name}.gz")
    return zipped if zipped.is_file() and not path.is_file() else path


def _with_titles(records: Iterator[Document], title_ends: str | None) -> Iterator[Document]:
    """Divide bodies at the end of the title, for documents that have no title."""
    for record in records:
        if title_ends and not record.title and title_ends in record.body:
            title, _, body = record.body.partition(title_ends)
            record = Document(record.docid, title, body)
        yield record


def _distinct_queries(queries: Iterable[Query], faults: Faults) -> list[Query]:
    """Return queries without those whose name an earlier one has, which are counted.

    Raises DataError if there is no query.
    """
    by_name: dict[str, Query] = {}
    for query in queries:
        if query.qid in by_name:
            faults.add("queries have the name of an earlier one and are left out", query.qid)
        else:
            by_name[query.qid] = query
    if not by_name:
        raise DataError("no query was found; expected at least one")
    return list(by_name.values())


def _distinct_judgements(judgements: Iterable[Judgement], where: str, faults: Faults) -> Iterator[Judgement]:
    """Yield judgements without repeated ones, and with 0 in place of negative grades; both are counted.

    Raises DataError if a document has two grades for one query.
    """
    grades: dict[tuple[str, str], float] = {}
    for judgement in judgements:
        qid, docid, grade = judgement
        if grade < 0:
            faults.add("negative grades count as 0 (not relevant)", f"{qid} {docid}")
            grade = 0.0
        earlier = grades.get((qid, docid))
        if earlier is None:
            grades[qid, docid] = grade
            yield Judgement(qid, docid, grade)
        elif earlier == grade:
            faults.add("judgements repeat an earlier one and are left out", f"{qid} {docid}")
        else:
            raise DataError(
                f"{where}: document {docid!r} of query {qid!r} is judged {earlier:g} and {grade:g}; keep one"
            )
