"""The scores of all documents, in one pass over the features."""

import numpy as np

from directrank.contracts import BoundObjective


def all_scores(objective: BoundObjective, scorer, parameters: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the scores of all documents at `parameters`, of the objective's type."""
    return np.concatenate(objective.over_shards(_of_shard, features, scorer, parameters))


def _of_shard(objective, features, parts, scorer, parameters) -> np.ndarray:
    return np.concatenate(
        [scorer.forward(parameters, features[part.rows], objective.dtype) for part in parts]
    )
