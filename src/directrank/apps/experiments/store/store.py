"""Finished work on disk: one file of JSON a record, which is there whole or not at all."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from directrank.errors import DataError
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import (
    JSONObject,
    StrictJSONError,
    as_plain,
    dump,
    encode,
    parse,
    signed,
    take_signature,
)

#: The folder of records in one of results, and the file that earlier builds had in its place.
NAME, EARLIER = "store", "store.sqlite"


class Store:
    """Records by key, each a file in the folder ``store`` of a folder of results, or in memory.

    Every record has a checksum; a damaged record counts as absent, so that its work is done again. So does
    one that `parse` does not take: it makes a record of a key and plain values, or None. A full disk is an
    `OSError`.
    """

    def __init__(self, folder: str | os.PathLike | None):
        self.path = None if folder is None else Path(folder) / NAME
        self.parse: Callable[[str, JSONObject], Any] = lambda key, value: value
        self._in_memory: dict[str, bytes] = {}

    def get(self, key: str) -> Any:
        """Return the record of a key, or None."""
        return self.records([key]).get(key)

    def records(self, keys: Iterable[str]) -> JSONObject:
        """Return the records of the keys that have one."""
        return dict(self._pairs(keys))

    def known(self, keys: Iterable[str]) -> set[str]:
        """Return the keys that `records` would return, without their records."""
        return {key for key, _ in self._pairs(keys)}

    def save(self, rows: Iterable[tuple[str, str, Any]]) -> None:
        """Save records with their keys and labels; they are on disk when this returns."""
        contents = {
            key: signed({"key": key, "label": label, "value": encode(value)}).encode()
            for key, label, value in rows
        }
        for key, content in contents.items():
            if self.path is None:
                self._in_memory[key] = content
                continue
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                write_atomically(self.path / f"{key}.json", content)
            except (FileExistsError, NotADirectoryError) as error:
                problem = "this is no folder; move it away, or choose another with --out"
                raise type(error)(error.errno, problem, error.filename) from error
            except PermissionError as error:
                problem = f"{error.strerror}; make the folder writable, or choose another with --out"
                raise type(error)(error.errno, problem, error.filename) from error

    def _pairs(self, keys: Iterable[str]) -> Iterator[tuple[str, Any]]:
        if self.path is not None and self.path.with_name(EARLIER).exists():
            raise DataError(
                f"{self.path.with_name(EARLIER)}: finished work of an earlier version, which this one does "
                "not read; remove it, or choose another folder with --out, and rerun the same command"
            )
        for key in keys:
            value = _value_of(key, self._content(key))
            record = None if value is None else self.parse(key, value)
            if record is not None:
                yield key, record

    def _content(self, key: str) -> bytes:
        """Return the content of the file of a key; nothing if there is none."""
        if self.path is None:
            return self._in_memory.get(key, b"")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return (self.path / f"{key}.json").read_bytes()
        return b""


def key_of(facts: object) -> str:
    """Return the key of a record: the SHA-256, in hex, of the facts that the record depends on."""
    return hashlib.sha256(dump(as_plain(facts)).encode()).hexdigest()


def _value_of(key: str, content: bytes) -> JSONObject | None:
    """Return the values in the content of a file; None if there are none, or they are damaged."""
    with contextlib.suppress(StrictJSONError, KeyError):
        record = parse(content)
        if isinstance(record, dict) and take_signature(record) and record["key"] == key:
            return record["value"] if isinstance(record["value"], dict) else None
    return None
