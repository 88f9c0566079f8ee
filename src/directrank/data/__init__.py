"""Documents of queries, in memory; `directrank.files` reads and writes them."""

from directrank.data.frames import from_frame
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.data.supervision import ObservedRankings, PreferenceGraph, RealLabels
from directrank.data.synthetic import make_ranking

__all__ = [
    "ObservedRankings",
    "PreferenceGraph",
    "Queries",
    "QueryGroups",
    "RealLabels",
    "from_frame",
    "make_ranking",
]
