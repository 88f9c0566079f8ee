"""Charts: elements of HTML and SVG, axes, lines, and dots."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup, escape


def element(name: str, attributes: dict[str, Any], *children: str) -> Markup:
    """Return an element; children that are not markup become text.

    Attributes that are None or empty are omitted; floats get two decimals at most.
    """
    written = "".join(
        f' {key}="{escape(_short(value))}"'
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    if not children:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{Markup('').join(children)}</{name}>")


def lines_of(blocks: Iterable[Markup]) -> Markup:
    """Return blocks, one on a line."""
    return Markup("\n").join(blocks)


def label(x: object, y: float, text: str, anchor: str = "", style: str = "") -> Markup:
    """Return a text of SVG at a point; `x` is in pixels, or a text in percent."""
    return element("text", {"x": x, "y": y, "text-anchor": anchor, "class": style}, text)


def percent(value: float) -> str:
    """Return a horizontal coordinate relative to the width of the drawing."""
    return f"{_short(value)}%"


def _short(value: object) -> Any:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def typographic(number: str) -> str:
    """Return a printed number with a typographic minus sign; of other texts it changes nothing."""
    return number.replace("-", "−") if number.startswith("-") else number


class Tick(NamedTuple):
    """A tick mark of an axis: its coordinate and its text."""

    at: float
    text: str


class Scale:
    """From a range of values to a range of coordinates, by default percent with margins for outer tick marks.

    The axis stays inside `bounds`, and has some `spare` space at each end, as a share of the range of the
    values.
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
        low, high = (self._inner(end) for end in (min(values), max(values)))
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
            return [
                Tick(self.at(10.0**exponent), f"{10.0**exponent:g}")
                for exponent in range(first, last + 1, step)
            ]
        values, decimals = round_marks(self.low, self.high, most)
        return [Tick(self.at(value), _number(value, decimals)) for value in values]

    def _inner(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value


def round_marks(low: float, high: float, most: int = 6) -> tuple[list[float], int]:
    """Return multiples of 1, 2 or 5 times a power of ten, at most `most` steps apart, and their decimals."""
    width = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(width / most))
    step = next(power * times for times in (1, 2, 5, 10) if width / (power * times) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [step * number for number in range(first, last + 1)], decimals


def _number(value: float, decimals: int) -> str:
    return typographic(f"{value:.{decimals}f}" if abs(value) < 1e5 else f"{value:.3g}")


#: In pixels; the style has the same height.
HEIGHT = 22


def dot_row(
    scale: Scale, dots: Sequence[float], line: float | None, interval: tuple[float, float] | None
) -> Markup:
    """Return the drawing of a row: a dot for each value, a vertical line, and a bar for the interval."""
    parts = []
    if interval is not None:
        low, high = (scale.at(end) for end in interval)
        parts.append(element("rect", {"class": "interval", "x": percent(low), "width": percent(high - low)}))
    parts += [element("circle", {"cx": percent(scale.at(value))}) for value in dots]
    if line is not None:
        parts.append(element("rect", {"class": "mean", "x": percent(scale.at(line))}))
    return element("svg", {"height": HEIGHT, "aria-hidden": "true"}, *parts)


def axis(scale: Scale) -> Markup:
    """Return the tick marks below the rows."""
    parts = []
    for tick in scale.ticks(5):
        parts.append(label(percent(tick.at), 15, tick.text, "middle"))
        parts.append(element("rect", {"class": "tick", "x": percent(tick.at)}))
    return element("svg", {"height": 18, "aria-hidden": "true"}, *parts)


#: On the page, lines run from FIRST to LAST percent of the width, from TOP to the height less BELOW pixels.
FIRST, LAST, TOP, BELOW = 9.0, 98.0, 18, 26
#: Lines have this many colours; further lines repeat them, dashed.
COLOURS = 8


@dataclass(frozen=True)
class Line:
    """Points of one line, x and y in the units of the axes; those `marked` are dots. `style` are classes."""

    label: str
    points: Sequence[tuple[float, float]]
    style: str = ""
    method: int | None = None
    marked: Sequence[tuple[float, float]] = ()


def colour(index: int) -> str:
    """Return the classes of the line with an index."""
    return f"k{index % COLOURS}" + (" dashed" if index % (2 * COLOURS) >= COLOURS else "")


def line_chart(
    title: str,
    description: str,
    lines: Sequence[Line],
    *,
    height: int = 240,
    ticks: Sequence[tuple[float, str]] | None = None,
    logarithmic: bool = False,
    bounds: tuple[float, float] = (0.0, 1.0),
    across_name: str = "",
) -> Markup:
    """Return a drawing of lines that is as wide as the page allows, with texts that never shrink.

    Title and description are for readers who cannot see it. The vertical axis stays inside `bounds`; tick
    marks of the horizontal one, which has a name, are round values by default.
    """
    points = [point for line in lines for point in (*line.points, *line.marked)]
    floor = float(height - BELOW - (16 if across_name else 0))
    across = Scale([x for x, _ in points], FIRST + 2, LAST - 2, logarithmic=logarithmic)
    down = Scale([y for _, y in points], floor, TOP, bounds)
    marks = across.ticks() if ticks is None else [Tick(across.at(x), typographic(text)) for x, text in ticks]
    stretched = {"viewBox": f"0 0 100 {height}", "preserveAspectRatio": "none", "height": height}
    return element(
        "svg",
        {"class": "lines", "height": height, "role": "img"},
        element("title", {}, title),
        element("desc", {}, description),
        *frame(down.ticks(), marks, floor, across_name),
        element("svg", stretched, *(polyline(line, across, down) for line in lines if len(line.points) > 1)),
        *(_dots(line, across, down) for line in lines if line.marked),
    )


def frame(
    down: Sequence[Tick],
    across: Sequence[Tick],
    floor: float,
    name: str,
    *,
    ends: tuple[float, float] = (0.0, LAST),
    place: Callable[[float], Any] = percent,
) -> list[Markup]:
    """Return the grid, the texts of the tick marks, and the name of the horizontal axis below the `floor`.

    `ends` are those of the grid; `place` turns a horizontal coordinate into what is written.
    """
    left, right = ends
    parts = []
    for tick in down:
        grid = {"class": "grid", "x1": place(left), "x2": place(right), "y1": tick.at, "y2": tick.at}
        parts += [element("line", grid), label(place(left), tick.at - 4, tick.text)]
    parts += [label(place(tick.at), floor + 18, tick.text, "middle") for tick in across]
    return [*parts, *([label(place((left + right) / 2), floor + 38, name, "middle")] if name else [])]


def polyline(line: Line, across: Scale, down: Scale) -> Markup:
    """Return a line; its label shows when the pointer is on it."""
    points = " ".join(f"{across.at(x):.1f},{down.at(y):.1f}" for x, y in line.points)
    return element("polyline", {"points": points, **_class(line)}, element("title", {}, line.label))


def _dots(line: Line, across: Scale, down: Scale) -> Markup:
    dots = [
        element("circle", {"cx": percent(across.at(x)), "cy": down.at(y), "r": 5}) for x, y in line.marked
    ]
    return element("g", _class(line), *dots)


def _class(line: Line) -> dict[str, str]:
    classes = {"class": f"line {line.style}".strip()}
    return classes if line.method is None else {**classes, "data-m": str(line.method)}
