"""Elements of HTML and SVG; every text in them is escaped."""

from collections.abc import Iterable
from typing import Any

from markupsafe import Markup, escape


def element(name: str, attributes: dict[str, Any], *children: str) -> Markup:
    """Return an element; children that are not markup become text.

    Attributes that are None or empty are omitted; floats get two decimals at most.
    """
    given = "".join(
        f' {key}="{escape(_short(value))}"'
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    if not children:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{Markup('').join(children)}</{name}>")


def lines_of(blocks: Iterable[Markup]) -> Markup:
    """Return blocks, one on a line."""
    return Markup("\n").join(blocks)


def label(x: Any, y: float, text: str, anchor: str = "", style: str = "") -> Markup:
    """Return a text of SVG at a point; `x` is in pixels, or a text in percent."""
    return element("text", {"x": x, "y": y, "text-anchor": anchor, "class": style}, text)


def percent(value: float) -> str:
    """Return a horizontal coordinate relative to the width of the drawing."""
    return f"{_short(value)}%"


def _short(value: Any) -> Any:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
