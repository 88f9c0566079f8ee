"""Write LETOR text that reads back with the same bits."""

import os
from collections.abc import Iterator

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.storage.atomic import open_atomically


def write_letor(groups: QueryGroups, path: str | os.PathLike) -> None:
    """Write documents as lines ``label qid:query 1:value 2:value … #docid = D``, in the caller's row order.

    Every feature is written, as the shortest decimal that reads back as the same float32, or as NULL if it is
    missing. The file appears under its name only when it is complete.

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
    heads = _heads(groups)
    tails = [""] * groups.n_docs if groups.docid is None else list(map(_comment, groups.docid.tolist()))
    with open_atomically(path) as file:
        for head, features, tail in zip(heads, _features(groups), tails, strict=True):
            file.write(f"{head} {features}{tail}\n".encode())


def _heads(groups: QueryGroups) -> Iterator[str]:
    names = [_qid_text(name) for name in groups.queries.qid.tolist()]
    query = groups.to_caller(np.repeat(np.arange(groups.n_queries), groups.queries.sizes))
    labels = groups.relevance.tolist()
    return (f"{_label_text(label)} qid:{names[q]}" for label, q in zip(labels, query.tolist(), strict=True))


def _features(groups: QueryGroups) -> Iterator[str]:
    starts = [f"{column}:" for column in range(1, groups.n_features + 1)]
    for row in groups.to_caller(np.arange(groups.n_docs)):
        values = zip(starts, groups.features[row], strict=True)
        yield " ".join(start + _feature_text(value) for start, value in values)


def _feature_text(value: np.float32) -> str:
    if np.isnan(value):
        return "NULL"
    # NumPy finds the shortest decimal of a float32; Python prints large numbers without an exponent.
    return repr(float(str(value))).removesuffix(".0")


def _label_text(value: float) -> str:
    return str(int(value)) if value == int(value) and value < 2**53 else repr(value)


def _qid_text(name) -> str:
    text = str(name, "utf-8") if isinstance(name, bytes) else str(name)
    if not text or any(letter in text for letter in " \t\n\r\0#"):
        raise DataError(f"qid {text!r} cannot be written: expected text without blanks, line ends or '#'")
    return text


def _comment(name) -> str:
    text = str(name)
    if text != text.strip(" \t") or any(letter in text for letter in "\n\r\0"):
        raise DataError(f"docid {text!r} cannot be written: expected one line without blanks at its ends")
    if not text:
        return ""
    plain = " " in text or "\t" in text
    if plain and text.startswith("docid"):
        raise DataError(f"docid {text!r} cannot be written: it would read back as its own name")
    return f" # {text}" if plain else f" #docid = {text}"
