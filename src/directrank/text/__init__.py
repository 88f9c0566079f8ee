"""From texts to features, and from a trained ranker back to a search.

Public names are imported when they are first used: the libraries of the extra are not needed before.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.text.collections.records import CollectionOptions
    from directrank.text.features.definitions import own_feature
    from directrank.text.features.making import FeatureSet, make_features
    from directrank.text.features.writing import write_features
    from directrank.text.index.analysis import Analysis
    from directrank.text.index.building import build_index
    from directrank.text.index.opening import Index, open_index
    from directrank.text.search.searching import Searcher

_MODULES = {
    "Analysis": "index.analysis",
    "CollectionOptions": "collections.records",
    "FeatureSet": "features.making",
    "Index": "index.opening",
    "Searcher": "search.searching",
    "build_index": "index.building",
    "make_features": "features.making",
    "open_index": "index.opening",
    "own_feature": "features.definitions",
    "write_features": "features.writing",
}

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


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'directrank.text' has no attribute {name!r}")
    return getattr(import_module(f"directrank.text.{_MODULES[name]}"), name)
