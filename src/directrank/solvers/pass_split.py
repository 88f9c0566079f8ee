"""What a pass over the features consists of, for a profile: measured once, after training."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from directrank.contracts import LinearScorer, Part, ValueAndGradient
from directrank.timing import Profile

#: The step of the solver that a profile divides.
STEPS = ("scores", "surrogate", "product")


def divide_pass(profile: Profile, objective: Any, scorer: Any, features: np.ndarray) -> None:
    """Add to a profile's facts the seconds of a read pass, and those of each step of a gradient.

    The steps are the scores, value and gradient of the surrogate, and the product with the features. Inside
    a compiled loop they overlap, and a pass takes less time than their sum.
    """
    start = time.perf_counter()
    objective.map_shards(lambda parts: [features[part.rows].sum() for part in parts])
    profile.facts["read"] = time.perf_counter() - start
    if ValueAndGradient not in objective.offers or not isinstance(scorer, LinearScorer):
        return
    parameters = np.asarray(scorer.coefficients, objective.dtype)
    scores = np.empty(objective.n_docs, objective.dtype)
    slopes = np.empty_like(scores)

    def score(part: Part) -> None:
        scores[part.rows] = scorer.forward(parameters, features[part.rows], objective.dtype)

    def differentiate(part: Part) -> None:
        slopes[part.rows] = part.oracles.value_and_gradient(scores[part.rows])[1]

    def multiply(part: Part) -> None:
        scorer.backward(features[part.rows], slopes[part.rows])

    for name, step in zip(STEPS, (score, differentiate, multiply), strict=True):
        profile.facts[name] = _seconds(objective, step)


def _seconds(objective: Any, step: Callable[[Part], None]) -> float:
    """Return the seconds of a step over all shards, the second time, when nothing is compiled."""

    def run() -> float:
        start = time.perf_counter()
        objective.map_shards(lambda parts: [step(part) for part in parts])
        return time.perf_counter() - start

    return [run(), run()][1]
