"""Lines over an axis: curves of nDCG, training, hyper-parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from directrank.report.charts.elements import element, percent, short
from directrank.report.charts.scale import Scale, Tick

#: Places across run from FIRST to LAST percent, down from TOP to the height less BELOW, in pixels.
FIRST, LAST, TOP, BELOW = 9.0, 98.0, 18, 26
#: Lines have so many colours; then they repeat, dashed.
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
        Its place among the methods, if it is about one.
    dots : bool
        Whether every point is marked.
    marked : sequence of (float, float)
        Points that stand out.
    """

    label: str
    points: Sequence[tuple[float, float]]
    style: str = ""
    method: int | None = None
    dots: bool = False
    marked: Sequence[tuple[float, float]] = ()


def colour(place: int) -> str:
    """Return the classes of the line at a place, from 0."""
    return f"k{place % COLOURS}" + (" dashed" if place % (2 * COLOURS) >= COLOURS else "")


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
    """Return a drawing of lines.

    Parameters
    ----------
    title, description : str
        For those who cannot see it.
    lines : sequence of Line
        With one point in all at least.
    height : int
        In pixels.
    ticks : sequence of (float, str), optional
        Marks across; round values by default.
    logarithmic : bool
        Whether the axis across is.
    bounds : (float, float)
        What values down can be.
    across_name : str
        What is across.
    """
    points = [point for line in lines for point in (*line.points, *line.marked)]
    floor = height - BELOW - (16 if across_name else 0)
    across = Scale([x for x, _ in points], FIRST + 2, LAST - 2, logarithmic=logarithmic)
    down = Scale([y for _, y in points], floor, TOP, bounds)
    marks = across.ticks() if ticks is None else [Tick(across.at(x), text) for x, text in ticks]
    paths = [_path(line, across, down) for line in lines if len(line.points) > 1]
    stretched = {"viewBox": f"0 0 100 {height}", "preserveAspectRatio": "none", "height": height}
    return element(
        "svg",
        {"class": "lines", "height": height, "role": "img"},
        element("title", {}, escape(title)),
        element("desc", {}, escape(description)),
        *_frame(down.ticks(), marks, floor, across_name, height),
        element("svg", stretched, *paths),
        *(_dots(line, across, down) for line in lines),
    )


def _frame(
    down: Sequence[Tick], across: Sequence[Tick], floor: float, name: str, height: int
) -> list[Markup]:
    parts = []
    for tick in down:
        ends = {"x1": 0, "x2": percent(LAST), "y1": short(tick.at), "y2": short(tick.at)}
        parts.append(element("line", {"class": "grid", **ends}))
        parts.append(
            element(
                "text",
                {"x": 0, "y": short(tick.at - 4)},
                escape(tick.text.replace("-", "−")),
            )
        )
    for tick in across:
        parts.append(
            element(
                "text",
                {"x": percent(tick.at), "y": short(floor + 18), "text-anchor": "middle"},
                escape(tick.text),
            )
        )
    if name:
        middle = {"x": percent((FIRST + LAST) / 2), "y": height - 4, "text-anchor": "middle"}
        parts.append(element("text", {"class": "name", **middle}, escape(name)))
    return parts


def _path(line: Line, across: Scale, down: Scale) -> Markup:
    places = " ".join(f"{across.at(x):.1f},{down.at(y):.1f}" for x, y in line.points)
    return element("polyline", {"points": places, **_class(line)})


def _dots(line: Line, across: Scale, down: Scale) -> Markup:
    shown = [(point, 3) for point in (line.points if line.dots else ())] + [(each, 5) for each in line.marked]
    if not shown:
        return Markup("")
    dots = [
        element("circle", {"cx": percent(across.at(x)), "cy": short(down.at(y)), "r": radius})
        for (x, y), radius in shown
    ]
    return element("g", _class(line), *dots)


def _class(line: Line) -> dict[str, str]:
    given = {"class": f"line {line.style}".strip()}
    return given if line.method is None else {**given, "data-m": str(line.method)}
