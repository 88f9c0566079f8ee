"""Charts as files: SVG with its own style, of fixed size."""

from collections.abc import Sequence

from markupsafe import Markup

from directrank.report.charts.elements import element, label

LEFT = 16
#: The first eight are Okabe and Ito's, which colour-blind readers can tell apart.
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#8d4f9f", "#a97900", "#3b9bd0", "#6b6b6b", "#222222",
    "#b5477e", "#5b5bd6", "#17a2a2", "#a3123a", "#6b8e23", "#c8553d",
)  # fmt: skip
STYLE = (
    "text{font:12px system-ui,Arial,sans-serif;fill:#1d2530}.title{font-size:15px}.heading{font-weight:600}"
    ".soft{fill:#5b6572}.grid{stroke:#e3e6ea}.axis{stroke:#5b6572}.paper{fill:#fff}"
    ".line,.published{fill:none;stroke-width:1.7;stroke-linejoin:round}.strong{stroke-width:3}"
    ".dashed{stroke-dasharray:6 4}.dot{stroke:none}.black{stroke:#111;fill:#111}.line.black{fill:none}"
    + "".join(
        f".k{index}{{stroke:{each};fill:{each}}}.line.k{index}{{fill:none}}"
        for index, each in enumerate(COLOURS)
    )
    + ".published{fill:none}"
)


def colour(index: int) -> str:
    """Return the class of the colour with an index."""
    return f"k{index % len(COLOURS)}"


def picture(title: str, parts: Sequence[str], height: float, width: int) -> str:
    """Return a file with a white background and a title."""
    size = {"width": width, "height": height, "viewBox": f"0 0 {width} {height:g}"}
    return str(
        element(
            "svg",
            {"xmlns": "http://www.w3.org/2000/svg", **size, "role": "img", "aria-label": title},
            element("style", {}, Markup(STYLE)),
            element("rect", {"class": "paper", "width": width, "height": height}),
            label(LEFT, 25, title, style="title"),
            *parts,
        )
        + "\n"
    )
