"""Plug-ins: measures, surrogates, solvers and methods that get names, from a file or a package.

A plug-in is a module with ``PLUGINS``, a tuple of what it adds; the page "plugins" of the documentation has
examples.
"""

import hashlib
import inspect
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, get_origin

from directrank import measures
from directrank.contracts import Measure, Solver, Surrogate
from directrank.errors import PluginError, UnfitPairError
from directrank.estimators import methods
from directrank.estimators.method import Method
from directrank.estimators.ranker import Ranker
from directrank.measures.families.definition import Definition
from directrank.measures.names import OWN
from directrank.registries import LOADED, of_other_packages

__all__ = [
    "PlugIn",
    "instance_of",
    "kind_of",
    "load_entry_points",
    "load_plugin",
    "load_plugin_sources",
    "methods_of",
    "plugin_sources",
]

#: What a module adds.
ATTRIBUTE = "PLUGINS"
_METHOD_NAME = re.compile(r"[a-z][a-z0-9_-]*")

#: Of each kind what a thing must have, with what it is.
NEEDED: dict[type, dict[str, str]] = {
    Measure: {
        "meaning": "one sentence for newcomers",
        "name": "its canonical name; inherit from Definition to get one",
        "query_values": "the value of each query",
    },
    Surrogate: {
        "offers": "its oracles, such as frozenset({ValueAndGradient})",
        "is_bound": "whether it lies above 1 − E",
        "is_convex": "whether it is convex in the scores",
        "is_smooth": "whether its derivative is continuous",
        "on": "from queries and weights to its oracles",
    },
    Solver: {"needs": "the oracles that it calls", "solve": "from an objective to a Solution"},
}


#: What a plug-in may define: a surrogate, a measure, a cut, a solver, a method or a class of one.
Extension = Any


@dataclass(frozen=True)
class PlugIn:
    """What was loaded from one file or package.

    Attributes
    ----------
    origin : str
        The file, or the name of the entry point and its package.
    things : tuple
        What it adds: measures, surrogates, solvers (classes or objects) and methods.
    digest : str
        SHA-256 of the file, in hex.
    source : bytes or None
        The text of the file.
    """

    origin: str
    things: tuple[Extension, ...]
    digest: str = ""
    source: bytes | None = None


#: The names that each plug-in gave, in the tables of measures and methods.
_NAMES: dict[str, tuple[dict[str, Extension], dict[str, Method]]] = {}


def load_plugin(path: str | os.PathLike) -> PlugIn:
    """Run a Python file, and give the measures and methods in its ``PLUGINS`` their names.

    The file can do whatever Python can: load none that you do not trust. A file that is loaded again replaces
    what it added before.

    Parameters
    ----------
    path : path
        A file whose name ends in ``.py``; see the page "plugins" of the documentation.

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
    """Load the plug-ins of other installed packages, once.

    Warns
    -----
    UserWarning
        For each plug-in that cannot be loaded; the others are.
    """
    for entry in of_other_packages():
        origin = f"{entry.name} of the package {entry.dist.name if entry.dist is not None else '?'}"
        try:
            register(PlugIn(origin, _entered(entry, origin)))
        except PluginError as error:
            warnings.warn(f"the plug-in is not used: {error}", UserWarning, stacklevel=2)


def plugin_sources() -> tuple[bool, list[tuple[str, bytes]]]:
    """Return what another process needs to load the same plug-ins: whether of packages, and the files."""
    files = [(plugin.origin, plugin.source) for plugin in LOADED.values() if plugin.source is not None]
    return load_entry_points.cache_info().currsize > 0, files


def load_plugin_sources(sent: tuple[bool, list[tuple[str, bytes]]]) -> None:
    """Load the plug-ins that `plugin_sources` returned in another process."""
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
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    place = f"{file}:{lines[-1]}" if lines else file
    return f"{place}: {type(error).__name__}: {' '.join(str(error).split())}"


def _things(module: ModuleType, origin: str) -> tuple[Extension, ...]:
    added = getattr(module, ATTRIBUTE, None)
    if not isinstance(added, (tuple, list)) or not added:
        what = "has no" if added is None else "has nothing in"
        raise PluginError(
            f"{origin}: the module {what} {ATTRIBUTE}; add the line {ATTRIBUTE} = (MyMeasure,) with the "
            "measures, surrogates, solvers and methods that it adds"
        )
    return tuple(added)


def _entered(entry: EntryPoint, origin: str) -> tuple[Extension, ...]:
    """Return what an entry point names: a module with ``PLUGINS``, or one class or object."""
    try:
        loaded = entry.load()
    except Exception as error:  # whatever the code of a package raises
        raise PluginError(f"{origin}: {type(error).__name__}: {error}") from error
    return _things(loaded, origin) if isinstance(loaded, ModuleType) else (loaded,)


def kind_of(thing: Extension) -> type | None:
    """Return Measure, Surrogate, Solver or Method: what a class or an object is, by what it inherits from."""
    if isinstance(thing, Method):
        return Method
    bases = (thing if isinstance(thing, type) else type(thing)).__mro__
    return next((kind for kind in NEEDED if kind in bases), None)


def place_of(thing: Extension, origin: str) -> str:
    """Return the file and the line of the class of a thing, as far as they are known."""
    cls = thing.estimator if isinstance(thing, Method) else thing if isinstance(thing, type) else type(thing)
    try:
        return f"{inspect.getsourcefile(cls) or origin}:{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return origin


def instance_of(thing: Extension, origin: str = "") -> Extension:
    """Return the object of a class or object that a plug-in adds.

    Raises PluginError if it is of no kind, lacks something, or its class cannot make an object.
    """
    kind, place = kind_of(thing), place_of(thing, origin)
    if kind is None:
        raise PluginError(f"{place}: {_what(thing)}")
    if kind is Method:
        return _checked_method(thing, place)
    cls = thing if isinstance(thing, type) else type(thing)
    for name, what in NEEDED[kind].items():
        # An object may have an attribute of its own.
        is_set = not isinstance(thing, type) and name in getattr(thing, "__dict__", ())
        if getattr(cls, name, None) is getattr(kind, name, None) and not is_set:
            raise PluginError(f"{place}: the {kind.__name__.lower()} {cls.__name__} lacks {name}, {what}")
    # A measure may have parameters that the dataclass above it does not know.
    hints = inspect.get_annotations(cls).values()
    declares = any(not (get_origin(hint) is ClassVar or "ClassVar" in str(hint)) for hint in hints)
    is_made = "__dataclass_fields__" in cls.__dict__ and is_dataclass(cls)
    if kind is Measure and declares and not is_made:
        raise PluginError(f"{place}: {cls.__name__} has parameters: write @dataclass(frozen=True) above it")
    return thing if not isinstance(thing, type) else _made(cls, place)


def _made(cls: type, place: str) -> Extension:
    if issubclass(cls, Definition) and cls.cutoff_is() == "required":
        return cls(cutoff=1)  # type: ignore[call-arg]
    try:
        return cls()
    except Exception as error:  # whatever code of a user raises
        raise PluginError(
            f"{place}: {cls.__name__}() raises {type(error).__name__}: {error}; put an object with its "
            f"arguments into PLUGINS, such as {cls.__name__}(…)"
        ) from error


def _checked_method(method: Method, place: str) -> Method:
    if not _METHOD_NAME.fullmatch(method.name):
        raise PluginError(
            f"{place}: the name of the method {method.name!r} must be small letters, digits, - and _"
        )
    if not (isinstance(method.estimator, type) and issubclass(method.estimator, Ranker)):
        raise PluginError(f"{place}: the estimator of the method {method.name} must be a class of rankers")
    return method


def _what(thing: Extension) -> str:
    """Return what is expected in place of a thing that is no plug-in."""
    if isinstance(thing, type) and issubclass(thing, Ranker):
        name = thing.__name__
        return f'{name} is a ranker without a name: put Method("a-name", {name}) into PLUGINS'
    name = thing.__name__ if hasattr(thing, "__name__") else repr(thing)
    return (
        f"{name} is no plug-in: PLUGINS holds classes and objects that inherit from Measure, Surrogate or "
        "Solver, and methods"
    )


def register(plugin: PlugIn) -> PlugIn:
    """Give what a plug-in adds its names, in place of what the same file or package added before.

    Raises PluginError if something is incomplete, or a name is in use; then nothing changes.
    """
    tables = _tables(plugin)
    forget(plugin.origin)
    LOADED[plugin.origin], _NAMES[plugin.origin] = plugin, tables
    OWN.update(tables[0])
    methods.OWN.update(tables[1])
    return plugin


def forget(origin: str) -> None:
    """Take back the names that a file or package gave."""
    LOADED.pop(origin, None)
    for table, names in zip((OWN, methods.OWN), _NAMES.pop(origin, ({}, {})), strict=True):
        for name in names:
            table.pop(name, None)


def methods_of(thing: Extension, origin: str) -> list[Method]:
    """Return the methods that a thing of a plug-in makes: a `Method` itself, and that of a surrogate."""
    if isinstance(thing, Method):
        return [thing]
    if kind_of(thing) is not Surrogate:
        return []
    surrogate = instance_of(thing, origin)
    method = methods.configured([surrogate])[0].method
    try:
        method.estimator(**method.fixed).checked()
    except UnfitPairError:  # it needs a solver other than L-BFGS, in a method of its own
        return []
    return [method]


def _tables(plugin: PlugIn) -> tuple[dict[str, Extension], dict[str, Method]]:
    """Return measures and methods of a plug-in by name."""
    tables: tuple[dict[str, Extension], dict[str, Method]] = {}, {}
    in_use = [_names_in_use(table, plugin.origin) for table in range(len(tables))]

    def add(table: int, names: Sequence[str], thing: Extension, entry: Any) -> None:
        for name in names:
            if by := in_use[table].get(name.lower()):
                kind, what = (("measure", "class or its bare_name"), ("method", "method"))[table]
                raise PluginError(
                    f"{place_of(thing, plugin.origin)}: the name {name} is in use by a {kind} of {by}; "
                    f"rename the {what}"
                )
        tables[table][names[0]] = entry
        in_use[table][names[0].lower()] = plugin.origin

    for thing in plugin.things:
        instance_of(thing, plugin.origin)
        if kind_of(thing) is Measure:
            measure = (
                thing if isinstance(thing, type) and issubclass(thing, Definition) else instance_of(thing)
            )
            add(0, [measure.bare_name if isinstance(measure, type) else measure.name], thing, measure)
        for method in methods_of(thing, plugin.origin):
            add(1, [method.name, *method.aliases], thing, method)
    return tables


def _names_in_use(table: int, origin: str) -> dict[str, str]:
    """Return who has each name of a measure, or of a method, in lower case; without those of an origin."""
    words = (
        [(entry.bare_name, *entry.aliases) for entry in measures.MEASURES],
        [(entry.name, *entry.aliases) for entry in methods.METHODS],
    )
    ours = {word.lower(): "directrank" for names in words[table] for word in names}
    of_plugins = {
        name.lower(): entry for entry, names in _NAMES.items() for name in names[table] if entry != origin
    }
    return {**ours, **of_plugins}
