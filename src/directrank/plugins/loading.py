"""Load plug-ins: from a Python file that a user names, and from installed packages."""

import hashlib
import os
import sys
import traceback
import warnings
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from directrank.errors import PluginError
from directrank.plugins.registration import LOADED, PlugIn, register

#: Packages add plug-ins under this name in their metadata.
GROUP = "directrank.plugins"
#: What a module adds.
ATTRIBUTE = "PLUGINS"


def load_plugin(path: str | os.PathLike) -> PlugIn:
    """Run a Python file, and give the measures and methods in its ``PLUGINS`` their names.

    The file can do whatever Python can: load none that you do not trust. A file that is loaded again replaces
    what it added before.

    Parameters
    ----------
    path : path
        A file whose name ends in ``.py``; see docs/plugins.md.

    Returns
    -------
    PlugIn

    Raises
    ------
    PluginError
        If it is no Python file, raises an error, or adds something that is incomplete or has a name in use.
    """
    path = Path(path)
    if path.suffix != ".py":
        raise PluginError(f"{path}: not a Python file; its name must end in .py")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise PluginError(f"{path}: {error.strerror or error}") from None
    return load_source(str(path.absolute()), source)


def load_source(file: str, source: bytes) -> PlugIn:
    """Load a plug-in from its text, as another process read it from a file; see `load_plugin`."""
    digest = hashlib.sha256(source).hexdigest()
    module = _executed(file, source, digest)
    return register(PlugIn(file, _things(module, file), digest, source))


@cache
def load_entry_points() -> None:
    """Load the plug-ins of installed packages, once.

    Warns
    -----
    UserWarning
        For each plug-in that cannot be loaded; the others are.
    """
    for entry in entry_points(group=GROUP):
        package = entry.dist.name if entry.dist is not None else "?"
        origin = f"{entry.name} of the package {package}"
        try:
            register(PlugIn(origin, _entered(entry, origin)))
        except PluginError as error:
            warnings.warn(f"the plug-in is not used: {error}", UserWarning, stacklevel=2)


def to_send() -> tuple[bool, list[tuple[str, bytes]]]:
    """Return what another process needs to load the same plug-ins: whether of packages, and the files."""
    files = [(each.origin, each.source) for each in LOADED.values() if each.source is not None]
    return load_entry_points.cache_info().currsize > 0, files


def load_sent(sent: tuple[bool, list[tuple[str, bytes]]]) -> None:
    """Load the plug-ins that `to_send` returned in another process."""
    packages, files = sent
    if packages:
        load_entry_points()
    for file, source in files:
        load_source(file, source)


def _executed(file: str, source: bytes, digest: str) -> ModuleType:
    """Return the module of a file, under a name by which other processes find its classes."""
    place = hashlib.sha256(os.fsencode(file)).hexdigest()[:8]
    module = ModuleType(f"directrank_plugin_{Path(file).stem}_{place}")
    module.__file__, before = file, sys.modules.get(module.__name__)
    module.__dict__["__source_sha256__"] = digest
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, file, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        if before is not None:
            sys.modules[module.__name__] = before
        raise PluginError(_said(error, file)) from error
    return module


def _said(error: BaseException, file: str) -> str:
    """Return file, line and cause of an error that a file raised."""
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
        return f"{file}:{error.lineno}: {type(error).__name__}: {error.msg}"
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
    place = f"{file}:{lines[-1]}" if lines else file
    return f"{place}: {type(error).__name__}: {' '.join(str(error).split())}"


def _things(module: Any, origin: str) -> tuple[Any, ...]:
    added = getattr(module, ATTRIBUTE, None)
    if not isinstance(added, (tuple, list)) or not added:
        what = "has no" if added is None else "has nothing in"
        raise PluginError(
            f"{origin}: the module {what} {ATTRIBUTE}; add the line {ATTRIBUTE} = (MyMeasure,) with the "
            "measures, surrogates, solvers and methods that it adds"
        )
    return tuple(added)


def _entered(entry: EntryPoint, origin: str) -> tuple[Any, ...]:
    """Return what an entry point names: a module with ``PLUGINS``, or one class or object."""
    try:
        found = entry.load()
    except Exception as error:  # whatever the code of a package raises
        raise PluginError(f"{origin}: {type(error).__name__}: {error}") from error
    return _things(found, origin) if isinstance(found, ModuleType) else (found,)
