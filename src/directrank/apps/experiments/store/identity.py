"""What a result depends on: code, versions, and the objects in its key."""

import hashlib
import inspect
import os
import platform
import sys
import uuid
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, version
from pathlib import Path
from typing import Any

from directrank.contracts import Measure
from directrank.features import processors
from directrank.measures import is_own
from directrank.registries import LOADED
from directrank.storage.names import printable
from directrank.storage.strict_json import Plain, as_plain, dump

#: Sources that decide no result: pages and commands, which may change without a new fit. All others count, so
#: that a new module, or one that is imported when it is used, cannot be forgotten.
UNDECISIVE = (Path("apps/cli"), Path("apps/report"), Path("__main__.py"))
#: The folder of the package.
PACKAGE = Path(__file__).parents[3]
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


def decisive_sources() -> list[Path]:
    """Return the sources of the package that may decide a result: all but `UNDECISIVE` ones."""
    return [
        source
        for source in sorted(PACKAGE.rglob("*.py"))
        if not any(source.relative_to(PACKAGE).is_relative_to(folder) for folder in UNDECISIVE)
    ]


@cache
def code_digest() -> str:
    """Return the SHA-256, in hex, of the sources that decide a result."""
    digest = hashlib.sha256()
    for source in decisive_sources():
        digest.update(source.relative_to(PACKAGE).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


@cache  # Every fit records versions, and reading the metadata of a package takes milliseconds.
def versions() -> dict[str, str]:
    """Return the versions that a fitted model depends on, by package."""
    return {name: version(name) for name in ("directrank", *PACKAGES)}


def environment() -> dict[str, str]:
    """Return what a reader needs to set up the same environment.

    Returns
    -------
    dict of str to str
        Versions of packages, of Python and of the code, and the platform.
    """
    return {
        **versions(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": str(processors()),
        "code": code_digest()[:16],
        **{
            f"plug-in {printable(Path(plugin.origin).name)}": plugin.digest[:16] for plugin in LOADED.values()
        },
    }


#: Objects inside each other that are looked into.
DEEPEST = 8
#: Packages whose version, or whose own digest, every key has; and what is compiled into Python.
KNOWN = {"directrank", "numpy", "scipy", "sklearn", "typing", "abc", *sys.builtin_module_names}


def identity_of(*values: object) -> str:
    """Return a SHA-256, in hex, that differs for values that differ in state or in code.

    A class or function that is not directrank's counts with the whole file of its module, and an estimator
    with its parameters. What cannot be told apart, such as a class that a function or a notebook defines, or
    an object without attributes, differs at every call.
    """
    sources = sorted({_source(code) for value in values for code in _foreign(value, DEEPEST)})
    return hashlib.sha256(dump([_class_and_state(list(values), DEEPEST), sources]).encode()).hexdigest()


def names_of_objects(value: object) -> Plain:
    """Return a value with each object as its name, for records and people."""
    return as_plain(value, lambda item: item if _is_plain(item) else _name(item))


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _name(value: object) -> str:
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


def _class_and_state(value: object, depth: int) -> Plain:
    """Return a value with objects as plain data: their class and state."""
    return as_plain(value, lambda item: item if _is_plain(item) else _object(item, depth - 1))


def _object(value: object, depth: int) -> Plain:
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, Measure) and not is_own(value):
        return value.name
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    return [type(value).__qualname__, _class_and_state(_state(value), depth) if depth else ""]


def _state(value: object) -> Plain:
    """Return what an object holds; what cannot be seen differs at every call."""
    if inspect.isfunction(value):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [_code(value.__code__), cells, value.__defaults__, value.__kwdefaults__]
    if inspect.ismethod(value):
        return [value.__func__, value.__self__]
    if inspect.isroutine(value):
        return value.__qualname__
    if not isinstance(value, type) and callable(parameters := getattr(value, "get_params", None)):
        return parameters(deep=False)
    hidden = type(value).__module__ == "functools" or not hasattr(value, "__dict__")
    return uuid.uuid4().hex if hidden else vars(value)


def _code(code: Any) -> list[Plain]:
    """Return what a function does, without the names of files and the numbers of lines."""
    inner = [_code(constant) if inspect.iscode(constant) else repr(constant) for constant in code.co_consts]
    return [code.co_name, code.co_code.hex(), inner, list(code.co_names)]


def _foreign(value: object, depth: int) -> Iterator[Plain]:
    """Yield the classes and functions in a value, with the bases of classes, that are not directrank's."""
    if _is_plain(value) or depth == 0:
        return
    if isinstance(value, type) or inspect.isroutine(value):
        bases = value.__mro__ if isinstance(value, type) else (value,)
        yield from (base for base in bases if not _is_known(base))
        return
    if isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = list(value)
    else:
        inner = [type(value), *getattr(value, "__dict__", {}).values()]
    for part in inner:
        yield from _foreign(part, depth - 1)


def _is_known(code: object) -> bool:
    return str(getattr(code, "__module__", "")).partition(".")[0] in KNOWN


def _source(code: Any) -> str:
    """Return the digest of the module of a class or function."""
    module = sys.modules.get(str(getattr(code, "__module__", "")))
    # The file of a plug-in may have changed since it was loaded.
    loaded = getattr(module, "__source_sha256__", None)
    file = getattr(module, "__file__", None)
    if isinstance(code, type) and "<locals>" in code.__qualname__:  # Its function may have made another.
        loaded = None
    elif loaded is None and file is not None and Path(file).is_file():
        loaded = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return f"{code.__qualname__} {loaded or uuid.uuid4().hex}"


def library_of(code: object) -> dict[str, str]:
    """Return the version of the installed package that defines a class or function, by its name, if any."""
    top = str(getattr(code, "__module__", "")).partition(".")[0]
    try:  # Most packages are called like their module.
        package = distribution(top)
        return {package.metadata["Name"]: package.version}
    except (PackageNotFoundError, ValueError):
        return {name: version(name) for name in _packages().get(top, ())[:1]}


@cache  # Reading the metadata of all packages takes half a second.
def _packages() -> dict[str, list[str]]:
    return dict(packages_distributions())


def is_installed(module: str) -> bool:
    """Whether a module belongs to an installed package."""
    return module.partition(".")[0] in _packages()
