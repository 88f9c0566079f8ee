"""The picture of an audit: bounds over the queries, and their means over the loss."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from directrank.diagnostics.audit import Audit

WIDTH, TOP = 1090, 48
LEFT, RIGHT = 46, 560
BARS_LEFT, BARS_RIGHT = 840, 1030
STEP, LEAST_HEIGHT = 32.0, 340.0
COLOURS = (
    "#0b6e99", "#c8553d", "#588b8b", "#8f5fa8", "#d99a1c", "#4c72b0", "#7a7a7a", "#2a9d5c", "#b5477e",
    "#8c6d31", "#17a2a2", "#5b5bd6", "#a3123a", "#6b8e23",
)  # fmt: skip
# A value this many times the loss's room is cut off: one loose row would flatten all others.
MOST = 2.0


def draw(audit: "Audit") -> str:
    """Return an SVG of two panels.

    Left, queries by ascending loss with the value of each row, bounds drawn through and approximations
    dashed, as in Figure 1 of the paper with real margins; right, the means, as in its Figure 3. Values above
    the panel run along its edge, and their mean is written out.
    """
    bottom = TOP + max(LEAST_HEIGHT, STEP * (len(audit.rows) + 1))
    order = np.argsort(audit.loss, kind="stable")
    high = max(1.0, *(float(row.values.max()) for row in audit.rows))
    top = min(MOST, 1.02 * high)
    marks = [_frame(audit, top, bottom)]
    for number, row in enumerate(audit.rows):
        dash = "" if row.is_bound else ' stroke-dasharray="4 3"'
        marks.append(
            f'<polyline fill="none" stroke="{_colour(number)}" stroke-width="1.4"{dash} '
            f'points="{_points(row.values[order], top, bottom)}"><title>{escape(row.name)}</title></polyline>'
        )
    loss = _points(audit.loss[order], top, bottom)
    marks.append(f'<polyline fill="none" stroke="#111" stroke-width="2.4" points="{loss}"/>')
    marks += _bars(audit, top)
    body, height = "\n".join(marks), bottom + 42
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'font-family="sans-serif" font-size="12" role="img">\n'
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _points(values: np.ndarray, top: float, bottom: float) -> str:
    x = np.linspace(LEFT, RIGHT, len(values)) if len(values) > 1 else np.array([(LEFT + RIGHT) / 2])
    y = bottom - (bottom - TOP) * np.clip(values, 0.0, top) / top
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _frame(audit: "Audit", top: float, bottom: float) -> str:
    title = (
        f"{len(audit.qid)} queries: 1 − {escape(audit.measure)} (black), bounds and approximations (dashed)"
    )
    marks = [
        f'<text x="{LEFT}" y="24">{title}</text>',
        f'<text x="{BARS_LEFT}" y="24">means</text>',
    ]
    for value in np.arange(0.0, top + 1e-9, 0.25):
        y = bottom - (bottom - TOP) * value / top
        marks.append(f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="#ddd"/>')
        marks.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    marks.append(f'<path d="M{LEFT} {TOP}V{bottom:.1f}H{RIGHT}" fill="none" stroke="#888"/>')
    marks.append(f'<text x="{LEFT}" y="{bottom + 20:.1f}">queries by ascending loss</text>')
    return "\n".join(marks)


def _bars(audit: "Audit", top: float) -> list[str]:
    """One bar a row with its mean, over a line where the loss is."""
    means = [float(row.values.mean()) for row in audit.rows]
    scale = (BARS_RIGHT - BARS_LEFT) / min(top, max([*means, float(audit.loss.mean()), 0.1]))
    entries = [("1 − E", "the loss", "#111", float(audit.loss.mean()))] + [
        (row.name, row.kind, _colour(number), mean)
        for number, (row, mean) in enumerate(zip(audit.rows, means, strict=True))
    ]
    loss = BARS_LEFT + scale * float(audit.loss.mean())
    marks = []
    for place, (name, kind, colour, mean) in enumerate(entries):
        y, width = TOP + STEP * place, min(scale * mean, BARS_RIGHT - BARS_LEFT)
        ends = f'<text x="{BARS_LEFT - 8}" text-anchor="end"'
        marks.append(
            f'{ends} y="{y + 10:.1f}" font-size="11">{escape(name)}</text>'
            f'{ends} y="{y + 22:.1f}" font-size="10" fill="#666">{escape(kind)}</text>'
        )
        marks.append(
            f'<rect x="{BARS_LEFT}" y="{y + 2:.1f}" width="{max(width, 1):.1f}" height="18" fill="{colour}"/>'
            f'<text x="{BARS_LEFT + max(width, 1) + 5:.1f}" y="{y + 15:.1f}" font-size="11">{mean:.3g}</text>'
        )
    end = TOP + STEP * len(entries)
    marks.append(f'<path d="M{loss:.1f} {TOP}V{end:.1f}" stroke="#111" stroke-dasharray="2 2"/>')
    return marks
