"""`kernel`: the decorator of all compiled functions, with the folder that caches their machine code.

numba decides by the file of a function whether its cached code is fresh, and does not notice a changed callee
in another file. The cache folder is therefore named after a digest of all sources that kernels may use.
"""

import gc
import hashlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import platformdirs
from numba.core.compiler import Compiler

from directrank.kernels.code_cache import prepared_folder

Function = TypeVar("Function", bound=Callable[..., Any])

# Reassociation lets reductions vectorise. NaN and infinity keep their meaning, so that isnan works.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


class Unaliased(Compiler):
    """numba's compiler, told that an array which a kernel writes overlaps none of its other arrays.

    Without this promise a loop is compiled twice, vectorised and plain. The two round differently, and which
    one runs depends on the distance of the arrays in memory: the same call would not always give the same
    bits.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.state.flags.noalias = True

    def compile_extra(self, func):
        """Compile without garbage collection, which takes a sixth of the time and finds nothing."""
        enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if enabled:
                gc.enable()


# Nothing below these folders may import them (import-linter), so no kernel depends on their sources.
WITHOUT_KERNELS = {"cli", "report", "experiments", "text"}

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": FASTMATH,
    "forceinline": True,
    "no_cfunc_wrapper": True,  # No kernel is called through a C pointer, so this function is not compiled.
    "pipeline_class": Unaliased,
}


@cache
def cache_folder() -> str | None:
    """Return the folder of compiled code for exactly these sources, or None if none can be used."""
    digest, package = hashlib.sha256(), Path(__file__).parents[1]
    for source in sorted(package.rglob("*.py")):
        if source.relative_to(package).parts[0] not in WITHOUT_KERNELS:
            digest.update(source.read_bytes())
    root = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("directrank")
    folder = Path(root) / f"kernels-{digest.hexdigest()[:16]}"
    try:
        return str(prepared_folder(folder))
    except OSError as error:
        warnings.warn(
            f"compiled kernels cannot be cached in {folder} ({error.strerror}), so every start compiles them "
            "again. Set NUMBA_CACHE_DIR to a folder that you alone can write to.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def kernel(function: Function, *, cached: bool = True, inline: bool = False) -> Function:
    """Compile a free function over arrays on its first call.

    The compiled code is serial and releases the interpreter's lock, so that a thread pool can map it over
    shards. Arrays that a kernel writes must not overlap its other arguments, and no kernel calls itself.

    With ``cached=False`` every process compiles the code anew. Kernels that inline code from outside the
    package need this, because the name of the cache folder does not change when that code does.

    With ``inline=True`` numba copies the code into each kernel that calls it before it compiles, which is
    faster than compiling it on its own first. The promise that arrays do not overlap is then that of the
    caller: use it only where the arrays that are written are different arguments of the caller.
    """
    folder = cache_folder() if cached else None
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        # numba reads this setting when a function is decorated. Functions of others keep their own folder.
        numba.config.CACHE_DIR = folder or before  # type: ignore[attr-defined]
        compiled: Any = numba.njit(
            function, cache=folder is not None, inline="always" if inline else "never", **OPTIONS
        )
        return compiled
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def inline_kernel(function: Function) -> Function:
    """Compile a free function over arrays inside the kernels that call it; see `kernel`."""
    return kernel(function, inline=True)
