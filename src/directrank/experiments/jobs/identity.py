"""What objects add to the key of a record: class, state, and code that is not directrank's."""

import hashlib
import inspect
import os
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from directrank.contracts import Measure
from directrank.measures.naming.names import is_own
from directrank.storage.strict_json import as_plain, dump

#: Objects inside each other that are looked into.
DEEPEST = 8
#: Packages whose version, or whose own digest, every key has; and what is compiled into Python.
KNOWN = {"directrank", "numpy", "scipy", "sklearn", "typing", "abc", *sys.builtin_module_names}


def identity_of(*values: Any) -> str:
    """Return a SHA-256, in hex, that differs for values that differ in state or in code.

    A class or function that is not directrank's counts with the whole file of its module. What cannot be told
    apart, such as a class typed into a notebook or an object without attributes, differs at every call.
    """
    sources = sorted({_source(each) for value in values for each in _foreign(value, DEEPEST)})
    return hashlib.sha256(dump([_described(list(values), DEEPEST), sources]).encode()).hexdigest()


def shown(value: Any) -> Any:
    """Return a value with each object as its name, for records and people."""
    return as_plain(value, lambda each: each if _is_plain(each) else _name(each))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _name(value: Any) -> str:
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


def _described(value: Any, depth: int) -> Any:
    """Return a value with objects as plain data: their class and state."""
    return as_plain(value, lambda each: each if _is_plain(each) else _object(each, depth - 1))


def _object(value: Any, depth: int) -> Any:
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, Measure) and not is_own(value):
        return value.name
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    return [type(value).__qualname__, _described(_state(value), depth) if depth else ""]


def _state(value: Any) -> Any:
    """Return what an object holds; what cannot be seen differs at every call."""
    if inspect.isfunction(value):
        cells = [each.cell_contents for each in value.__closure__ or ()]
        return [_code(value.__code__), cells, value.__defaults__, value.__kwdefaults__]
    if inspect.ismethod(value):
        return [value.__func__, value.__self__]
    if inspect.isroutine(value):
        return value.__qualname__
    hidden = type(value).__module__ == "functools" or not hasattr(value, "__dict__")
    return uuid.uuid4().hex if hidden else vars(value)


def _code(code: Any) -> list[Any]:
    """Return what a function does, without the names of files and the numbers of lines."""
    inner = [_code(each) if inspect.iscode(each) else repr(each) for each in code.co_consts]
    return [code.co_name, code.co_code.hex(), inner, list(code.co_names)]


def _foreign(value: Any, depth: int) -> Iterator[Any]:
    """Yield the classes and functions in a value, with the bases of classes, that are not directrank's."""
    if _is_plain(value) or depth == 0:
        return
    if isinstance(value, type) or inspect.isroutine(value):
        bases = value.__mro__ if isinstance(value, type) else (value,)
        yield from (each for each in bases if not _is_known(each))
        return
    if isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = list(value)
    else:
        inner = [type(value), *getattr(value, "__dict__", {}).values()]
    for each in inner:
        yield from _foreign(each, depth - 1)


def _is_known(code: Any) -> bool:
    return str(getattr(code, "__module__", "")).partition(".")[0] in KNOWN


def _source(code: Any) -> str:
    """Return the digest of the module of a class or function."""
    module = sys.modules.get(str(getattr(code, "__module__", "")))
    # The file of a plug-in may have changed since it was loaded.
    loaded = getattr(module, "__source_sha256__", None)
    file = getattr(module, "__file__", None)
    if loaded is None and file is not None and Path(file).is_file():
        loaded = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return f"{code.__qualname__} {loaded or uuid.uuid4().hex}"
