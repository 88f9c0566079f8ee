"""Elements of SVG; whatever they hold is escaped."""

from typing import Any

from markupsafe import Markup, escape


def element(name: str, attributes: dict[str, Any], *children: str) -> Markup:
    """Return an element; children that are not markup are text."""
    given = "".join(f' {key.replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    inner = Markup("").join(children)
    if not inner:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{inner}</{name}>")


def short(value: float) -> str:
    """Return a number with two decimals at most, for places."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def percent(value: float) -> str:
    """Return a place across."""
    return short(value) + "%"
