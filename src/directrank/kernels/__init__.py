"""Compiled functions over arrays: the decorator, and kernels that several concepts share."""

import os

from directrank.errors import EnvironmentVariableError

# numba reads it when it is imported, and fails there in words of its own.
_threads = os.environ.get("NUMBA_NUM_THREADS", "1")
if not _threads.strip().isdecimal() or int(_threads) < 1:
    raise EnvironmentVariableError(
        f"NUMBA_NUM_THREADS={_threads}: expected a whole number of at least 1; unset it, or set it to one"
    )
