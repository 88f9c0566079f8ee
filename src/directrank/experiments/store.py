"""Finished cells on disk: one file each, written whole, so that a second run resumes."""

import hashlib
import os
import re
from pathlib import Path
from typing import Any

from directrank.atomic import write_atomically
from directrank.strict_json import StrictJSONError, dump, parse


class FolderStore:
    """Records by key, one JSON file each, in the folder ``cells``.

    A record holds its own checksum; one that is damaged counts as absent, so that it is made again.

    Parameters
    ----------
    folder : path
        Made when the first record is kept.
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder) / "cells"

    def get(self, key: str, label: str) -> dict[str, Any] | None:
        """Return the record of a key, or None if there is none in order."""
        try:
            record = parse(self._path(key, label).read_bytes())
        except (FileNotFoundError, StrictJSONError):
            return None
        if not isinstance(record, dict) or record.get("key") != key:
            return None
        value = record.get("value")
        return value if record.get("sha256") == _digest(value) else None

    def put(self, key: str, label: str, value: dict[str, Any]) -> None:
        """Keep a record, on disk when this returns.

        Raises
        ------
        OSError
            If it cannot be written; nothing half-written remains.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        record = {"key": key, "sha256": _digest(value), "value": value}
        write_atomically(self._path(key, label), dump(record) + "\n")

    def _path(self, key: str, label: str) -> Path:
        # The label is for people; what is not plain in it must not become part of a path.
        return self.folder / f"{re.sub(r'[^A-Za-z0-9@-]+', '_', label)[:60]}-{key[:24]}.json"


class MemoryStore:
    """Records by key for a comparison that leaves no files."""

    def __init__(self):
        self._records: dict[str, dict[str, Any]] = {}

    def get(self, key: str, label: str) -> dict[str, Any] | None:
        """Return the record of a key, or None."""
        return self._records.get(key)

    def put(self, key: str, label: str, value: dict[str, Any]) -> None:
        """Keep a record."""
        self._records[key] = value


def key_of(facts: Any) -> str:
    """Return the key of a record: the SHA-256, in hex, of everything that it depends on."""
    return hashlib.sha256(dump(facts).encode()).hexdigest()


def _digest(value: Any) -> str:
    return hashlib.sha256(dump(value).encode()).hexdigest()
