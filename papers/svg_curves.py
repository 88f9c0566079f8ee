"""A picture of some named curves, as SVG text."""

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 680, 400, 70, 150, 44, 52
COLOURS = ("#1b6ca8", "#c4442e", "#3a8f4d", "#8a5aa8", "#b8860b", "#4b4f58")

Curve = Sequence[tuple[float, float]]


def round_marks(low: float, high: float, most: int = 6) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten between two numbers, at most so many steps apart."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * times for times in (1, 2, 5, 10) if (high - low) / (power * times) <= most)
    return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def curves(title: str, across: str, up: str, named: Mapping[str, Curve]) -> str:
    """Return the picture; each curve is a sequence of points (x, y), and y begins at 0.

    Parameters
    ----------
    title, across, up : str
        Of the picture and of its axes.
    named : mapping of str to sequence of (float, float)
        At least two different x in all.
    """
    points = [point for curve in named.values() for point in curve]
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top = max(y for _, y in points) * 1.05 or 1.0

    def place(x, y):
        across = LEFT + (x - left) / (right - left) * (WIDTH - LEFT - RIGHT)
        return f"{across:.1f}", f"{HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">'
        f"{escape(across)}</text>",
        f'<text x="18" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 18 {HEIGHT / 2})">'
        f"{escape(up)}</text>",
    ]
    for mark in round_marks(0.0, top):
        y = place(left, mark)[1]
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y}" dy="4" text-anchor="end">{mark:.4g}</text>')
    for mark in round_marks(left, right, 8):
        x = place(mark, 0.0)[0]
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{mark:g}</text>')
    for number, (name, curve) in enumerate(named.items()):
        colour, at = COLOURS[number % len(COLOURS)], TOP + 10 + 18 * number
        path = " ".join(",".join(place(*point)) for point in curve)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(f'<path d="M{WIDTH - RIGHT + 14} {at}h22" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 42}" y="{at + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])
