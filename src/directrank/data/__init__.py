"""Documents of queries, in memory and on disk."""

from directrank.data.frames import from_frame
from directrank.data.groups import QueryGroups
from directrank.data.supervision import ObservedRankings, PreferenceGraph, RealLabels
from directrank.data.synthetic import make_ranking
from directrank.files.folds import Fold, find_folds, load_data, load_letor
from directrank.files.letor import read_letor, write_letor
from directrank.files.reading import convert_data

__all__ = [
    "Fold",
    "ObservedRankings",
    "PreferenceGraph",
    "QueryGroups",
    "RealLabels",
    "convert_data",
    "find_folds",
    "from_frame",
    "load_data",
    "load_letor",
    "make_ranking",
    "read_letor",
    "write_letor",
]
