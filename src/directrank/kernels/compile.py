"""The one decorator that every kernel wears.

It fixes the compiler's options, how kernels take in the kernels they call, and where the compiled code is
kept. numba looks only at the file of a function to decide whether its cached code is fresh and does not
notice a changed callee in another file, so the cache folder is named after a digest of all sources of the
package.
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
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NopythonTypeInference

Function = TypeVar("Function", bound=Callable[..., Any])

# Reassociation lets reductions vectorise. NaN and infinity keep their meaning: isnan must work.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
OPTIONS = {
    "nopython": True,
    "boundscheck": None,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": FASTMATH,
    "forceinline": True,
    "no_cfunc_wrapper": True,  # no kernel is called through a C pointer: one compilation less each
}


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
            result = super().compile_extra(func)
        if takes_in() and not self.state.flags.no_compile:
            _share_constants(result)
        return result


def _share_constants(result: CompileResult) -> None:
    """Hand compiled code the constants of the kernels that it has taken in, as loading from a cache does."""
    for each in result._find_referenced_environments():
        result.library.codegen.set_env(each.env_name, each)


@register_pass(mutates_CFG=False, analysis_only=True)
class WithoutEntry(FunctionPass):
    """Leave out what only a call from Python needs.

    The flags change no sooner than here, because numba keeps its own functions by the flags under which
    their callers' types were found: both forms of a kernel share them so.
    """

    _name = "directrank_without_entry"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state) -> Any:
        """Set the flags; return that the code stays as it is."""
        state.flags.no_cpython_wrapper = state.flags.no_compile = True
        return False


class Taken(JITCodeLibrary):
    """Code to be taken into that of other kernels, which optimise it there: here it stays as it is."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class Inlining(Unaliased):
    """The compiler of kernels for their calls from other kernels: no entry, no machine code."""

    def define_pipelines(self):
        """Return numba's passes and `WithoutEntry`."""
        pipelines = super().define_pipelines()
        for each in pipelines:
            each.add_pass_after(WithoutEntry, NopythonTypeInference)
            each.finalize()
        return pipelines

    def compile_extra(self, func):
        """Compile into a library of the kind `Taken`, which is the key by which callers find it, too."""
        self.state.library = Taken(self.state.targetctx.codegen(), func.__qualname__)
        result = super().compile_extra(func)
        result = result._replace(entry_point=result.library)
        self.state.targetctx.insert_user_function(result.library, result.fndesc, [result.library])
        return result


class Callee(CPUDispatcher):
    """A kernel as other kernels call it."""

    def add_overload(self, cres) -> None:
        """Keep what was compiled without offering it to callers from Python."""
        self.overloads[tuple(cres.signature.args)] = cres


class Kernel(CPUDispatcher):
    """A kernel as Python calls it, and within it the form that other kernels take in.

    numba alone has one form for both: whatever a kernel calls is first made a function of its own, optimised
    and with an entry from Python, only to be inlined and optimised again, a quarter of all compilation. What
    is taken in is always the same code, whether Python has called it before or not.
    """

    def __init__(self, py_func, local_types=None, targetoptions=None):
        given = {"locals": local_types or {}, "targetoptions": targetoptions or OPTIONS}
        super().__init__(py_func, **given, pipeline_class=Unaliased)
        self.callee = Callee(py_func, **given, pipeline_class=Inlining)

    def get_call_template(self, args, kws):
        """Return the type of a call from another kernel."""
        plain = [types.unliteral(each) for each in args]  # a constant is no reason for code of its own
        return self.callee.get_call_template(plain, kws)

    def get_overload(self, sig):
        """Return the key of the code that a call from another kernel takes in."""
        return self.callee.get_overload(sig)


# What the classes above lean on inside numba. Where a later numba has it otherwise, kernels are numba's own
# dispatchers, which differ in the time of compilation alone.
INTERNALS = (
    (JITCodeLibrary, ("_optimize_final_module", "_finalize_final_module", "_get_module_for_linking")),
    (CPUDispatcher, ("add_overload", "get_call_template", "get_overload")),
    (CompileResult, ("_find_referenced_environments",)),
    (Flags, ("no_cpython_wrapper", "no_compile")),
)


def takes_in() -> bool:
    """Return whether this numba has all that `Kernel` is built on."""
    return all(hasattr(owner, name) for owner, names in INTERNALS for name in names)


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
    for source in sorted(Path(__file__).parents[1].rglob("*.py")):
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


def kernel(function: Function, *, kept: bool = True) -> Function:
    """Compile a free function over arrays on its first call.

    The compiled code is serial and releases the interpreter's lock, so that a thread pool can map it over
    shards; each shard is computed the same way whoever computes it. Arrays that a kernel writes must not
    overlap its other arguments, and no kernel calls itself.

    Without `kept` the code is compiled anew by every process: for kernels that take in code from outside the
    package, whose changes the folder's name would not notice.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    folder = cache_folder() if kept else None
    previous = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        numba.config.CACHE_DIR = folder or previous  # type: ignore[attr-defined]
        plain = {"targetoptions": OPTIONS, "pipeline_class": Unaliased}
        compiled: Any = Kernel(function) if takes_in() else CPUDispatcher(function, **plain)
        if folder is not None:
            compiled.enable_caching()
        return compiled
    finally:
        numba.config.CACHE_DIR = previous  # type: ignore[attr-defined]
