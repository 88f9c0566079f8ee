"""What the core uses and does not import: the plug-ins of directrank itself.

`import directrank` registers them here.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: Packages add plug-ins under this name in their metadata.
GROUP = "directrank.plugins"
#: Of the plug-ins that come with directrank, which add "measures", "methods", or readers of "models": from
#: their modules to their public names, with spaces.
BUNDLED: dict[str, dict[str, str]] = {"measures": {}, "methods": {}, "models": {}}
#: Every plug-in that was loaded, a `PlugIn`, by origin.
LOADED: dict[str, Any] = {}


def bundled(kind: str) -> Iterator[Any]:
    """Yield what the plug-ins of a kind that come with directrank add, in the order of their ``PLUGINS``."""
    for module in BUNDLED[kind]:
        yield from import_module(module).PLUGINS


@cache  # The metadata of all packages are read for it, at each command in one process.
def of_other_packages() -> "list[EntryPoint]":
    """Return the entry points by which other installed packages add plug-ins."""
    from importlib.metadata import entry_points

    entries = entry_points(group=GROUP)  # Of directrank until 0.1.0
    return [entry for entry in entries if entry.dist is None or entry.dist.name != "directrank"]
