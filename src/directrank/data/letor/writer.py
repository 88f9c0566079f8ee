"""LETOR text, out: what is written reads back with the same bits."""

import os
import tempfile
from pathlib import Path

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.data.letor.number_text import LONGEST_NUMBER, write_features
from directrank.data.letor.numbers import POWERS
from directrank.errors import DataError

CHUNK_BYTES = 2**22


def write_letor(groups: QueryGroups, path: str | os.PathLike) -> None:
    """Write documents as lines ``label qid:query 1:value 2:value … #docid = D``, in the caller's row order.

    Every feature is written, each as a short decimal that reads back as the same float32. The file appears
    under its name only when it is complete.

    Parameters
    ----------
    groups : QueryGroups
        A qid must be text without blanks or ``#`` once it is printed; a docid must be one line.
    path : path-like

    Raises
    ------
    DataError
        If a qid or docid would not read back.
    """
    with replaced_when_complete(path) as file:
        write_rows(groups, file)


def write_rows(groups: QueryGroups, file) -> None:
    """Write the lines of some documents to an open binary file."""
    heads, tails = _heads(groups), _tails(groups)
    place = np.empty(groups.n_docs, np.int64)
    place[groups.queries.row] = np.arange(groups.n_docs)
    width = groups.n_features * (LONGEST_NUMBER + len(f" {groups.n_features}:"))
    n_rows = max(1, CHUNK_BYTES // max(1, width))
    text, ends = np.empty(n_rows * width, np.uint8), np.empty(n_rows, np.int64)
    for first in range(0, groups.n_docs, n_rows):
        rows = place[first : first + n_rows]
        write_features(groups.features, rows, POWERS, text, ends)
        content = text[: ends[len(rows) - 1]].tobytes()
        start = 0
        for k in range(len(rows)):
            file.write(heads(first + k) + content[start : ends[k]] + tails(first + k))
            start = ends[k]


def _heads(groups: QueryGroups):
    names = [_qid_text(name) for name in groups.queries.qid.tolist()]
    queries = np.empty(groups.n_docs, np.int64)
    queries[groups.queries.row] = np.repeat(np.arange(groups.n_queries), groups.queries.sizes)
    relevance = groups.relevance
    labels = {value: _label_text(value) for value in np.unique(relevance).tolist()}
    return lambda row: f"{labels[relevance[row]]} qid:{names[queries[row]]}".encode()


def _label_text(value: float) -> str:
    return str(int(value)) if value == int(value) and value < 2**53 else repr(value)


def _qid_text(name) -> str:
    text = str(name, "utf-8") if isinstance(name, bytes) else str(name)
    if not text or any(letter in text for letter in " \t\n\r\0#"):
        raise DataError(f"qid {text!r} cannot be written: expected text without blanks, line ends or '#'")
    return text


def _tails(groups: QueryGroups):
    if groups.docid is None:
        return lambda row: b"\n"
    texts = [_docid_text(name) for name in groups.docid.tolist()]
    return lambda row: texts[row]


def _docid_text(name) -> bytes:
    text = str(name)
    if text != text.strip(" \t") or any(letter in text for letter in "\n\r\0"):
        raise DataError(f"docid {text!r} cannot be written: expected one line without blanks at its ends")
    if not text:
        return b"\n"
    plain = " " in text or "\t" in text
    if plain and text.startswith("docid"):
        raise DataError(f"docid {text!r} cannot be written: it would read back as its own name")
    return f" # {text}\n".encode() if plain else f" #docid = {text}\n".encode()


class replaced_when_complete:  # noqa: N801 - used as a function
    """Open a file for writing that takes its name only if all goes well.

    The text goes to a file beside it, is flushed to the disk and renamed; what stood there before remains
    if anything fails.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)

    def __enter__(self):
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}-")
        self._part, self._file = Path(name), os.fdopen(handle, "wb")
        return self._file

    def __exit__(self, kind, error, trace):
        try:
            with self._file:
                if kind is None:
                    self._file.flush()
                    os.fsync(self._file.fileno())
            if kind is None:
                mask = os.umask(0)
                os.umask(mask)
                self._part.chmod(0o666 & ~mask)
                self._part.replace(self.path)
        finally:
            self._part.unlink(missing_ok=True)
