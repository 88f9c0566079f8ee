"""`kernel`: the decorator of all compiled functions, with the folder that caches their machine code.

numba decides by the file of a function whether its cached code is fresh, and does not notice a changed callee
in another file. Each module with kernels therefore has a folder of its own, named after a digest of its own
source and of all that it imports: an edit compiles again what it touches, and nothing else.
"""

import gc
import hashlib
import os
import re
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import platformdirs
from numba.core.compiler import Compiler
from numba.core.event import register

from directrank.kernels.code_cache import (
    PACKAGE,
    OneCompiler,
    PathlessLocator,
    copy_shared,
    is_shared,
    prepared_folder,
)
from directrank.timing import compilation

Function = TypeVar("Function", bound=Callable[..., Any])

# Reassociation lets reductions vectorise. NaN and infinity keep their meaning, so that isnan works.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


class Unaliased(Compiler):
    """numba's compiler, told that an array which a kernel writes overlaps none of its other arrays.

    Without this promise a loop is compiled twice, vectorised and plain. The two round differently, and which
    one runs depends on the distance of the arrays in memory: the same call would not always be
    bit-identical.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.state.flags.noalias = True

    def compile_extra(self, func):
        """Compile without garbage collection, which takes a sixth of the time and finds nothing."""
        enabled = gc.isenabled()
        gc.disable()
        try:
            with compilation.running():
                return super().compile_extra(func)
        finally:
            if enabled:
                gc.enable()


OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": FASTMATH,
    "forceinline": True,
    "no_cfunc_wrapper": True,  # No kernel is called through a C pointer, so this function is not compiled.
    "pipeline_class": Unaliased,
}


LOCATOR = f"{PathlessLocator.__module__}.{PathlessLocator.__qualname__}"
#: From the end of a line on, which is found much faster than the beginning of one.
IMPORT = re.compile(r"\n *(?:from|import) (directrank[\w.]*)(?: import (\([^)]*\)|.*))?")
#: What calls a plug-in (`directrank.kernels.plugins`) contains kernels that it does not import.
PLUGINS = (b"query_gradient(", b"position_slopes(", b"cut_of_query(")
CALLS_PLUGIN = re.compile(rb"(?<!def )\b(?:" + b"|".join(map(re.escape, PLUGINS)) + b")")


@cache
def _files() -> dict[str, str]:
    """Return the path of each module of directrank."""
    files = {}
    for folder, _, names in os.walk(PACKAGE):
        package = os.path.relpath(folder, PACKAGE.parent).replace(os.sep, ".")
        for name in names:
            if name.endswith(".py"):
                module = package if name == "__init__.py" else f"{package}.{name[:-3]}"
                files[module] = os.path.join(folder, name)
    return files


@cache
def _source(module: str) -> bytes | None:
    """Return the source of a module of directrank, or None if there is no such module."""
    file = _files().get(module)
    return None if file is None else Path(file).read_bytes()


@cache
def _imported(module: str) -> set[str]:
    """Return what a module of directrank imports from it, modules and names."""
    matches = IMPORT.findall("\n" + (_source(module) or b"").decode())
    names = {f"{package}.{name}" for package, names in matches for name in re.findall(r"\w+", names)}
    return names.union(package for package, _ in matches)


def _closure(modules: set[str]) -> set[str]:
    """Return modules with all modules of directrank that they import, directly or not."""
    reached, waiting = set(), set(modules)
    while waiting:
        module = waiting.pop()
        if module not in reached and module in _files():
            reached.add(module)
            waiting |= _imported(module)
    return reached


@cache
def _with_all_kernels() -> set[str]:
    """Return all modules with kernels, and all that they import."""
    return _closure({name for name in _files() if b"kernels.compile import" in (_source(name) or b"")})


@cache
def _digest_of_one(module: str) -> tuple[bytes, bool]:
    """Return a digest of the source of one module, and whether it calls plug-ins."""
    source = _source(module) or b""
    calls = any(name in source for name in PLUGINS) and CALLS_PLUGIN.search(source) is not None
    return hashlib.sha256(source).digest(), calls


@cache
def source_digest(module: str = "") -> str:
    """Return a digest of the sources that decide the machine code of a module's kernels.

    For a name that is not a module of directrank it is that of all kernels.
    """
    reached = _closure({module})
    if not reached or any(_digest_of_one(name)[1] for name in reached):
        reached |= _with_all_kernels()
    return _digest_of_all(frozenset(reached))


@cache
def _digest_of_all(modules: frozenset[str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(modules):
        digest.update(name.encode() + b"\n" + _digest_of_one(name)[0])
    return digest.hexdigest()[:16]


@cache
def shared_folder() -> str | None:
    """Return the folder of compiled code that ``NUMBA_CACHE_DIR`` names, if it is for reading alone."""
    setting = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(os.path.realpath(Path(setting or "") / "kernels"))
    return str(folder) if setting and is_shared(folder) else None


@cache  # A process with two locks of a folder would wait for itself.
def _one_compiler(folder: Path) -> OneCompiler:
    compiler = OneCompiler(folder)
    register("numba:compiler_lock", compiler)
    register("numba:compile", compiler)
    return compiler


@cache
def cache_folder() -> str | None:
    """Return the folder of compiled code, or None if none can be used.

    Code of a shared folder is copied here when it is first used.
    """
    setting = None if shared_folder() else os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(setting or platformdirs.user_cache_dir("directrank")) / "kernels"
    try:
        folder = prepared_folder(folder)
        _one_compiler(folder)
        return str(folder)
    except OSError as error:
        warnings.warn(
            f"compiled kernels cannot be cached in {folder} ({error.strerror}), so every start compiles them "
            "again. Set NUMBA_CACHE_DIR to a folder that you alone can write to.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


@cache
def _folder_of(module: str) -> str | None:
    """Return the folder of the compiled code of one module, without damaged files."""
    root = cache_folder()
    if root is None:
        return None
    name, shared = f"{module.rpartition('.')[2]}-{source_digest(module)}", shared_folder()
    folder = Path(root) / name
    if shared:
        copy_shared(Path(shared) / name, folder)
    _one_compiler(Path(root)).remove_damaged(folder)
    return str(folder)


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
    folder = _folder_of(function.__module__) if cached else None
    config: Any = numba.config  # type: ignore[attr-defined]
    before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
    try:
        # numba reads these settings when a function is decorated. Functions of others keep their own folder.
        if folder is not None:
            config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = folder, LOCATOR
        compiled: Any = numba.njit(
            function, cache=folder is not None, inline="always" if inline else "never", **OPTIONS
        )
        return compiled
    finally:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = before


def inline_kernel(function: Function) -> Function:
    """Compile a free function over arrays inside the kernels that call it; see `kernel`."""
    return kernel(function, inline=True)
