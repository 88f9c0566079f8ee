"""Refuse an array that would not fit in memory, before it is allocated."""

import os
from typing import Any

import numpy as np

from directrank.errors import DataError

# The rest of the memory is for the text, for training and for other programs.
USABLE = 0.8
GIB = 2**30


def available_bytes() -> int | None:
    """Return the bytes of memory that are free now, or None if the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def refuse_if_too_large(name: str, n_docs: int, n_features: int) -> None:
    """Raise DataError if X of this shape needs more than four fifths of the free memory."""
    needed, available = 4 * n_docs * n_features, available_bytes()
    if available is None or needed <= USABLE * available:
        return
    raise DataError(
        f"{name}: X of {n_docs} documents × {n_features} features needs {needed / GIB:.1f} GiB when dense "
        f"and {available / GIB:.1f} GiB is free; use fewer features (in LETOR text the largest id counts) "
        "or documents"
    )


def as_dense(X: Any, name: str = "X") -> Any:
    """Return a sparse matrix of scipy as a dense float32 array, and anything else unchanged.

    Raises
    ------
    DataError
        If the dense array would need more than four fifths of the free memory.
    """
    from scipy.sparse import issparse

    if not issparse(X) or X.ndim != 2:
        return X
    refuse_if_too_large(name, *X.shape)
    with np.errstate(over="ignore"):
        return X.astype(np.float32).toarray()
