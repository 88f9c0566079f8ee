"""The one decorator that every kernel wears.

It fixes the compiler's options, and where the compiled code is kept. numba looks only at the file of a
function to decide whether its cached code is fresh and does not notice a changed callee in another
file, so the cache folder is named after a digest of all sources of the package.
"""

import gc
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import platformdirs
from numba.core.compiler import Compiler

Function = TypeVar("Function", bound=Callable[..., Any])

# Reassociation lets reductions vectorise. NaN and infinity keep their meaning: isnan must work.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


class Unaliased(Compiler):
    """The compiler under the promise that no array which a kernel writes overlaps another of its arrays.

    Without it a loop gets a vectorised and a plain version, which round differently, and where the arrays
    happen to lie in memory decides between them: the same call would not always give the same bits.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.state.flags.noalias = True

    def compile_extra(self, func):
        """Compile without garbage collection, which takes an eighth of the time and finds nothing."""
        with _without_collection():
            return super().compile_extra(func)


@contextmanager
def _without_collection() -> Iterator[None]:
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def cache_folder() -> str | None:
    """Return the folder of compiled code for exactly these sources, or None if none is writable."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    root = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("directrank")
    folder = Path(root) / f"kernels-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        warnings.warn(
            f"compiled kernels are not kept: {folder} is not writable ({error.strerror}); "
            "each start will compile again. Set NUMBA_CACHE_DIR to a writable folder.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return str(folder)


def kernel(function: Function) -> Function:
    """Compile a free function over arrays on its first call.

    The compiled code is serial and releases the interpreter's lock, so that a thread pool can map it over
    shards; each shard is computed the same way whoever computes it. Arrays that a kernel writes must not
    overlap its other arguments.
    """
    folder = cache_folder()
    previous = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        numba.config.CACHE_DIR = folder or previous  # type: ignore[attr-defined]
        options: dict[str, Any] = {
            "cache": folder is not None,
            "nogil": True,
            "error_model": "numpy",
            "fastmath": FASTMATH,
            "pipeline_class": Unaliased,
            "forceinline": True,
            "no_cfunc_wrapper": True,  # no kernel is called through a C pointer: one compilation less each
        }
        compiled: Any = numba.njit(**options)
        return compiled(function)
    finally:
        numba.config.CACHE_DIR = previous  # type: ignore[attr-defined]
