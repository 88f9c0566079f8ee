"""A row of dots: folds, their mean, its interval."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from directrank.report.charts.elements import element, percent
from directrank.report.charts.scale import Scale

#: The margins in percent: half of the widest tick must fit.
LEFT, RIGHT = 4.0, 96.0
#: In pixels; the style knows it too, and what else all rows share.
HEIGHT = 26


def dot_row(
    scale: Scale, folds: Sequence[float], mean: float | None, interval: tuple[float, float] | None
) -> Markup:
    """Return the drawing of a method: its place among the others is what it shows."""
    parts = []
    if interval is not None:
        low, high = (scale.at(each) for each in interval)
        parts.append(element("rect", {"class": "interval", "x": percent(low), "width": percent(high - low)}))
    parts += [element("circle", {"cx": percent(scale.at(each))}) for each in folds]
    if mean is not None:
        parts.append(element("rect", {"class": "mean", "x": percent(scale.at(mean))}))
    return element("svg", {"height": HEIGHT, "aria-hidden": "true"}, *parts)


def axis(scale: Scale) -> Markup:
    """Return the marks below rows of dots."""
    parts = []
    for tick in scale.ticks():
        parts.append(
            element("text", {"x": percent(tick.at), "y": 15, "text-anchor": "middle"}, escape(tick.text))
        )
        parts.append(element("rect", {"class": "tick", "x": percent(tick.at)}))
    return element("svg", {"height": 18, "aria-hidden": "true"}, *parts)
