"""Lines over two axes: curves of nDCG, training, hyper-parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from directrank.report.charts.elements import element, label, percent
from directrank.report.charts.scale import Scale, Tick

#: On the page, lines run from FIRST to LAST percent of the width, from TOP to the height less BELOW pixels.
FIRST, LAST, TOP, BELOW = 9.0, 98.0, 18, 26
#: Lines have this many colours; further lines repeat them, dashed.
COLOURS = 8


@dataclass(frozen=True)
class Line:
    """Points of one line, x and y in the units of the axes.

    Attributes
    ----------
    label : str
    points : sequence of (float, float)
    style : str
        Classes, such as ``k0``.
    method : int, optional
        Index of the method that the line is about.
    marked : sequence of (float, float)
        Points that are drawn as dots.
    """

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

    Parameters
    ----------
    title, description : str
        For readers who cannot see the chart.
    lines : sequence of Line
        With at least one point in total.
    height : int
        In pixels.
    ticks : sequence of (float, str), optional
        Tick marks of the horizontal axis; round values by default.
    logarithmic : bool
        Whether the horizontal axis is logarithmic.
    bounds : (float, float)
        The smallest and the largest value that the vertical axis may reach.
    across_name : str
        Name of the horizontal axis.
    """
    points = [point for line in lines for point in (*line.points, *line.marked)]
    floor = float(height - BELOW - (16 if across_name else 0))
    across = Scale([x for x, _ in points], FIRST + 2, LAST - 2, logarithmic=logarithmic)
    down = Scale([y for _, y in points], floor, TOP, bounds)
    marks = across.ticks() if ticks is None else [Tick(across.at(x), text) for x, text in ticks]
    stretched = {"viewBox": f"0 0 100 {height}", "preserveAspectRatio": "none", "height": height}
    return element(
        "svg",
        {"class": "lines", "height": height, "role": "img"},
        element("title", {}, escape(title)),
        element("desc", {}, escape(description)),
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
    """Return the grid, the texts of the tick marks, and the name of the horizontal axis.

    Parameters
    ----------
    down, across : sequence of Tick
        Marks of the vertical and of the horizontal axis.
    floor : float
        The lower end of the chart, in pixels.
    name : str
        Of the horizontal axis; it may be empty.
    ends : (float, float)
        The left and the right end of the grid.
    place : callable
        From a horizontal coordinate to what is written.
    """
    left, right = ends
    parts = []
    for tick in down:
        grid = {"class": "grid", "x1": place(left), "x2": place(right), "y1": tick.at, "y2": tick.at}
        parts += [element("line", grid), label(place(left), tick.at - 4, tick.printed)]
    parts += [label(place(tick.at), floor + 18, tick.printed, "middle") for tick in across]
    return [*parts, *([label(place((left + right) / 2), floor + 38, name, "middle")] if name else [])]


def polyline(line: Line, across: Scale, down: Scale) -> Markup:
    """Return a line; its label shows when the pointer is on it."""
    points = " ".join(f"{across.at(x):.1f},{down.at(y):.1f}" for x, y in line.points)
    return element("polyline", {"points": points, **_class(line)}, element("title", {}, escape(line.label)))


def _dots(line: Line, across: Scale, down: Scale) -> Markup:
    dots = [
        element("circle", {"cx": percent(across.at(x)), "cy": down.at(y), "r": 5}) for x, y in line.marked
    ]
    return element("g", _class(line), *dots)


def _class(line: Line) -> dict[str, str]:
    given = {"class": f"line {line.style}".strip()}
    return given if line.method is None else {**given, "data-m": str(line.method)}
