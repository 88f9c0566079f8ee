"""Steps along a direction of scores: in closed form from sums, or by a search on the line."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from directrank.contracts import Step
from directrank.data.queries import Queries

#: No step moves a score by more: a weak ranker that inverts no pair would ask for an infinite one.
MAX_STEP = 3.0
PROBE = 1e-4


def ratio_step(gained: float, lost: float, share: float) -> Step:
    r"""Return the step that minimises :math:`N e^{-\alpha} + D e^{\alpha}`, with what it certifies.

    .. math:: \alpha = \tfrac12 \ln \frac{N}{D}, \qquad
        \text{decrease} = N (1 - e^{-\alpha}) + D (1 - e^{\alpha}) = (\sqrt N - \sqrt D)^2

    Parameters
    ----------
    gained, lost : float
        N and D, not negative: the weight of pairs that the direction puts right, and of those it inverts.
    share : float
        Where N or D is 0, both are raised by this share of their sum. The step is at most `MAX_STEP`.
    """
    total = gained + lost
    if not (total > 0 and math.isfinite(total)) or gained == lost:
        return Step(0.0, 0.0, gained, lost)
    smooth = share * total if min(gained, lost) <= 0 else 0.0
    size = 0.5 * math.log((gained + smooth) / (lost + smooth))
    size = min(max(size, -MAX_STEP), MAX_STEP)
    decrease = -gained * math.expm1(-size) - lost * math.expm1(size)
    return Step(size, decrease, gained, lost)


def centred_scores(scores: np.ndarray, queries: Queries) -> tuple[np.ndarray, np.ndarray]:
    """Return each score less the middle of its query's scores, and the range of each query's; float64."""
    low, high = (f.reduceat(scores, queries.indptr[:-1]).astype(np.float64) for f in (np.minimum, np.maximum))
    return scores - np.repeat(0.5 * (low + high), queries.sizes), high - low


def is_split(direction: np.ndarray) -> bool:
    """Say whether a direction of scores is 0 or 1 for each document."""
    return bool(((direction == 0) | (direction == 1)).all())


class StepwiseOracles(ABC):
    """Oracles for boosting over documents.

    It has a closed form of the step along directions in {0, 1}, unless `line_search` asks for a search.
    """

    line_search = False

    @abstractmethod
    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over queries and its derivative with respect to each score."""

    def value(self, scores: np.ndarray) -> float:
        """Return the weighted sum over queries."""
        return self.value_and_gradient(scores)[0]

    def line(self, scores: np.ndarray, direction: np.ndarray) -> Callable[[float], float]:
        """Return a function from a step along a direction to the value there, but for a constant."""
        return lambda size: self.value((scores + size * direction).astype(scores.dtype))

    def closed_form_step(self, sums: np.ndarray) -> Step:
        """Return the step that the sums over all queries give: N, D, and a count that smooths them."""
        gained, lost, count = sums
        return ratio_step(gained, lost, 1.0 / count)

    def has_closed_form(self, direction: np.ndarray) -> bool:
        """Say whether the step along a direction has a closed form."""
        return not self.line_search and is_split(direction)


def searched_step(value_at: Callable[[float], float], direction: np.ndarray) -> Step:
    """Return the best step on the line, on the side to which the value falls; its decrease is measured.

    `value_at` is the objective's value after a step.
    """
    width = float(np.ptp(direction))
    if width == 0:
        return Step(0.0, 0.0)
    limit = MAX_STEP / width
    start, forward, backward = (value_at(size) for size in (0.0, PROBE * limit, -PROBE * limit))
    sign = 1.0 if forward <= backward else -1.0
    minimum: Any = scipy.optimize.minimize_scalar(
        lambda size: value_at(sign * size), bounds=(0.0, limit), method="bounded",
        options={"xatol": 1e-3 * limit},
    )  # fmt: skip
    decrease = start - float(minimum.fun)
    return Step(sign * float(minimum.x), decrease) if decrease > 0 else Step(0.0, 0.0)
