"""Margins φ: convex functions that lie above the step [[m ≤ 0]] and equal 1 at 0.

One φ serves a type-one bound, φ(E) ≥ 1 − E, and a bound on pairs of rankings or of documents.
"""

import numpy as np


class Exponential:
    """φ(m) = exp(−m)."""

    name = "exponential"

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.exp(-margin)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return the derivative φ' at each margin; negative."""
        return -np.exp(-margin)


#: Margins by name.
MARGINS = (Exponential,)


def margin_named(name: str) -> Exponential:
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
