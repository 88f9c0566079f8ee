"""Queries that nothing answers: refused by their largest score, with a limit on false answers."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

#: Limits on false answers of which false refusals are printed.
LIMITS = (0.05, 0.1, 0.2, 0.3)


class Overlap(NamedTuple):
    """The chance that an answerable query has a larger top score than one that nothing answers."""

    area: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Abstention:
    """Top scores of calibration queries, by which new queries are answered or refused.

    A query that nothing answers is answered with a chance of at most the limit, if queries are exchangeable.

    Attributes
    ----------
    answerable, unanswerable : ndarray of float
        The largest score of each query with and without a relevant document, ascending.
    """

    answerable: np.ndarray
    unanswerable: np.ndarray

    def p_values(self, top: np.ndarray) -> np.ndarray:
        """Return the conformal p-value of "nothing answers the query" for each top score."""
        above = len(self.unanswerable) - np.searchsorted(self.unanswerable, top, side="left")
        return (1.0 + above) / (len(self.unanswerable) + 1.0)

    def refusals(self, limit: float) -> float:
        """Return the share of answerable calibration queries that a limit on false answers refuses."""
        return float((self.p_values(self.answerable) > limit).mean())

    @property
    def overlap(self) -> Overlap:
        """The area under the ROC curve, with a 95 % interval by placements (DeLong and others 1988)."""
        below = [np.searchsorted(self.unanswerable, self.answerable, side=side) for side in ("left", "right")]
        of_answerable = np.mean(below, axis=0) / len(self.unanswerable)
        below = [np.searchsorted(self.answerable, self.unanswerable, side=side) for side in ("left", "right")]
        of_unanswerable = 1.0 - np.mean(below, axis=0) / len(self.answerable)
        area = float(of_answerable.mean())
        variance = sum(
            placements.var(ddof=1) / len(placements) if len(placements) > 1 else 0.25
            for placements in (of_answerable, of_unanswerable)
        )
        half = 1.96 * float(np.sqrt(variance))
        return Overlap(area, max(area - half, 0.0), min(area + half, 1.0))

    @property
    def separable(self) -> bool:
        """Whether answerable queries have larger top scores, beyond the error of this sample."""
        return self.overlap.low > 0.5

    def lines(self, limit: float) -> list[str]:
        """Return what a user should know of refusals under a limit on false answers."""
        m, area = len(self.unanswerable), self.overlap
        counts = f"{len(self.answerable)} answerable queries and {m} that nothing answers"
        overlap = f"area under the ROC curve {area.area:.2f}, 95 % interval {area.low:.2f} to {area.high:.2f}"
        if (m + 1) * limit < 1.0:
            return [
                f"{m} queries that nothing answers cannot promise {limit:g} false answers: every query is "
                f"refused; {int(np.ceil(1 / limit)) - 1} would do"
            ]
        pairs = ", ".join(f"{one:g}: {self.refusals(one):.0%}" for one in sorted({*LIMITS, limit}))
        if not self.separable:
            return [
                f"not separable by the top score: {counts} overlap ({overlap}); false refusals at {pairs}"
            ]
        return [
            f"at most {limit:g} of queries that nothing answers are answered, and about "
            f"{self.refusals(limit):.0%} of answerable ones are refused ({counts}; {overlap})",
            f"false refusals by the limit on false answers: {pairs}",
        ]
