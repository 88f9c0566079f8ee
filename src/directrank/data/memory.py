"""Refuse an array that would not fit in memory, before it is allocated."""

import os
from typing import Any

import numpy as np

from directrank.errors import DataError

# The rest of the memory is for the text, for training and for other programs.
USABLE = 0.8
GIB = 2**30
GROUP = "/sys/fs/cgroup/"


def available_bytes() -> int | None:
    """Return the bytes of memory that this process can still get, or None if the system does not tell."""
    limits = [limit for limit in (_free(), _left_of_address_space(), _left_of_group()) if limit is not None]
    return min(limits) if limits else None


def _free() -> int | None:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _left_of_address_space() -> int | None:
    """Return what `ulimit -v` leaves."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        return max(0, limit - int(_lines("/proc/self/statm")[0].split()[0]) * os.sysconf("SC_PAGE_SIZE"))
    except (ImportError, IndexError, ValueError, OSError):
        return None


def _left_of_group() -> int | None:
    """Return what the limit of a container leaves."""
    limit, used = _lines(GROUP + "memory.max"), _lines(GROUP + "memory.current")
    if not limit or not used or not limit[0].strip().isdigit():
        return None
    cached = (line.split()[1] for line in _lines(GROUP + "memory.stat") if line.startswith("inactive_file "))
    return max(0, int(limit[0]) - int(used[0]) + int(next(cached, 0)))


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.readlines()
    except (OSError, ValueError):
        return []


def refuse_if_too_large(name: str, n_docs: int, n_features: int, dtype: type = np.float32) -> None:
    """Raise DataError if X of this shape needs more than four fifths of the free memory."""
    needed, available = np.dtype(dtype).itemsize * n_docs * n_features, available_bytes()
    if available is None or needed <= USABLE * available:
        return
    raise DataError(
        f"{name}: X of {n_docs} documents × {n_features} features needs {needed / GIB:.1f} GiB when dense "
        f"and {available / GIB:.1f} GiB is free; use fewer features (in LETOR text the largest id counts) "
        "or documents, or `directrank convert` and train from the store"
    )


def as_dense(X: Any, name: str = "X", dtype: type = np.float32) -> Any:
    """Return a sparse matrix of scipy as a dense array, and anything else unchanged.

    Raises DataError if the dense array would need more than four fifths of the free memory.
    """
    if not hasattr(X, "toarray"):
        return X
    from scipy.sparse import issparse  # slow to import

    if not issparse(X) or X.ndim != 2:
        return X
    refuse_if_too_large(name, X.shape[0], X.shape[1], dtype)
    with np.errstate(over="ignore"):
        return X.astype(dtype).toarray()
