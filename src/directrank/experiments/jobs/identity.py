"""What objects of one's own add to the key of a record: their parameters, and the code of their classes."""

import hashlib
import inspect
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from directrank.contracts import Measure
from directrank.storage.strict_json import as_plain

#: Objects inside each other that are looked into.
DEEPEST = 8


def described(value: Any) -> Any:
    """Return a value with objects as plain data: of an object its class and state."""
    return as_plain(value, _described)


def shown(value: Any) -> Any:
    """Return a value with each object as its name, for records and people."""
    return as_plain(value, lambda each: each if _is_plain(each) else _name(each))


def code_of(*values: Any) -> str:
    """Return the SHA-256, in hex, of the code behind some values that is not directrank's; "" without any.

    A class or function counts with the whole file of its module. Code without a file, such as a class typed
    into a notebook, has another digest at every call: what it may depend on cannot be told.
    """
    sources = sorted({_source(each) for value in values for each in _foreign(value, DEEPEST)})
    return hashlib.sha256("\n".join(sources).encode()).hexdigest() if sources else ""


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _name(value: Any) -> str:
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


def _described(value: Any) -> Any:
    if _is_plain(value):
        return value
    if isinstance(value, type) or inspect.isroutine(value):
        return value.__qualname__
    state = {name: each for name, each in _state(value).items() if each is not value}
    name = value.name if isinstance(value, Measure) else ""
    return {"class": type(value).__qualname__, "name": name, "state": described(state)}


def _state(value: Any) -> Mapping[str, Any]:
    try:
        return vars(value)
    except TypeError:
        return {}


def _foreign(value: Any, depth: int) -> Iterator[Any]:
    """Yield the classes and functions in a value, with the bases of classes, that are not directrank's."""
    if _is_plain(value) or depth == 0:
        return
    if isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = list(value)
    elif isinstance(value, type) or inspect.isroutine(value):
        bases = value.__mro__ if isinstance(value, type) else (value,)
        yield from (each for each in bases if not _is_known(each))
        return
    else:
        inner = [type(value), *_state(value).values()]
    for each in inner:
        yield from _foreign(each, depth - 1)


def _is_known(code: Any) -> bool:
    """Whether code is of directrank, whose digest every key has, of Python, or of a package."""
    package = str(getattr(code, "__module__", "")).partition(".")[0]
    return package in ("directrank", "numpy", "scipy", "sklearn", *sys.stdlib_module_names)


def _source(code: Any) -> str:
    """Return the digest of the module of a class or function."""
    module = sys.modules.get(str(getattr(code, "__module__", "")))
    # The file of a plug-in may have changed since it was loaded.
    loaded = getattr(module, "__source_sha256__", None)
    file = getattr(module, "__file__", None)
    if loaded is None and file is not None and Path(file).is_file():
        loaded = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return f"{code.__qualname__} {loaded or uuid.uuid4().hex}"
