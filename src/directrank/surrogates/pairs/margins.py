"""Margins of pairs: convex functions φ of a difference of two scores, with first and second derivatives.

`code` and `width` are what the compiled kernels of pairs know of a margin.
"""

from typing import ClassVar

import numpy as np

HUBER, SQUARED_HINGE, LOGISTIC, HINGE = 0, 1, 2, 3


class Huber:
    r"""The hinge, rounded: a parabola within `width` of its corner.

    .. math:: \varphi(t) = 0 \;(t > 1 + h), \quad \frac{(1 + h - t)^2}{4h} \;(|1 - t| \le h),
        \quad 1 - t \;(t < 1 - h)

    Parameters
    ----------
    width : float, default=0.5
        h in (0, 1), in score units; at 0.01 it is the hinge for all practical purposes.

    References
    ----------
    .. [1] O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19, 2007.
    """

    name = "huber"
    code = HUBER
    #: Differentiable, decreasing at 0 and flat from some point on: what Buffoni et al. 2011, Theorem 1, asks.
    is_order_preserving: ClassVar[bool] = True

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


class SquaredHinge:
    r"""The squared hinge, :math:`\varphi(t) = \max(0, 1 - t)^2`."""

    name = "squared_hinge"
    code = SQUARED_HINGE
    is_order_preserving: ClassVar[bool] = True
    width = 0.0

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.maximum(0.0, 1.0 - margin) ** 2

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin."""
        return -2.0 * np.maximum(0.0, 1.0 - margin)

    def curvature(self, margin: np.ndarray) -> np.ndarray:
        """Return φ'' at each margin, where it exists."""
        return 2.0 * (margin < 1.0)


class Hinge:
    r"""The hinge, :math:`\varphi(t) = \max(0, 1 - t)`; it has a corner at t = 1."""

    name = "hinge"
    code = HINGE
    is_order_preserving: ClassVar[bool] = False
    width = 0.0

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.maximum(0.0, 1.0 - margin)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return a derivative of φ at each margin, −1 or 0; 0 at the corner."""
        return -1.0 * (margin < 1.0)

    def curvature(self, margin: np.ndarray) -> np.ndarray:
        """Return φ'' at each margin, where it exists: nothing."""
        return np.zeros_like(margin)


class Logistic:
    r"""The logistic margin, :math:`\varphi(t) = \ln(1 + e^{-t})`."""

    name = "logistic"
    code = LOGISTIC
    #: It is nowhere flat: minimisers may lie at infinity.
    is_order_preserving: ClassVar[bool] = False
    width = 0.0

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.logaddexp(0.0, -margin)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin, in [−1, 0]."""
        return -np.exp(-np.logaddexp(0.0, margin))

    def curvature(self, margin: np.ndarray) -> np.ndarray:
        """Return φ'' at each margin."""
        return np.exp(-np.logaddexp(0.0, margin) - np.logaddexp(0.0, -margin))


PairMargin = Huber | SquaredHinge | Logistic | Hinge
#: Margins of pairs by name.
PAIR_MARGINS: tuple[type[PairMargin], ...] = (Huber, SquaredHinge, Logistic)


def pair_margin(margin: "str | PairMargin", width: float = 0.5) -> PairMargin:
    """Return a margin from its name; one that is made already is returned as it is.

    Raises
    ------
    ValueError
        Naming the margins that exist.
    """
    if not isinstance(margin, str):
        return margin
    known = {"huber": lambda: Huber(width), "squared_hinge": SquaredHinge, "logistic": Logistic}
    if margin not in known:
        raise ValueError(f"margin must be one of {', '.join(map(repr, known))}, not {margin!r}")
    return known[margin]()
