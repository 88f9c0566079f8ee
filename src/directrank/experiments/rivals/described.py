"""Objects of other libraries as plain values, for the key that their results are stored under.

A pickle is no key: its bytes can differ between two equal objects, and from one process to the next.
"""

import hashlib
import inspect
import sys
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import numpy as np


class UndescribedError(ValueError):
    """Nothing says in plain values what an object is, so a rerun could not tell it from another."""


def described(value: Any, place: str = "") -> Any:
    """Return a value as plain values: of an estimator its class, the code of the class and its parameters.

    Parameters
    ----------
    value : object
        Numbers, text, arrays, lists and mappings of them; estimators; classes and functions that are defined
        at the top of a module.
    place : str, optional
        The name of the value, for messages.

    Raises
    ------
    UndescribedError
        If it is, or holds, anything else.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return {"array": value.dtype.str, "values": described(value.tolist(), place)}
    if isinstance(value, (list, tuple)):
        return [described(each, f"{place}[{at}]") for at, each in enumerate(value)]
    if isinstance(value, dict):
        return {str(key): described(each, f"{place}.{key}") for key, each in value.items()}
    if isinstance(value, type) or inspect.isroutine(value):
        return _code(value, place)
    return {"class": _code(type(value), place), "parameters": _parameters(value, place)}


def library_of(code: Any) -> tuple[str, str] | None:
    """Return the name and version of the installed package that defines a class or function, or None."""
    top = str(getattr(code, "__module__", "")).partition(".")[0]
    names = _packages().get(top, ())
    return (names[0], version(names[0])) if names else None


@cache  # Reading the metadata of all packages takes half a second.
def _packages() -> dict[str, list[str]]:
    return dict(packages_distributions())


def is_installed(module: str) -> bool:
    """Whether a module belongs to an installed package."""
    return module.partition(".")[0] in _packages()


def _parameters(value: Any, place: str) -> Any:
    """Return the parameters of an estimator; of an object without `get_params`, its attributes."""
    listed = getattr(value, "get_params", None)
    parameters = listed(deep=False) if listed else getattr(value, "__dict__", None)
    if not isinstance(parameters, dict):
        raise UndescribedError(f"{place or 'the object'} ({type(value).__name__}) has no parameters to store")
    return {name: described(each, f"{place}.{name}".lstrip(".")) for name, each in parameters.items()}


def _code(value: Any, place: str) -> list[str]:
    """Return where a class or function is defined: its name, its package, and the digest of its file."""
    module, name = str(getattr(value, "__module__", "")), str(getattr(value, "__qualname__", ""))
    file = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    source = hashlib.sha256(file.read_bytes()).hexdigest() if file.suffix == ".py" else ""
    package = "python" if module.partition(".")[0] in sys.stdlib_module_names - {"__main__"} else ""
    package = package or " ".join(library_of(value) or ())
    if "<" in name or not (source or package):
        where = f"{place}, " if place else ""
        raise UndescribedError(
            f"{where}{name or 'an object'}, is not defined at the top of a module that is a file, so that a "
            "rerun could not tell it from another"
        )
    return [f"{module}.{name}", package, source]
