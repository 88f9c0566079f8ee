"""The file of a model: safetensors, whose header carries a JSON description and a checksum of everything.

Layout: eight bytes with the length of the header, little-endian; the header, JSON; the tensors. The
header's ``__metadata__`` has one entry, ``directrank``: the description as JSON text, which itself holds
``sha256``, the digest of the remaining description and of every tensor with its name, type and shape.
"""

import hashlib
import json
import os
import stat
from importlib.metadata import version
from pathlib import Path

import numpy as np

from directrank.errors import ModelFormatError
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import JSONObject, dump, parse

KEY = "directrank"
#: Version of the format, written to every file; who reads it refuses other versions, and says which it is.
FORMAT = 1
#: Models of categorical columns have versions of the format of their own, which earlier releases refuse.
FORMATS = {"categories": 2, "places": 3}
#: The longest header, in bytes; the names of 500,000 features take about 10 MB. Parsed, it may take 25 times
#: as much memory.
MAX_HEADER = 1 << 24
#: The largest file, in bytes; a tree of 255 leaves takes 18 kB.
MAX_FILE = 1 << 30


def write_container(path: str | os.PathLike, description: JSONObject, tensors: dict[str, np.ndarray]):
    """Write a description and tensors to one file, whole or not at all, with the versions of both.

    Raises
    ------
    ValueError
        If the model is larger than `read_container` reads.
    OSError
        If the file cannot be written.
    """
    from safetensors.numpy import save

    description = {"format": _format(description), "library": version("directrank"), **description}
    signed = {**description, "sha256": digest(description, tensors)}
    content = save(tensors, metadata={KEY: dump(signed)})
    problem = _too_large(int.from_bytes(content[:8], "little"), len(content))
    if problem:
        raise ValueError(f"{path}: the model cannot be saved: {problem}")
    write_atomically(path, content)


def read_container(path: str | os.PathLike) -> tuple[JSONObject, dict[str, np.ndarray]]:
    """Read the description and the tensors that `write_container` wrote.

    Raises
    ------
    ModelFormatError
        If the file is anything else, not exactly what was written, or of another version of the format.
    OSError
        If the file cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    try:
        description = parse(_metadata(Path(path))[KEY].encode())
        expected = description.pop("sha256")
    except ModelFormatError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ModelFormatError(_foreign(path)) from None
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (SafetensorError, TypeError, AttributeError) as error:
        raise ModelFormatError(damaged(path, str(error))) from None
    if expected != digest(description, tensors):
        raise ModelFormatError(damaged(path, "its checksum does not fit its content"))
    if (number := description.get("format")) != _format(description):
        raise ModelFormatError(
            f"{path}: the model has format {number}, this release of directrank reads format {FORMAT}; it "
            f"was written by directrank {description.get('library')}: install that release or a later one"
        )
    return description, tensors


def _format(description: JSONObject) -> int:
    return next((number for key, number in FORMATS.items() if key in description), FORMAT)


def digest(description: JSONObject, tensors: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of a description and of tensors with their names, types and shapes, in hex."""
    total = hashlib.sha256(dump(description).encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        total.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        total.update(array.reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def damaged(path: str | os.PathLike, how: str) -> str:
    """Return the message for a file that was a model before it was damaged."""
    return f"{path}: the model is damaged: {how}. Copy it again from where it was saved, or train it again."


def _foreign(path: str | os.PathLike) -> str:
    return (
        f"{path}: not a model of directrank. Models are written by `directrank fit` or directrank.save; "
        "LightGBM's text, XGBoost's JSON and UBJSON, and RankLib's text are read, pickles and others never."
    )


def _too_large(header: int, size: int) -> str | None:
    if header > MAX_HEADER:
        return f"its header takes {header} bytes, at most {MAX_HEADER} are read"
    return f"it takes {size} bytes, at most {MAX_FILE} are read" if size > MAX_FILE else None


def _metadata(path: Path) -> JSONObject:
    """Return the metadata of the header; impossible sizes are refused before it is read."""
    status = path.stat()
    # Opening a pipe would wait for a writer.
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise ModelFormatError(f"{path}: a pipe or a device, expected the file of a model; save it first")
    with path.open("rb") as file:
        size, start = os.fstat(file.fileno()).st_size, file.read(8)
        length, looks_right = int.from_bytes(start, "little"), file.read(1) in (b"{", b"")
        if len(start) < 8 or not looks_right or length > max(MAX_HEADER, size):
            raise ModelFormatError(_foreign(path))
        if problem := _too_large(length, size):
            raise ModelFormatError(f"{path}: not read, because it is too large for a model: {problem}")
        if length + 8 > size:
            raise ModelFormatError(damaged(path, "it is truncated"))
        file.seek(8)
        return parse(file.read(length))["__metadata__"]
