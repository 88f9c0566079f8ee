"""Documents of queries, in memory and on disk."""

from directrank.data.check import DataCheck, Finding, check_data
from directrank.data.folds import Fold, find_folds, load_letor
from directrank.data.frames import from_frame
from directrank.data.groups import QueryGroups
from directrank.data.letor import read_letor, write_letor
from directrank.data.supervision import ObservedRankings, PreferenceGraph
from directrank.data.synthetic import make_ranking
from directrank.data.web30k import make_web30k, write_web30k

__all__ = [
    "DataCheck",
    "Finding",
    "Fold",
    "ObservedRankings",
    "PreferenceGraph",
    "QueryGroups",
    "check_data",
    "find_folds",
    "from_frame",
    "load_letor",
    "make_ranking",
    "make_web30k",
    "read_letor",
    "write_letor",
    "write_web30k",
]
