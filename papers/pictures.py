"""Pictures of the papers: lines with a legend, and values in rows with what was published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from markupsafe import Markup

from directrank.apps.report.charts import Line, Scale, Tick, element, frame, label, polyline
from directrank.apps.report.pictures import LEFT, colour, picture

WIDTH, HEIGHT, RIGHT, TOP, BOTTOM = 760, 400, 24, 66, 54
LEGEND = 226
#: Height of a row of dots in pixels, and of a heading in rows.
STEP, HEADING = 19, 1.7


@dataclass(frozen=True)
class Dot:
    """A value with half the width of its whisker, and the published value; either value may be missing."""

    label: str
    value: float | None
    error: float = 0.0
    published: float | None = None


def line_picture(
    title: str,
    across: str,
    up: str,
    lines: Sequence[Line],
    *,
    from_zero: bool = True,
    logarithmic: Sequence[float] = (),
) -> str:
    """Return a picture of lines, with a legend in their order.

    Parameters
    ----------
    title, across, up : str
        Of the picture and of its axes.
    lines : sequence of Line
        With at least two different x in total; `style` may be ``strong`` or ``dashed``.
    from_zero : bool, default=True
        Whether the vertical axis begins at 0 or just below the smallest value.
    logarithmic : sequence of float, optional
        Tick marks, from the smallest x to the largest, of a logarithmic horizontal axis.
    """
    xs, ys = zip(*(point for line in lines for point in line.points), strict=True)
    height = max(HEIGHT, TOP + 20 * len(lines) + BOTTOM)
    right, floor = WIDTH - LEGEND, float(height - BOTTOM)
    scale = Scale(xs, LEFT + 40, right - 6, logarithmic=bool(logarithmic), spare=0.0)
    down = Scale([*ys, 0.0] if from_zero else ys, floor, TOP, (min(0.0, *ys) if from_zero else -inf, inf))
    marks = [Tick(scale.at(x), f"{x:g}") for x in logarithmic] or scale.ticks(10)
    parts = [label(LEFT, TOP - 18, up, style="soft")]
    parts += frame(down.ticks(8), marks, floor, across, ends=(LEFT, right), place=float)
    for index, line in enumerate(lines):
        line, at = replace(line, style=f"{colour(index)} {line.style}"), TOP + 8 + 20 * index
        sample = {"class": f"line {line.style}", "x1": right + 16, "x2": right + 42, "y1": at, "y2": at}
        parts += [polyline(line, scale, down), element("line", sample), label(right + 50, at + 4, line.label)]
    return picture(title, parts, height, WIDTH)


def dot_picture(
    title: str, across: str, blocks: Mapping[str, Sequence[Dot]], *, from_zero: bool = False
) -> str:
    """Return a picture of values in rows, in blocks under headings.

    A filled dot is our value, with its whisker; a hollow diamond is the published value.

    Parameters
    ----------
    title, across : str
        Of the picture and of its axis.
    blocks : mapping of str to sequence of Dot
        With at least one value.
    from_zero : bool, default=False
        Whether the axis begins at 0 or just below the smallest value.
    """
    dots = [dot for block in blocks.values() for dot in block]
    height = round(TOP + 30 + STEP * (len(dots) + HEADING * sum(bool(name) for name in blocks)) + BOTTOM)
    left = 40 + round(max(_width(dot.label) for dot in dots))
    ends = _ends(dots)
    scale = Scale(
        [*ends, 0.0] if from_zero else ends,
        left,
        WIDTH - RIGHT,
        (min(0.0, *ends) if from_zero else -inf, inf),
    )
    parts, y = _upright(across, scale, float(height - BOTTOM)), TOP + 20.0
    for name, block in blocks.items():
        if name:
            parts.append(label(LEFT, y + 0.6 * STEP + 4, name, style="heading"))
            y += HEADING * STEP
        for dot in block:
            parts += _row(dot, scale, left, y)
            y += STEP
    if any(dot.published is not None for dot in dots):
        parts += _key(any(dot.error for dot in dots))
    return picture(title, parts, height, WIDTH)


def _width(text: str) -> float:
    # A little more than sans-serif letters of 12 pixels take.
    return sum(9.0 if letter.isupper() else 7.0 for letter in text)


def _ends(dots: Sequence[Dot]) -> list[float]:
    ends = [dot.value + side * dot.error for dot in dots if dot.value is not None for side in (-1, 1)]
    return ends + [dot.published for dot in dots if dot.published is not None]


def _upright(across: str, scale: Scale, floor: float) -> list[Markup]:
    """Return vertical grid lines with their texts below, the one at 0 darker."""
    parts = frame([], scale.ticks(8), floor, across, ends=(scale.first, scale.last), place=float)
    for tick in scale.ticks(8):
        zero = "axis" if scale.low < 0 < scale.high and tick.at == scale.at(0.0) else "grid"
        line = {"class": zero, "x1": tick.at, "x2": tick.at, "y1": TOP + 14, "y2": floor}
        parts.append(element("line", line))
    return parts


def _row(dot: Dot, scale: Scale, left: float, y: float) -> list[Markup]:
    parts = [label(left - 14, y + 4, dot.label, "end")]
    if dot.value is not None:
        low, high = scale.at(dot.value - dot.error), scale.at(dot.value + dot.error)
        parts.append(element("line", {"class": "line k0", "x1": low, "x2": high, "y1": y, "y2": y}))
        parts.append(element("circle", {"class": "k0", "cx": scale.at(dot.value), "cy": y, "r": 4}))
    return parts if dot.published is None else [*parts, _diamond(scale.at(dot.published), y)]


def _diamond(x: float, y: float) -> Markup:
    return element("path", {"class": "k1 published", "d": f"M{x:g} {y - 5:g}l5 5l-5 5l-5 -5z"})


def _key(errors: bool) -> list[Markup]:
    ours, at = "ours, ± one standard error" if errors else "ours", WIDTH - 300
    dot = element("circle", {"class": "k0", "cx": at, "cy": 44, "r": 4})
    return [dot, label(at + 10, 48, ours), _diamond(WIDTH - 92, 44), label(WIDTH - 80, 48, "published")]
