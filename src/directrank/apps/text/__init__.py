"""From texts to features, and from a trained ranker back to a search."""

from directrank.apps.text.collections.reading import read_judgments
from directrank.apps.text.collections.records import CollectionOptions
from directrank.apps.text.features.definitions import own_feature
from directrank.apps.text.features.making import CandidateFeatures, bm25_run, make_features
from directrank.apps.text.features.model import model_of_features
from directrank.apps.text.features.writing import write_features
from directrank.apps.text.index.analysis import Analysis
from directrank.apps.text.index.building import build_index
from directrank.apps.text.index.folder import Index, open_index
from directrank.apps.text.search.page import SearchServer
from directrank.apps.text.search.searching import Hit, Piece, Searcher

FeatureSet = CandidateFeatures  # its earlier name

__all__ = [
    "Analysis",
    "CandidateFeatures",
    "CollectionOptions",
    "FeatureSet",
    "Hit",
    "Index",
    "Piece",
    "SearchServer",
    "Searcher",
    "bm25_run",
    "build_index",
    "make_features",
    "model_of_features",
    "open_index",
    "own_feature",
    "read_judgments",
    "write_features",
]
