"""Charts as places: where each dot and line goes; the template draws them as SVG.

Across, places are percentages of the width, so that a chart fits any screen without its text shrinking;
down, they are pixels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from directrank.experiments.results import Comparison
from directrank.measures import parse_measure

#: The margins of a chart in percent: half of the widest tick must fit.
LEFT, RIGHT = 4.0, 96.0
LINE_CHART_HEIGHT, TOP, BOTTOM = 260, 14, 230


@dataclass(frozen=True)
class Tick:
    """A mark on an axis, in percent across or pixels down."""

    at: float
    text: str


@dataclass(frozen=True)
class Dot:
    """One value: its place across in percent, its place down in pixels, and what it says."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class DotRow:
    """A method: its mean as a place and as printed, and a dot for every fold."""

    label: str
    mean: Dot | None
    shown: str
    folds: Sequence[Dot]


@dataclass(frozen=True)
class DotChart:
    """One measure of every method, fold by fold."""

    measure: str
    ticks: Sequence[Tick]
    rows: Sequence[DotRow]


@dataclass(frozen=True)
class Line:
    """A method over cutoffs; `colour` counts from 0."""

    label: str
    colour: int
    dots: Sequence[Dot]

    @property
    def segments(self) -> list[tuple[Dot, Dot]]:
        """Neighbouring dots."""
        return list(zip(self.dots, self.dots[1:], strict=False))


@dataclass(frozen=True)
class LineChart:
    """nDCG over its cutoffs."""

    title: str
    height: int
    across: Sequence[Tick]
    down: Sequence[Tick]
    lines: Sequence[Line]


class Scale:
    """From a range of values to a range of places, with marks at round values.

    Parameters
    ----------
    values : sequence of float
        Not empty.
    first, last : float
        The places of the least and of the largest value.
    """

    def __init__(self, values: Sequence[float], first: float, last: float):
        low, high = min(values), max(values)
        spare = 0.06 * (high - low) or 0.01
        self.low, self.high = max(0.0, low - spare), min(1.0, high + spare)
        self.first, self.last = first, last

    def at(self, value: float) -> float:
        """Return the place of a value, to a hundredth."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.first + share * (self.last - self.first), 2)

    def ticks(self, most: int = 6) -> list[Tick]:
        """Return marks at multiples of 1, 2 or 5 times a power of ten."""
        width = (self.high - self.low) or 1.0
        power = 10.0 ** math.floor(math.log10(width / most))
        step = next(power * times for times in (1, 2, 5, 10) if width / (power * times) <= most)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [Tick(self.at(each * step), f"{each * step:.{decimals}f}") for each in range(first, last + 1)]


def dot_chart(result: Comparison, convention: str, measure: str) -> DotChart | None:
    """Return a measure's test values by method and fold, or None if nothing was measured."""
    found = {
        method: [(fold, result.value(method, fold, measure, convention)) for fold in result.folds]
        for method in result.methods
    }
    known = [value for pairs in found.values() for _, value in pairs if value is not None]
    if not known:
        return None
    scale = Scale(known, LEFT, RIGHT)
    rows = []
    for method, pairs in found.items():
        mean = result.mean(method, measure, convention)
        dots = [
            Dot(scale.at(value), 14, f"{fold}: {value:.4f}") for fold, value in pairs if value is not None
        ]
        bar = None if mean is None else Dot(scale.at(mean), 14, f"mean: {mean:.4f}")
        rows.append(DotRow(method, bar, "" if mean is None else f"{mean:.4f}", dots))
    return DotChart(measure, scale.ticks(), rows)


def cutoffs_of(measures: Sequence[str], word: str = "nDCG") -> list[tuple[int, str]]:
    """Return the cutoffs at which a measure is reported, ascending, with the measure's name there."""
    found = [(parse_measure(name).cutoff, name) for name in measures]  # pyright: ignore[reportAttributeAccessIssue]
    return sorted((cutoff, name) for cutoff, name in found if cutoff and name == f"{word}@{cutoff}")


def line_chart(result: Comparison, convention: str) -> LineChart | None:
    """Return mean test nDCG over its cutoffs, or None if fewer than three are reported."""
    cutoffs = cutoffs_of(result.measures)
    means = {
        method: [result.mean(method, name, convention) for _, name in cutoffs] for method in result.methods
    }
    whole = {
        method: [value for value in values if value is not None]
        for method, values in means.items()
        if None not in values
    }
    if len(cutoffs) < 3 or not whole:
        return None
    down = Scale([value for values in whole.values() for value in values], BOTTOM, TOP)
    first, last = cutoffs[0][0], cutoffs[-1][0]

    def across(cutoff: int) -> float:
        return round(9.0 + 87.0 * (cutoff - first) / (last - first), 2)

    lines = [
        Line(
            method,
            result.methods.index(method),
            [
                Dot(across(cutoff), down.at(value), f"{method}, nDCG@{cutoff}: {value:.4f}")
                for (cutoff, _), value in zip(cutoffs, values, strict=True)
            ],
        )
        for method, values in whole.items()
    ]
    return LineChart(
        "nDCG of the first k documents",
        LINE_CHART_HEIGHT,
        [Tick(across(cutoff), str(cutoff)) for cutoff, _ in cutoffs],
        down.ticks(),
        lines,
    )
