"""Features of documents, wherever they lie: in an array, in a file, or in other processes."""

from directrank.features.array import ArrayFeatures, Features, ShardResult, as_features, scored, zeros_like
from directrank.features.shards import make_shards, one_blas_thread, processors

__all__ = [
    "ArrayFeatures",
    "Features",
    "ShardResult",
    "as_features",
    "make_shards",
    "one_blas_thread",
    "processors",
    "scored",
    "zeros_like",
]
