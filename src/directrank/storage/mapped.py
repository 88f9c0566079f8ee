"""Matrices of numbers in files: mapped into memory, and dropped from it again as they are read.

The operating system reads the rows of a mapped file when they are first used, and keeps them in this process
until memory is short. Other programs, and limits of containers, count them. They are therefore dropped when
they exceed an eighth of their files, by `relieve`, which passes over the features call after each shard while
there are `mappings`. What was dropped is read again when it is used: no result changes.
"""

import math
import mmap
import os
import tempfile
import weakref
from pathlib import Path

import numpy as np

__all__ = [
    "create_matrix",
    "is_mapped",
    "mappings",
    "open_matrix",
    "relieve",
    "temporary_matrix",
]

#: The part of all mapped files that may stay in the memory of this process, if it is more than `FREE_BYTES`.
SHARE, FREE_BYTES = 0.125, 2**26
PAGE_BYTES = mmap.PAGESIZE
#: Linux tells here how many pages of files are in memory: the third number.
PAGES = Path("/proc/self/statm")
_LARGEST_HEADER = 2**12

#: The files that are mapped now.
mappings: "weakref.WeakSet[mmap.mmap]" = weakref.WeakSet()


def create_matrix(path: str | os.PathLike, shape: tuple[int, int]) -> np.ndarray:
    """Create a file of NumPy's format with zeros, float32; what is written to the array is in the file."""
    np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape).flush()
    with open(path, "r+b") as file:
        # A full disk is an error here; in the middle of writing, it would end the process.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
        return _mapped(file, mmap.ACCESS_WRITE)


def open_matrix(path: str | os.PathLike) -> np.ndarray:
    """Map a file of NumPy's format with rows of float32, or raise ValueError; it is never written to."""
    # A private copy of each page that is written: kernels are compiled for arrays that can be written.
    with open(path, "rb") as file:
        return _mapped(file, mmap.ACCESS_COPY)


def temporary_matrix(shape: tuple[int, int]) -> np.ndarray:
    """Return zeros, float32, in a temporary file that ends with the array."""
    with tempfile.TemporaryDirectory(prefix="directrank-") as folder:
        return create_matrix(Path(folder) / "rows.npy", shape)


def is_mapped(array: np.ndarray) -> bool:
    """Return whether an array is one of these matrices, or a part of one."""
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(getattr(base, "obj", base), mmap.mmap)


def relieve() -> None:
    """Drop rows of mapped files from memory if they are too many."""
    mapped = list(mappings)
    limit = max(FREE_BYTES, SHARE * sum(map(len, mapped)))
    if PAGE_BYTES * int(PAGES.read_text().split()[2]) > limit:
        for memory in mapped:
            memory.madvise(mmap.MADV_DONTNEED)


def _mapped(file, access: int) -> np.ndarray:
    shape, at = _shape(file)
    size = os.fstat(file.fileno()).st_size
    if size != at + 4 * math.prod(shape):
        raise ValueError(f"{size} bytes, expected {at + 4 * math.prod(shape)} for {shape[0]} × {shape[1]}")
    memory = mmap.mmap(file.fileno(), 0, access=access)
    # Its rows are dropped from memory from now on, where the operating system can do that.
    if hasattr(mmap, "MADV_DONTNEED") and PAGES.exists():
        memory.madvise(mmap.MADV_SEQUENTIAL)
        mappings.add(memory)
    return np.frombuffer(memory, np.float32, offset=at).reshape(shape)


def _shape(file) -> tuple[tuple[int, int], int]:
    """Return the shape of rows of float32 in a file, and where they begin."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("another version of NumPy's format")
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(file, max_header_size=_LARGEST_HEADER)
    if len(shape) != 2 or by_columns or kind != np.dtype("<f4") or not math.prod(shape):
        raise ValueError(f"{kind} of shape {shape}, expected rows of float32")
    return shape, file.tell()
