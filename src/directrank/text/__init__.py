"""From texts to features, and from a trained ranker back to a search."""

from directrank.text.collections.records import CollectionOptions
from directrank.text.features.definitions import own_feature
from directrank.text.features.making import FeatureSet, make_features
from directrank.text.features.writing import write_features
from directrank.text.index.analysis import Analysis
from directrank.text.index.building import build_index
from directrank.text.index.folder import Index, open_index
from directrank.text.search.searching import Searcher

__all__ = [
    "Analysis",
    "CollectionOptions",
    "FeatureSet",
    "Index",
    "Searcher",
    "build_index",
    "make_features",
    "open_index",
    "own_feature",
    "write_features",
]
