"""Documents of queries, in memory; `directrank.files` reads and writes them.

Public names are imported when they are first used: measures read the label side alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.data.frames import from_frame
    from directrank.data.groups import QueryGroups, as_groups
    from directrank.data.queries import Queries
    from directrank.data.supervision import ObservedRankings, PreferenceGraph, RealLabels
    from directrank.data.synthetic import make_ranking

__all__ = [
    "ObservedRankings",
    "PreferenceGraph",
    "Queries",
    "QueryGroups",
    "RealLabels",
    "as_groups",
    "from_frame",
    "make_ranking",
]

_MODULES = {
    "Queries": "queries",
    "QueryGroups": "groups",
    "as_groups": "groups",
    "from_frame": "frames",
    "make_ranking": "synthetic",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'directrank.data' has no attribute {name!r}")
    return getattr(import_module(f"directrank.data.{_MODULES.get(name, 'supervision')}"), name)
