"""Manifests: signed JSON with the sizes and the digests of the files of a folder."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from directrank.errors import DataError
from directrank.storage.hashed_file import file_digest
from directrank.storage.strict_json import JSONObject, StrictJSONError, parse, take_signature

__all__ = [
    "check_files",
    "read_manifest",
    "size_and_digest",
]

#: The largest manifest, in bytes.
LARGEST = 2**26


def size_and_digest(path: Path) -> list[int | str]:
    """Return the size and the SHA-256, in hex, of a file, whose bytes are on the disk."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
        return [os.fstat(file.fileno()).st_size, digest]


def read_manifest(path: Path, form: str, remedy: str) -> JSONObject:
    """Return the content of a manifest.

    Raises DataError, which ends with the remedy, if it is damaged or not of this form.
    """
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    try:
        facts: Any = parse(content) if len(content) <= LARGEST else None
        intact = take_signature(facts)
        if facts["format"] != form:
            raise DataError(f"{path}: written as {facts['format']!r}, expected {form!r}; {remedy}")
        if intact:
            return facts
    except (StrictJSONError, KeyError, AttributeError, TypeError):
        pass
    raise DataError(f"{path}: this manifest is damaged; {remedy}")


def check_files(
    folder: Path, files: Mapping[str, Sequence[int | str]], remedy: str, *, digests: bool = False
) -> None:
    """Raise DataError, which ends with the remedy, if a file is missing or of another size or digest."""
    for name, (size, digest) in files.items():
        path = folder / name
        if not path.is_file():
            raise DataError(f"{path}: the file is missing; {remedy}")
        if (n_bytes := path.stat().st_size) != size:
            raise DataError(f"{path}: {n_bytes} bytes, expected {size}; {remedy}")
        if digests and file_digest(path) != digest:
            raise DataError(f"{path}: changed since it was written; {remedy}")
