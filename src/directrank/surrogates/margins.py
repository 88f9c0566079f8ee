"""Margins φ: decreasing functions of a margin, with φ(0) = 1 and φ ≥ [[m ≤ 0]] unless stated.

One φ serves a type-one bound, φ(E) ≥ 1 − E, a bound on pairs of rankings, and a loss on pairs of documents.
Below its definition over arrays is what compiled loops over pairs of documents read, by its type: `terms`,
`curve` and `parabola`.
"""

import math
from typing import ClassVar, NamedTuple

import numpy as np
import scipy

from directrank.errors import check_choice
from directrank.kernels.plugins import by_type, register_kernel
from directrank.kernels.vector_math import exponential


# x and s are the scores of a winner and of a loser, and `real` is their type.
@by_type
def terms(form, x, s, real):
    """Return c and h, of which −φ' is factor · c and φ is scale · factor · c · h at x − s."""


@by_type
def curve(form, x, s, w, real):
    """Return w times φ'' at x − s."""


@by_type
def parabola(form, x, s, w, real):
    """Return w times the curvature of the flattest parabola that touches φ at x − s and is nowhere below."""


class Margin:
    """What margins share."""

    name: ClassVar[str]
    #: What compiled loops over pairs of documents read, if there are any.
    form: tuple[float, ...] | None = None
    #: The margin as a sum of factor · (c − m)₊², pairs of c and factor, where it is one. It then is
    #: differentiable and flat from some point on, as Buffoni et al. 2011, Theorem 1, asks.
    squares: tuple[tuple[float, float], ...] = ()

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        raise NotImplementedError

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return the derivative φ' at each margin, not above 0; at a corner, that on its right."""
        raise NotImplementedError


class Indicator(Margin):
    """φ(m) = [[m ≤ 0]]."""

    name = "step"

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.where(margin <= 0, 1.0, 0.0)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return 0, the derivative everywhere but at the jump."""
        return np.zeros_like(margin)


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
        self.form = LogisticForm() if base == math.e else None

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.logaddexp(0.0, -margin) / self._log_base

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin."""
        return -scipy.special.expit(-margin) / self._log_base


class LogisticForm(NamedTuple):
    """The logistic margin to base e in compiled loops."""

    base: float = math.e


@register_kernel(curve, LogisticForm)
def _logistic_curve(form, x, s, w, real):
    size = abs(np.float64(s - x))
    e = exponential(-(size if size < 700.0 else 700.0))
    return w * e / ((1.0 + e) * (1.0 + e))


class HingeForm(NamedTuple):
    """The hinge in compiled loops, with its corner at the margin 1."""

    factor: float = 1.0
    scale: float = 1.0


# The corner has no parabola: that of the Huber margin of this width stands for it.
CORNER = 0.5


@register_kernel(terms, HingeForm)
def _hinge_terms(form, x, s, real):
    f = real(1) - x + s
    return real(1) if f > real(0) else real(0), f


@register_kernel(parabola, HingeForm)
def _hinge_parabola(form, x, s, w, real):
    return real(w) / (real(2) * max(real(CORNER), abs(real(1) - x + s)))


class Hinge(Margin):
    """φ(m) = max(0, 1 − m); it has a corner at m = 1."""

    name = "hinge"
    form = HingeForm()

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.maximum(0.0, 1.0 - margin)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin; 0 at the corner."""
        return np.where(margin < 1.0, -1.0, 0.0)


class SquaredHingeForm(NamedTuple):
    """The squared hinge in compiled loops."""

    factor: float = 2.0
    scale: float = 0.5


@register_kernel(terms, SquaredHingeForm)
def _squared_terms(form, x, s, real):
    c = max(real(1) - x + s, real(0))
    return c, c


@register_kernel(curve, SquaredHingeForm)
def _squared_curve(form, x, s, w, real):
    return real(2.0 * w) if real(1) - x + s > real(0) else real(0)


@register_kernel(parabola, SquaredHingeForm)
def _squared_parabola(form, x, s, w, real):
    return real(2) * real(w)


class SquaredHinge(Margin):
    """φ(m) = max(0, 1 − m)²."""

    name = "squared_hinge"
    form = SquaredHingeForm()
    squares = ((1.0, 1.0),)

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        return np.maximum(0.0, 1.0 - margin) ** 2

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin."""
        return -2.0 * np.maximum(0.0, 1.0 - margin)


class HuberForm(NamedTuple):
    """The Huber margin in compiled loops; `steep` is 1 over twice its width."""

    width: float
    steep: float
    factor: float
    scale: float


@register_kernel(terms, HuberForm)
def _huber_terms(form, x, s, real):
    f = (real(1.0 + form.width) - x + s) * real(form.steep)
    c = min(max(f, real(0)), real(1))
    return c, f + f - c


@register_kernel(curve, HuberForm)
def _huber_curve(form, x, s, w, real):
    return real(w * form.steep) if abs(real(1) - x + s) < real(form.width) else real(0)


@register_kernel(parabola, HuberForm)
def _huber_parabola(form, x, s, w, real):
    return real(w) / (real(2) * max(real(form.width), abs(real(1) - x + s)))


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

    def __init__(self, width: float = 0.5):
        if not 0 < width < 1:
            raise ValueError(f"the width of the Huber margin must lie between 0 and 1, not {width}")
        self.width = float(width)
        self.squares = (1.0 + self.width, 0.25 / self.width), (1.0 - self.width, -0.25 / self.width)
        self.form = HuberForm(self.width, 0.5 / self.width, 1.0, self.width)

    def value(self, margin: np.ndarray) -> np.ndarray:
        """Return φ at each margin."""
        share = -self.slope(margin)
        return share * (1.0 + self.width - margin - self.width * share)

    def slope(self, margin: np.ndarray) -> np.ndarray:
        """Return φ' at each margin, in [−1, 0]."""
        return -np.clip((1.0 + self.width - margin) / (2.0 * self.width), 0.0, 1.0)


#: Margins of bounds.
MARGINS = (Exponential(), Logistic(2.0), Hinge())


def margin_of(name: str) -> Margin:
    """Return a margin of `MARGINS`; `ValueError` names them if there is none of this name."""
    by_name = {kind.name: kind for kind in MARGINS}
    check_choice("margin", name, by_name)
    return by_name[name]


def pair_margin(margin: str | Margin, width: float = 0.5) -> Margin:
    """Return a margin of pairs of documents from its name; an object is returned unchanged.

    Raises ValueError naming the margins that exist; or if an object has no kernel of pairs.
    """
    margins = {"huber": lambda: Huber(width), "squared_hinge": SquaredHinge, "logistic": Logistic}
    if not isinstance(margin, str):
        if margin.form is None:
            raise ValueError(f"this {margin.name} margin has no kernel of pairs; use {', '.join(margins)}")
        return margin
    if margin not in margins:
        check_choice("margin", margin, margins)
    return margins[margin]()
