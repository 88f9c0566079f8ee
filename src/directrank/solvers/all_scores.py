"""The scores of all documents, in one pass over the features."""

from collections.abc import Sequence

import numpy as np

from directrank.oracles import BoundObjective, Part


def all_scores(objective: BoundObjective, scorer, parameters: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the scores of all documents at `parameters`, of the objective's type."""
    scores = np.empty(len(features), objective.dtype)

    def statistic(parts: Sequence[Part]) -> None:
        for part in parts:
            scores[part.rows] = scorer.forward(parameters, features[part.rows], objective.dtype)

    objective.map_shards(statistic)
    return scores
