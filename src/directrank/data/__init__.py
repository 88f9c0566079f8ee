"""Documents of queries, in memory; `directrank.files` reads and writes them."""

from directrank.data.encoding import Encoding, encoded, encoding_of
from directrank.data.frames import columns_in_order, from_frame, read_frame
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.data.supervision import ObservedRankings, PreferenceGraph, RealLabels
from directrank.data.synthetic import make_ranking

__all__ = [
    "Encoding",
    "ObservedRankings",
    "PreferenceGraph",
    "Queries",
    "QueryGroups",
    "RealLabels",
    "columns_in_order",
    "encoded",
    "encoding_of",
    "from_frame",
    "make_ranking",
    "read_frame",
]
