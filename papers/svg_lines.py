"""A line chart as SVG text: some named series over the same whole numbers."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 60, 210, 40, 50
COLOURS = (
    "#1b6ca8",
    "#c4442e",
    "#3a8f4d",
    "#8a5aa8",
    "#b8860b",
    "#4b4f58",
    "#1f9e9e",
    "#d0679d",
    "#7a7f00",
    "#333",
)


def line_chart(
    title: str, across: str, up: str, xs: Sequence[int], series: Mapping[str, Sequence[float]]
) -> str:
    """Return the chart; series are drawn and listed in the order given.

    Parameters
    ----------
    title, across, up : str
        Of the chart and of its axes.
    xs : sequence of int
        At least two.
    series : mapping of str to sequence of float
        A name that begins with ``*`` is drawn thick, without the star.
    """
    values = [value for each in series.values() for value in each]
    step = 0.02
    low, high = step * int(min(values) / step), step * (int(max(values) / step) + 1)

    def x(value):
        return LEFT + (value - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - LEFT - RIGHT)

    def y(value):
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">'
        f"{escape(across)}</text>",
        f'<text x="16" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 {HEIGHT / 2})">'
        f"{escape(up)}</text>",
    ]
    for k in range(round((high - low) / step) + 1):
        at = low + k * step
        parts.append(
            f'<path d="M{LEFT} {y(at):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            f'<text x="{LEFT - 8}" y="{y(at) + 4:.1f}" text-anchor="end">{at:.2f}</text>'
        )
    parts += [f'<text x="{x(k):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{k}</text>' for k in xs]
    for number, (name, line) in enumerate(series.items()):
        colour, thick = COLOURS[number % len(COLOURS)], 3 if name.startswith("*") else 1.4
        path = " ".join(f"{x(k):.1f},{y(value):.1f}" for k, value in zip(xs, line, strict=True))
        at = TOP + 18 * number
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{thick}"/>')
        parts.append(
            f'<path d="M{WIDTH - RIGHT + 16} {at}h22" stroke="{colour}" stroke-width="{thick}"/>'
            f'<text x="{WIDTH - RIGHT + 44}" y="{at + 4}">{escape(name.lstrip("*"))}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])
