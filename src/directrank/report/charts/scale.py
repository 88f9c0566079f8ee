"""From values to places, with marks at round values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: its place, and its text."""

    at: float
    text: str


class Scale:
    """From a range of values to a range of places.

    Parameters
    ----------
    values : sequence of float
        Finite, not empty.
    first, last : float
        The places of the least and of the largest value.
    bounds : (float, float), optional
        The least and the largest value that can be.
    logarithmic : bool, default=False
        For positive values.
    """

    def __init__(
        self,
        values: Sequence[float],
        first: float,
        last: float,
        bounds: tuple[float, float] = (-math.inf, math.inf),
        logarithmic: bool = False,
    ):
        self.logarithmic = logarithmic
        low, high = (self._inner(each) for each in (min(values), max(values)))
        spare = 0.06 * (high - low) or 0.01 * (abs(high) or 1.0)
        least, most = bounds
        self.low = low - spare if logarithmic else max(least, low - spare)
        self.high = high + spare if logarithmic else min(most, high + spare)
        self.first, self.last = first, last

    def at(self, value: float) -> float:
        """Return the place of a value, to a hundredth."""
        share = (self._inner(value) - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.first + share * (self.last - self.first), 2)

    def ticks(self, most: int = 6) -> list[Tick]:
        """Return marks at multiples of 1, 2 or 5 times a power of ten; if logarithmic, at powers of ten."""
        if self.logarithmic:
            return self._powers(most)
        width = (self.high - self.low) or 1.0
        power = 10.0 ** math.floor(math.log10(width / most))
        step = next(power * times for times in (1, 2, 5, 10) if width / (power * times) <= most)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [Tick(self.at(each * step), _number(each * step, decimals)) for each in range(first, last + 1)]

    def _powers(self, most: int) -> list[Tick]:
        first, last = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
        step = max(1, math.ceil((last - first + 1) / most))
        return [Tick(self.at(10.0**each), f"{10.0**each:g}") for each in range(first, last + 1, step)]

    def _inner(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value


def _number(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}" if abs(value) < 1e5 else f"{value:.3g}"
