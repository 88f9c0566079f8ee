"""Documents of queries, in memory; `directrank.files` reads and writes them.

Public names are imported when they are first used: measures read the label side alone.
"""

from typing import TYPE_CHECKING

from directrank.lazy import lazy_names

if TYPE_CHECKING:
    from directrank.data.encoding import Encoding, encoded, encoding_of
    from directrank.data.frames import columns_in_order, from_frame, read_frame
    from directrank.data.grouping import descending_order
    from directrank.data.groups import QueryGroups, as_groups
    from directrank.data.queries import Queries
    from directrank.data.supervision import ObservedRankings, PreferenceGraph, RealLabels

__all__ = [
    "Encoding",
    "ObservedRankings",
    "PreferenceGraph",
    "Queries",
    "QueryGroups",
    "RealLabels",
    "as_groups",
    "columns_in_order",
    "descending_order",
    "encoded",
    "encoding_of",
    "from_frame",
    "read_frame",
]

__getattr__ = lazy_names(__name__)
