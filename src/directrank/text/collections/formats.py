"""The table of formats of collections: how each is recognised, and what reads it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from directrank.errors import DataError
from directrank.text.collections import json_lines, smart, tables, trec
from directrank.text.collections.opening import head_of
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.records import Faults

Reader = Callable[[Any, CollectionOptions, Faults], Iterator[Any]]


def _never(_: bytes | Path) -> bool:
    return False


class CollectionFormat(NamedTuple):
    """A format of documents, queries or judgements.

    Attributes
    ----------
    name : str
        As on the command line.
    called : str
        As in messages.
    names : callable
        Whether a path has the name of such a file; a name decides before content.
    detects, detects_judgements : callable
        Whether the first bytes are those of documents or queries, or of judgements.
    documents, queries, judgements : callable
        From a path, the options and the faults to records; None if the format has none.
    """

    name: str
    called: str
    names: Callable[[Path], bool]
    detects: Callable[[bytes], bool]
    detects_judgements: Callable[[bytes], bool]
    documents: Reader | None
    queries: Reader | None
    judgements: Reader | None


#: Every format; the first one that recognises a file reads it.
FORMATS = (
    CollectionFormat(
        "table", "table", tables.names_table, _never, _never,
        tables.documents, tables.queries, tables.judgements,
    ),
    CollectionFormat(
        "jsonl", "JSON lines", _never, json_lines.detects, _never,
        json_lines.documents, json_lines.queries, None,
    ),
    CollectionFormat(
        "smart", "SMART", _never, smart.detects, smart.detects_judgements,
        smart.documents, smart.queries, smart.judgements,
    ),
    CollectionFormat(
        "trec", "TREC", _never, trec.detects, trec.detects_judgements,
        trec.documents, trec.queries, trec.judgements,
    ),
)  # fmt: skip


def format_of(path: Path, role: str, how: CollectionOptions) -> CollectionFormat:
    """Return the format of a file of documents, queries or judgements.

    Raises
    ------
    DataError
        If no format recognises it.
    ValueError
        If the options name a format that does not exist or has no such role.
    """
    able = [each for each in FORMATS if getattr(each, role) is not None]
    if how.form is not None and role == "documents":
        found = [each for each in able if each.name == how.form]
        if not found:
            raise ValueError(f"expected {', '.join(each.name for each in able)}, not {how.form!r}")
        return found[0]
    if named := [each for each in able if each.names(path)]:
        return named[0]
    head = head_of(path)
    if not head.strip():
        raise DataError(f"{path}: is empty, expected {role}")
    detects = "detects_judgements" if role == "judgements" else "detects"
    if found := [each for each in able if getattr(each, detects)(head)]:
        return found[0]
    known = ", ".join(each.called for each in able)
    raise DataError(f"{path}: not recognised as {role}; expected one of {known}, also compressed")
