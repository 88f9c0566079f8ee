"""A row of dots on an axis that several rows share: values, a line, an interval."""

from collections.abc import Sequence

from markupsafe import Markup

from directrank.report.charts.elements import element, label, percent
from directrank.report.charts.scale import Scale

#: In pixels; the style has the same height.
HEIGHT = 22


def dot_row(
    scale: Scale, dots: Sequence[float], line: float | None, interval: tuple[float, float] | None
) -> Markup:
    """Return the drawing of a row: a dot for each value, a vertical line, and a bar for the interval."""
    parts = []
    if interval is not None:
        low, high = (scale.at(each) for each in interval)
        parts.append(element("rect", {"class": "interval", "x": percent(low), "width": percent(high - low)}))
    parts += [element("circle", {"cx": percent(scale.at(each))}) for each in dots]
    if line is not None:
        parts.append(element("rect", {"class": "mean", "x": percent(scale.at(line))}))
    return element("svg", {"height": HEIGHT, "aria-hidden": "true"}, *parts)


def axis(scale: Scale) -> Markup:
    """Return the tick marks below the rows."""
    parts = []
    for tick in scale.ticks(5):
        parts.append(label(percent(tick.at), 15, tick.printed, "middle"))
        parts.append(element("rect", {"class": "tick", "x": percent(tick.at)}))
    return element("svg", {"height": 18, "aria-hidden": "true"}, *parts)
