"""Charts as files: SVG with its own style, of fixed size."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from directrank.apps.report.charts import Line, Scale, element, frame, label, polyline

if TYPE_CHECKING:
    from directrank.diagnostics.audit import Audit


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
        f".k{index}{{stroke:{colour};fill:{colour}}}.line.k{index}{{fill:none}}"
        for index, colour in enumerate(COLOURS)
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


WIDTH, TOP = 1090, 48
PANEL_LEFT, RIGHT = 16, 500
BARS_LEFT, BARS_RIGHT = 840, 1030
STEP, LEAST_HEIGHT = 32.0, 340.0
# Values above are cut off: one loose bound would flatten all other lines.
MOST = 2.0


def audit_chart(audit: "Audit") -> str:
    """Return an SVG of two panels.

    Left, queries by ascending loss with the value of each row, bounds drawn through and approximations
    dashed, as in Figure 1 of the paper with real margins; right, the means, as in its Figure 3. Values above
    the panel are drawn along its upper edge, and their mean is written out.
    """
    floor = TOP + max(LEAST_HEIGHT, STEP * (len(audit.rows) + 1))
    order = np.argsort(audit.loss, kind="stable")
    top = min(MOST, max(1.0, *(float(row.values.max()) for row in audit.rows)))
    across = Scale([0.0, len(order) - 1.0], PANEL_LEFT + 40, RIGHT, spare=0.0)
    down = Scale([0.0, top], floor, TOP, (0.0, top))

    def line(name: str, values: np.ndarray, style: str) -> Markup:
        points = list(enumerate(np.clip(values[order], 0.0, top).tolist()))
        return polyline(Line(name, points, style), across, down)

    parts = [
        *frame(down.ticks(8), [], floor, "queries by ascending loss", ends=(PANEL_LEFT, RIGHT), place=float),
        *(
            line(row.name, row.values, colour(index) + ("" if row.is_bound else " dashed"))
            for index, row in enumerate(audit.rows)
        ),
        line("1 − E", audit.loss, "black strong"),
        label(BARS_LEFT, 25, "means"),
        *_bars(audit, top),
    ]
    title = f"{len(audit.qid)} queries: 1 − {audit.measure} (black), bounds and approximations (dashed)"
    return picture(title, parts, floor + 50, WIDTH)


def _bars(audit: "Audit", top: float) -> list[Markup]:
    """Return a bar for the mean of each row, and a dashed line at the mean loss."""
    loss = float(audit.loss.mean())
    entries = [("1 − E", "the loss", "black", loss)] + [
        (row.name, row.kind, colour(index), float(row.values.mean())) for index, row in enumerate(audit.rows)
    ]
    longest = min(top, max([0.1, *(mean for *_, mean in entries)]))
    scale = Scale([0.0, longest], BARS_LEFT, BARS_RIGHT, (0.0, longest))
    parts = []
    for index, (name, kind, style, mean) in enumerate(entries):
        y, end = TOP + STEP * index, max(scale.at(min(mean, longest)), BARS_LEFT + 1.0)
        parts += [
            label(BARS_LEFT - 8, y + 10, name, "end"),
            label(BARS_LEFT - 8, y + 23, kind, "end", "soft"),
            element(
                "rect", {"class": style, "x": BARS_LEFT, "y": y + 2, "width": end - BARS_LEFT, "height": 18}
            ),
            label(end + 5, y + 15, f"{mean:.3g}"),
        ]
    at, foot = scale.at(min(loss, longest)), TOP + STEP * len(entries)
    line = {"class": "line black dashed", "x1": at, "x2": at, "y1": TOP, "y2": foot}
    return [*parts, element("line", line)]
