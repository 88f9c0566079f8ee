"""Read documents, queries and judgements: of a file, a folder or a data frame, whatever its format."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from directrank.errors import DataError
from directrank.text.collections import tables
from directrank.text.collections.formats import format_of
from directrank.text.collections.records import (
    CollectionOptions,
    Document,
    Faults,
    Judgement,
    Query,
    known_name,
    with_like_names,
)
from directrank.text.collections.tables import called

#: BEIR's names of files, by role.
BEIR = {"documents": "corpus.jsonl", "queries": "queries.jsonl", "judgements": "qrels/test.tsv"}
#: Files of a folder that hold no documents, by their names.
OTHER_FILES = re.compile(r"(?i)(qry|quer|qrel|\brel\b|topic|readme|judg|licen[cs]e)")


class Documents(NamedTuple):
    """The documents of a collection, read while they are iterated over, and where they come from."""

    records: Iterator[Document]
    lines: list[str]


def read_documents(source: Any, how: CollectionOptions, faults: Faults) -> Documents:
    """Return the documents of a file, of all files of a folder, or of a data frame.

    Raises DataError if there is no file, or one is not recognised.
    """
    if not isinstance(source, (str, os.PathLike)):
        return Documents(tables.documents(source, how, faults), ["documents: a data frame"])
    path = Path(source)
    files, others = _files(path)
    formats = [format_of(each, "documents", how) for each in files]
    names = sorted({each.called for each in formats})
    of = f"{files[0]}" if len(files) == 1 else f"{len(files)} files of {path}"
    lines = [f"documents: {', '.join(names)}, {of}"]
    if others:
        lines.append(f"not documents, by their names: {', '.join(each.name for each in others)}")
    readers = [form.readers["documents"][1] for form in formats]
    records = (
        record for reader, file in zip(readers, files, strict=True) for record in reader(file, how, faults)
    )
    return Documents(_with_titles(records, how.title_ends), lines)


def read_queries(source: Any, how: CollectionOptions, faults: Faults) -> tuple[list[Query], list[str]]:
    """Return the queries of a file, BEIR's folder or a data frame, each name once, and a sentence on them.

    Raises DataError if the file is not recognised or holds no query.
    """
    records, line = _records(source, "queries", how, faults)
    return _distinct_queries(records, faults), [line]


def read_judgements(
    source: Any, queries: list[Query], how: CollectionOptions, faults: Faults
) -> tuple[list[Judgement], list[str]]:
    """Return the judgements of a file, BEIR's folder or a data frame, and sentences on them.

    Judgements of SMART collections may number the queries in their order instead of using their names. They
    are taken so if they name a query that does not exist, and all are numbers from 1 to the number of
    queries. Numbers with leading zeros stand for the query without them if no query has them. Raises
    DataError if the file is not recognised, or says of no document that it is relevant for one of the
    queries.
    """
    records, line = _records(source, "judgements", how, faults)
    names = {each.qid for each in queries}
    records = (each._replace(qid=known_name(each.qid, names)) for each in records)
    if how.grades:
        records = (each._replace(grade=how.grades.get(each.grade, each.grade)) for each in records)
    found = list(_distinct_judgements(records, faults))
    judged, lines = {each.qid for each in found}, [line]
    numbers = {str(number): each.qid for number, each in enumerate(queries, 1)}
    if not judged <= names and judged <= numbers.keys():
        found = [each._replace(qid=numbers[each.qid]) for each in found]
        lines.append("judgements number the queries in their order, which are not the names of the queries")
        judged = {each.qid for each in found}
    for qid in with_like_names(sorted(judged - names), names):
        faults.add("judged queries do not exist", qid)
    for qid in sorted(names - judged):
        faults.add("queries have no judgement", qid)
    if not judged & names:
        raise DataError(
            f"{called(source)}: none of its queries exists: they are called {min(judged, default='')!r} and "
            f"{queries[0].qid!r}, for example; give the judgements of these queries"
        )
    found = [each for each in found if each.qid in names]
    if not any(each.grade > 0 for each in found):
        raise DataError(
            f"{line}: no document is relevant for these queries, as none of {len(found)} judgements has "
            "a grade above 0; expected `query iteration document grade` (TREC) or `query document code` "
            "(SMART); --grade 0=1 replaces a code"
        )
    return found, lines


def _records(source: Any, role: str, how: CollectionOptions, faults: Faults) -> tuple[Iterable[Any], str]:
    if not isinstance(source, (str, os.PathLike)):
        return tables.READERS[role](source, how, faults), f"{role}: a data frame"
    path = Path(source)
    if path.is_dir():
        path = _compressed(path / BEIR[role])
        if not path.is_file():
            raise DataError(f"{source}: a folder without {BEIR[role]}; name the file of the {role}")
    form = format_of(path, role, how)
    return form.readers[role][1](path, how, faults), f"{role}: {form.called}, {path}"


def _files(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of documents of a path, and those that are none by their names."""
    if not path.is_dir():
        return [path], []
    corpus = _compressed(path / BEIR["documents"])
    if corpus.is_file():
        return [corpus], []
    found = sorted(each for each in path.rglob("[!.]*") if each.is_file())
    files = [each for each in found if not OTHER_FILES.search(each.name)]
    if not files:
        raise DataError(f"{path}: holds no file of documents")
    return files, [each for each in found if each not in set(files)]


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
    found: dict[str, Query] = {}
    for query in queries:
        if query.qid in found:
            faults.add("queries have the name of an earlier one and are left out", query.qid)
        else:
            found[query.qid] = query
    if not found:
        raise DataError("no query was found; expected at least one")
    return list(found.values())


def _distinct_judgements(judgements: Iterable[Judgement], faults: Faults) -> Iterator[Judgement]:
    """Yield judgements without repeated ones, and with 0 in place of negative grades; both are counted."""
    seen = set()
    for each in judgements:
        pair = each.qid, each.docid
        if pair in seen:
            faults.add("judgements repeat an earlier one and are left out", f"{each.qid} {each.docid}")
            continue
        seen.add(pair)
        if each.grade < 0:
            faults.add("negative grades count as 0 (not relevant)", f"{each.qid} {each.docid}")
            each = each._replace(grade=0.0)
        yield each
