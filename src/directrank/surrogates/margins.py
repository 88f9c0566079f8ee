"""Margins φ: convex functions that lie above the step [[m ≤ 0]] and equal 1 at 0.

One φ serves a type-one bound, φ(E) ≥ 1 − E, and a bound on pairs of rankings or of documents.
"""

import numpy as np
from scipy.special import expit

LN2 = float(np.log(2.0))


class Exponential:
    """φ(m) = exp(−m)."""

    name = "exponential"

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.exp(-margin)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return the derivative φ' at each margin; negative."""
        return -np.exp(-margin)


class Logistic:
    """φ(m) = log₂(1 + exp(−m)); looser than the exponential for m ≥ 0, and of slope −1/ln 2 far below."""

    name = "logistic"

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.logaddexp(0.0, -margin) / LN2

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return the derivative φ' at each margin; negative."""
        return -expit(-margin) / LN2


class Hinge:
    """φ(m) = max(0, 1 − m)."""

    name = "hinge"

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.maximum(0.0, 1.0 - margin)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return a derivative φ' at each margin; 0 at the kink."""
        return np.where(margin < 1.0, -1.0, 0.0)


Margin = Exponential | Logistic | Hinge

#: Margins by name.
MARGINS = (Exponential, Logistic, Hinge)


def margin_named(name: str) -> Margin:
    """Return the margin of that name.

    Raises
    ------
    ValueError
        Naming the margins that exist.
    """
    for each in MARGINS:
        if each.name == name:
            return each()
    raise ValueError(f"no margin is called {name!r}; there are {', '.join(each.name for each in MARGINS)}")
