"""Margins φ: decreasing functions of a margin, with φ(0) = 1 and φ ≥ [[m ≤ 0]] but where it is said.

One φ serves a type-one bound, φ(E) ≥ 1 − E, a bound on pairs of rankings, and a loss on pairs of documents.
`code` and `width` are what the compiled kernels of pairs of documents know of a margin.
"""

import math
from typing import ClassVar

import numpy as np
from scipy.special import expit

from directrank.errors import check_choice

HUBER, SQUARED_HINGE, LOGISTIC, HINGE, NO_KERNEL = 0, 1, 2, 3, -1


class Margin:
    """What margins share."""

    name: ClassVar[str]
    #: The number of its kernel of pairs of documents, if there is one.
    code: int = NO_KERNEL
    #: Differentiable, decreasing at 0 and flat from some point on: what Buffoni et al. 2011, Theorem 1, asks.
    is_order_preserving: ClassVar[bool] = False
    #: Distance from its corner within which a margin is rounded, in score units.
    width: float = 0.0

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        raise NotImplementedError

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return the derivative φ' at each margin, not above 0; at a corner, that on its right."""
        raise NotImplementedError

    def curvature(self, margin: np.ndarray) -> np.ndarray:
        """Return φ'' at each margin, where it exists."""
        raise NotImplementedError


class Indicator(Margin):
    """φ(m) = [[m ≤ 0]]."""

    name = "step"

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return (margin <= 0).astype(float)


class Exponential(Margin):
    """φ(m) = exp(−m)."""

    name = "exponential"

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.exp(-margin)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin."""
        return -np.exp(-margin)


class Logistic(Margin):
    """φ(m) = log(1 + exp(−m)); nowhere flat, so that minimisers may lie at infinity.

    Parameters
    ----------
    base : float, default=e
        Of the logarithm. To base e it is the cross entropy of a pair, which lies below [[m ≤ 0]] near 0. To
        base 2 it is 1 at 0, and looser than the exponential for m ≥ 0, with the slope −1/ln 2 far below 0.
    """

    name = "logistic"

    def __init__(self, base: float = math.e):
        self._log_base = math.log(base)
        self.code = LOGISTIC if base == math.e else NO_KERNEL

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.logaddexp(0.0, -margin) / self._log_base

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin."""
        return -expit(-margin) / self._log_base

    def curvature(self, margin: np.ndarray) -> np.ndarray:
        """Return φ'' at each margin."""
        return expit(margin) * expit(-margin) / self._log_base


class Hinge(Margin):
    """φ(m) = max(0, 1 − m); it has a corner at m = 1."""

    name = "hinge"
    code = HINGE

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.maximum(0.0, 1.0 - margin)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin; 0 at the corner."""
        return np.where(margin < 1.0, -1.0, 0.0)

    def curvature(self, margin: np.ndarray) -> np.ndarray:
        """Return φ'' at each margin, where it exists: 0."""
        return np.zeros_like(margin)


class SquaredHinge(Margin):
    """φ(m) = max(0, 1 − m)²."""

    name = "squared_hinge"
    code = SQUARED_HINGE
    is_order_preserving = True

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.maximum(0.0, 1.0 - margin) ** 2

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin."""
        return -2.0 * np.maximum(0.0, 1.0 - margin)

    def curvature(self, margin: np.ndarray) -> np.ndarray:
        """Return φ'' at each margin, where it exists."""
        return 2.0 * (margin < 1.0)


class Huber(Margin):
    r"""The hinge with a rounded corner: a parabola within `width` of it.

    .. math:: \varphi(m) = 0 \;(m > 1 + h), \quad \frac{(1 + h - m)^2}{4h} \;(|1 - m| \le h),
        \quad 1 - m \;(m < 1 - h)

    Parameters
    ----------
    width : float, default=0.5
        h in (0, 1), in score units. At 0.01 the margin is the hinge for all practical purposes.

    References
    ----------
    .. [1] O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19, 2007.
    """

    name = "huber"
    code = HUBER
    is_order_preserving = True

    def __init__(self, width: float = 0.5):
        if not 0 < width < 1:
            raise ValueError(f"the width of the Huber margin must lie between 0 and 1, not {width}")
        self.width = float(width)

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        share = -self.slope(margin)
        return share * (1.0 + self.width - margin - self.width * share)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin, in [−1, 0]."""
        return -np.clip((1.0 + self.width - margin) / (2.0 * self.width), 0.0, 1.0)

    def curvature(self, margin: np.ndarray) -> np.ndarray:
        """Return φ'' at each margin, where it exists."""
        return (np.abs(1.0 - margin) < self.width) / (2.0 * self.width)


#: Margins of bounds.
MARGINS = (Exponential(), Logistic(2.0), Hinge())


def margin_named(name: str) -> Margin:
    """Return a margin of `MARGINS`; `ValueError` names them if there is none of this name."""
    known = {each.name: each for each in MARGINS}
    check_choice("margin", name, known)
    return known[name]


def pair_margin(margin: str | Margin, width: float = 0.5) -> Margin:
    """Return a margin of pairs of documents from its name; an object is returned unchanged.

    Raises
    ------
    ValueError
        Naming the margins that exist; or if an object has no kernel of pairs.
    """
    known = {"huber": lambda: Huber(width), "squared_hinge": SquaredHinge, "logistic": Logistic}
    if isinstance(margin, str):
        check_choice("margin", margin, known)
        return known[margin]()
    if margin.code == NO_KERNEL:
        raise ValueError(f"this {margin.name} margin has no kernel of pairs; use {', '.join(known)}")
    return margin
