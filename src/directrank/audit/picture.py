"""The picture of an audit: bounds over the queries, and their means over the loss."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from directrank.audit.rows import Audit

WIDTH, HEIGHT = 960, 460
LEFT, RIGHT, TOP, BOTTOM = 50, 470, 40, 410
BARS_LEFT, BARS_RIGHT = 690, 930
COLOURS = ("#0b6e99", "#c8553d", "#588b8b", "#8f5fa8", "#d99a1c", "#4c72b0", "#7a7a7a", "#2a9d5c", "#b5477e")


def draw(audit: "Audit") -> str:
    """Return an SVG of two panels.

    Left, queries by ascending loss with the value of each bound, as in Figure 1 of the paper with real
    margins; right, the means by kind, as in its Figure 3.
    """
    order = np.argsort(audit.loss, kind="stable")
    top = max(1.0, *(float(np.quantile(row.values, 0.95)) for row in audit.rows)) * 1.05
    marks = [_frame(audit, top)]
    for number, row in enumerate(audit.rows):
        colour = COLOURS[number % len(COLOURS)]
        dash = "" if row.is_bound else ' stroke-dasharray="4 3"'
        marks.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="1.2"{dash} '
            f'points="{_points(row.values[order], top)}"><title>{escape(row.name)}</title></polyline>'
        )
    marks.append(
        f'<polyline fill="none" stroke="#111" stroke-width="2.2" points="{_points(audit.loss[order], top)}"/>'
    )
    marks += _bars(audit)
    body = "\n".join(marks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" role="img">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _points(values: np.ndarray, top: float) -> str:
    x = np.linspace(LEFT, RIGHT, len(values)) if len(values) > 1 else np.array([(LEFT + RIGHT) / 2])
    y = BOTTOM - (BOTTOM - TOP) * np.clip(values, 0.0, top) / top
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _frame(audit: "Audit", top: float) -> str:
    title = f"1 - {escape(audit.measure)} and what bounds it, {len(audit.qid)} queries"
    marks = [
        f'<text x="{LEFT}" y="22">{title}</text>',
        f'<text x="{BARS_LEFT - 190}" y="22">means</text>',
        f'<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="#888"/>',
        f'<text x="{LEFT}" y="{BOTTOM + 20}">queries by ascending loss</text>',
    ]
    for value in np.linspace(0.0, top, 5):
        y = BOTTOM - (BOTTOM - TOP) * value / top
        marks.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    return "\n".join(marks)


def _bars(audit: "Audit") -> list[str]:
    """One bar a row, grouped by kind, over a line where the loss is."""
    means = [float(row.values.mean()) for row in audit.rows]
    most = max([*means, float(audit.loss.mean())]) or 1.0
    step = min(30.0, (BOTTOM - TOP) / (len(means) + 1))
    marks, y = [], TOP + 4.0
    loss = BARS_LEFT + (BARS_RIGHT - BARS_LEFT) * float(audit.loss.mean()) / most
    entries = [("1 - E, the loss", "#111", float(audit.loss.mean()))] + [
        (f"{row.kind}: {row.name}", COLOURS[number % len(COLOURS)], mean)
        for number, (row, mean) in enumerate(zip(audit.rows, means, strict=True))
    ]
    for label, colour, mean in entries:
        width = (BARS_RIGHT - BARS_LEFT) * mean / most
        marks.append(
            f'<text x="{BARS_LEFT - 6}" y="{y + 11:.1f}" text-anchor="end" font-size="10">'
            f"{escape(label)}</text>"
        )
        marks.append(
            f'<rect x="{BARS_LEFT}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{0.6 * step:.1f}" '
            f'fill="{colour}"><title>{mean:.4f}</title></rect>'
        )
        y += step
    marks.append(f'<path d="M{loss:.1f} {TOP}V{y:.1f}" stroke="#111" stroke-dasharray="2 2"/>')
    return marks
