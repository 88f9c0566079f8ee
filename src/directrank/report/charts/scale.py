"""From values to coordinates, with tick marks at round values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    """A tick mark of an axis: its coordinate and its text."""

    at: float
    text: str

    @property
    def printed(self) -> str:
        """The text with a typographic minus sign."""
        return self.text.replace("-", "−") if self.text[:1] == "-" else self.text


class Scale:
    """From a range of values to a range of coordinates.

    Parameters
    ----------
    values : sequence of float
        Finite, not empty.
    first, last : float
        The coordinates of the smallest and of the largest value; by default percent, with margins for the
        texts of the outer tick marks.
    bounds : (float, float), optional
        The smallest and the largest value that the axis may reach.
    logarithmic : bool, default=False
        For positive values.
    spare : float, default=0.06
        Space at each end, as a share of the range of the values.
    """

    def __init__(
        self,
        values: Sequence[float],
        first: float = 4.0,
        last: float = 96.0,
        bounds: tuple[float, float] = (-math.inf, math.inf),
        *,
        logarithmic: bool = False,
        spare: float = 0.06,
    ):
        self.logarithmic = logarithmic
        low, high = (self._inner(each) for each in (min(values), max(values)))
        spare = spare * (high - low) if high > low else 0.01 * (abs(high) or 1.0)
        least, most = (-math.inf, math.inf) if logarithmic else bounds
        self.low, self.high = max(least, low - spare), min(most, high + spare)
        self.first, self.last = first, last

    def at(self, value: float) -> float:
        """Return the coordinate of a value, to a hundredth."""
        share = (self._inner(value) - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.first + share * (self.last - self.first), 2)

    def ticks(self, most: int = 6) -> list[Tick]:
        """Return marks at multiples of 1, 2 or 5 times a power of ten; if logarithmic, at powers of ten."""
        if self.logarithmic:
            first, last = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
            step = max(1, math.ceil((last - first + 1) / most))
            return [Tick(self.at(10.0**each), f"{10.0**each:g}") for each in range(first, last + 1, step)]
        values, decimals = round_marks(self.low, self.high, most)
        return [Tick(self.at(each), _number(each, decimals)) for each in values]

    def _inner(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value


def round_marks(low: float, high: float, most: int = 6) -> tuple[list[float], int]:
    """Return multiples of 1, 2 or 5 times a power of ten, at most `most` steps apart, and their decimals."""
    width = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(width / most))
    step = next(power * times for times in (1, 2, 5, 10) if width / (power * times) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [step * each for each in range(first, last + 1)], decimals


def _number(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}" if abs(value) < 1e5 else f"{value:.3g}"
