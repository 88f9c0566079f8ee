"""The file of a model: safetensors, whose header carries a JSON description and a checksum of everything.

Layout: eight bytes with the length of the header, little-endian; the header, JSON; the tensors. The
header's ``__metadata__`` has one entry, ``directrank``: the description as JSON text, which itself holds
``sha256``, the digest of the rest of the description and of every tensor with its name, type and shape.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from directrank.errors import ModelFormatError
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import dump, parse

KEY = "directrank"
#: A header longer than this is refused before it is read. A million feature names take about 20 MB.
MAX_HEADER = 1 << 26


def write_container(path: str | os.PathLike, description: dict[str, Any], tensors: dict[str, np.ndarray]):
    """Write a description and tensors to one file, whole or not at all.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    from safetensors.numpy import save

    signed = {**description, "sha256": digest(description, tensors)}
    write_atomically(path, save(tensors, metadata={KEY: dump(signed)}))


def read_container(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what `write_container` wrote.

    Returns
    -------
    description : dict
    tensors : dict of str to ndarray

    Raises
    ------
    ModelFormatError
        If the file is anything else, or not exactly what was written.
    OSError
        If the file cannot be read.
    """
    content = _content(Path(path))
    length = int.from_bytes(content[:8], "little")
    try:
        header = parse(content[8 : 8 + length])
        description = parse(header["__metadata__"][KEY].encode())
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ModelFormatError(_foreign(path)) from None
    tensors = _tensors(path, content)
    expected = description.pop("sha256", None) if isinstance(description, dict) else None
    if expected is None:
        raise ModelFormatError(_foreign(path))
    if expected != digest(description, tensors):
        raise ModelFormatError(damaged(path, "its checksum does not fit its content"))
    return description, tensors


def digest(description: dict[str, Any], tensors: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of a description and of tensors with their names, types and shapes, in hex."""
    total = hashlib.sha256(dump(description).encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        total.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        total.update(array.tobytes())
    return total.hexdigest()


def damaged(path: str | os.PathLike, how: str) -> str:
    """Return the message for a file that was a model before it was damaged."""
    return f"{path}: the model is damaged: {how}. Copy it again from where it was saved, or train it again."


def _foreign(path: str | os.PathLike) -> str:
    return (
        f"{path}: not a model of directrank. Models are written by `directrank fit` or directrank.save; "
        "pickles and other formats are never loaded."
    )


def _content(path: Path) -> bytes:
    """Return the bytes of the file; one with an impossible length of header is refused before it is read."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length > MAX_HEADER:
            raise ModelFormatError(_foreign(path))
        if length + 8 > size:
            looks_right = file.read(1) in (b"{", b"")
            raise ModelFormatError(damaged(path, "it is truncated") if looks_right else _foreign(path))
        return start + file.read()


def _tensors(path, content: bytes) -> dict[str, np.ndarray]:
    """Return the tensors; safetensors checks types, shapes and offsets before it makes any array."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(content)
    except SafetensorError as error:
        raise ModelFormatError(damaged(path, str(error).splitlines()[0])) from None
