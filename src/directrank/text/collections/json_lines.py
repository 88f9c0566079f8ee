"""JSON lines, one object a line, and BEIR's folder: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from directrank.text.collections.columns import chosen, text_of
from directrank.text.collections.opening import decoded, opened
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.records import Document, Faults, Query

NAME = "JSON lines"


def detects(head: bytes) -> bool:
    """Return whether a file begins with an object of JSON."""
    return head.lstrip().startswith(b"{")


def documents(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Document]:
    """Yield the documents of a file."""
    for cells in _cells(path, ("docid", "title", "body"), how, faults):
        yield Document(*cells)


def queries(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[Query]:
    """Yield the queries of a file."""
    for cells in _cells(path, ("qid", "text"), how, faults):
        yield Query(*cells)


def _cells(path: Path, roles: tuple[str, ...], how: CollectionOptions, faults: Faults) -> Iterator[list[str]]:
    """Yield the values of these roles, as text, of each object."""
    keys, columns = None, []
    for record in _records(path, how, faults):
        if record.keys() != keys:
            keys, columns = record.keys(), chosen(record, roles, how, str(path))
        yield ["" if column is None else text_of(record.get(column)) for column in columns]


def _records(path: Path, how: CollectionOptions, faults: Faults) -> Iterator[dict[str, Any]]:
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
