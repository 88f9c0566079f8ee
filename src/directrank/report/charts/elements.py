"""Elements of SVG; every text in them is escaped."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape


def element(name: str, attributes: dict[str, Any], *children: str) -> Markup:
    """Return an element; numbers get two decimals at most, children that are not markup become text."""
    given = "".join(f' {key}="{escape(_short(value))}"' for key, value in attributes.items())
    inner = Markup("").join(children)
    return Markup(f"<{name}{given}>{inner}</{name}>" if inner else f"<{name}{given}/>")


def label(x: Any, y: float, text: str, anchor: str = "start", style: str = "") -> Markup:
    """Return a text at a point; `x` is in pixels, or a text in percent."""
    given = {"x": x, "y": y} | ({} if anchor == "start" else {"text-anchor": anchor})
    return element("text", given | ({"class": style} if style else {}), escape(text))


def percent(value: float) -> str:
    """Return a horizontal coordinate relative to the width of the drawing."""
    return f"{_short(value)}%"


def coordinates(xs: Sequence[float], ys: Sequence[float]) -> str:
    """Return the points of a polyline."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))


def _short(value: Any) -> Any:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
