"""Public names of a package that are imported on first use, so that a module of it can be imported alone."""

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy_names(package: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package, which makes its imports for type checkers when they are used.

    ::

        if TYPE_CHECKING:
            from directrank.models.saving import load, save

        __getattr__ = lazy_names(__name__)
    """

    def imported(name: str) -> Any:
        modules = _modules_of_names(package)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return imported


@cache
def _modules_of_names(package: str) -> dict[str, str]:
    spec = find_spec(package)
    loader: Any = None if spec is None else spec.loader
    blocks = [node for node in ast.parse(loader.get_source(package)).body if isinstance(node, ast.If)]
    lines = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    return {alias.name: str(line.module) for line in lines for alias in line.names}
