"""Where the tensors of a safetensors file are, from its header alone."""

import math
from typing import Any, NamedTuple

import numpy as np

#: The types that tensors of models have, by their names in the format.
TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "BOOL": "|b1"}


class TensorPlace(NamedTuple):
    """One tensor of a file; tensors follow each other without gaps."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


def layout_of(header: dict[str, Any], n_bytes: int) -> list[TensorPlace]:
    """Return the tensors of a header in the order of the file.

    Parameters
    ----------
    header : dict
        From each name to ``dtype``, ``shape`` and ``data_offsets``.
    n_bytes : int
        Number of bytes after the header.

    Raises
    ------
    ValueError
        If an entry is malformed, its size is not that of its type and shape, or the tensors overlap, leave
        gaps or do not end where the file ends.
    """
    entries = [(*_offsets(name, entry), name, entry) for name, entry in header.items()]
    places, position = [], 0
    for start, stop, name, entry in sorted(entries, key=lambda each: each[:3]):
        place = _place(name, entry)
        if start != position or stop - start != math.prod(place.shape) * place.dtype.itemsize:
            raise ValueError(f"the size of tensor {name!r} is not that of its type and shape")
        places.append(place)
        position = stop
    if position != n_bytes:
        raise ValueError(f"it holds {n_bytes} bytes of tensors, its header describes {position}")
    return places


def _offsets(name: str, entry: Any) -> tuple[int, int]:
    offsets: Any = entry.get("data_offsets") if isinstance(entry, dict) else None
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ValueError(f"tensor {name!r} has no place in the file")
    return offsets[0], offsets[1]


def _place(name: str, entry: dict[str, Any]) -> TensorPlace:
    if entry.keys() != {"dtype", "shape", "data_offsets"} or not _are_sizes(entry["shape"]):
        raise ValueError(f"tensor {name!r} has no shape")
    kind = entry["dtype"]
    if not isinstance(kind, str) or kind not in TYPES:
        raise ValueError(f"tensor {name!r} has the type {kind!r}, expected one of {', '.join(TYPES)}")
    return TensorPlace(name, np.dtype(TYPES[kind]), tuple(entry["shape"]))


def _are_sizes(values: Any) -> bool:
    # True is no size. NumPy takes up to 64 dimensions.
    return (
        isinstance(values, list)
        and len(values) <= 8
        and all(type(each) is int and each >= 0 for each in values)
    )
