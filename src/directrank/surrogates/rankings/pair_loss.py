"""What pairs of a perfect and an imperfect ranking add to a type-two bound."""

from dataclasses import dataclass

import numpy as np

from directrank.surrogates.margins import Margin


@dataclass(frozen=True)
class PairLoss:
    """What a pair with a loss Δ and a margin x adds, and how the pairs of a query are combined.

    Attributes
    ----------
    margin : Margin or None
        φ of Δ φ(x); None for the margin-rescaled hinge [Δ − x]₊.
    aggregate : {"sum", "mean", "max"}
        Over the imperfect rankings. The perfect ones are averaged, except for "max".
    """

    margin: Margin | None
    aggregate: str

    def lines(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return (offset, slope) if a pair adds [offset − slope · x]₊, else None."""
        if self.margin is None:
            return losses, np.ones_like(losses)
        return (losses, losses) if self.margin.name == "hinge" else None

    def value_and_slope(self, losses: np.ndarray, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each pair adds and its derivative with respect to the margin."""
        if self.margin is None:
            return np.maximum(0.0, losses - margins), -1.0 * (margins < losses)
        return losses * self.margin.value(margins), losses * self.margin.slope(margins)
