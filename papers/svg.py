"""Charts as SVG text: curves, and rows of dots with their errors."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 66, 24, 46, 54
LEGEND = 226
#: Between two rows of dots, in pixels, and of a heading in such steps.
STEP, HEADING = 19, 1.7
INK, GREY, FAINT = "#1d2530", "#5b6572", "#e3e6ea"
#: Okabe and Ito's, told apart by colour-blind readers; then two greys.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#8d4f9f", "#a97900", "#3b9bd0", "#6b6b6b", "#222222")


@dataclass(frozen=True)
class Curve:
    """Points (x, y) in order; a reference is drawn dashed, a strong curve thick."""

    points: Sequence[tuple[float, float]]
    reference: bool = False
    strong: bool = False


@dataclass(frozen=True)
class Dot:
    """A value with half the width of its whisker, and a published value to stand beside; either may lack."""

    label: str
    value: float | None
    error: float = 0.0
    published: float | None = None


def round_marks(low: float, high: float, most: int = 6) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten between two numbers, at most so many steps apart."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * times for times in (1, 2, 5, 10) if (high - low) / (power * times) <= most)
    return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


class _Axis:
    """From values to places, the range wider than the values by a share of its width at each end."""

    def __init__(self, values: Sequence[float], first: float, last: float, *, from_zero=False, spare=0.05):
        low, high = min(values), max(values)
        low = min(low, 0.0) if from_zero else low
        wider = spare * (high - low) if high > low else 0.05 * abs(high) or 0.05
        self.low, self.high = low if from_zero else low - wider, high + wider
        self.first, self.last = first, last

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.first + share * (self.last - self.first), 1)

    def marks(self, most: int) -> list[tuple[float, str]]:
        values = round_marks(self.low, self.high, most)
        step = values[1] - values[0] if len(values) > 1 else 1.0
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(self.at(each), f"{each:.{decimals}f}".replace("-", "−")) for each in values]


class _Logarithmic(_Axis):
    """From positive values to places by their logarithm, with marks where one says."""

    def __init__(self, marks: Sequence[float], first: float, last: float):
        super().__init__([math.log(each) for each in marks], first, last, spare=0.0)
        self.marked = marks

    def at(self, value: float) -> float:
        return super().at(math.log(value))

    def marks(self, most: int) -> list[tuple[float, str]]:
        return [(self.at(each), f"{each:g}") for each in self.marked]


def _text(x, y, text: str, *, anchor="start", size=12, colour=INK, more="") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{more}>'
        f"{escape(text)}</text>"
    )


def _picture(height: int, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="system-ui, Arial, sans-serif" role="img" '
        f'aria-label="{escape(title)}">'
    )
    back = f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
    return "\n".join([head, back, _text(16, 25, title, size=15), *parts, "</svg>\n"])


def line_chart(
    title: str, across: str, up: str, curves: Mapping[str, Curve], *,
    from_zero: bool = True, logarithmic: Sequence[float] = (),
) -> str:  # fmt: skip
    """Return a picture of curves, listed beside it in their order.

    Parameters
    ----------
    title, across, up : str
        Of the picture and of its axes.
    curves : mapping of str to Curve
        With at least two different x in all.
    from_zero : bool, default=True
        Whether the upright axis begins at 0 or just below the least value.
    logarithmic : sequence of float, optional
        Marks, from the least x to the largest, of an axis across that goes by the logarithm.
    """
    points = [point for each in curves.values() for point in each.points]
    height = max(HEIGHT, TOP + 20 * len(curves) + BOTTOM)
    x = _Axis([each for each, _ in points], LEFT, WIDTH - LEGEND, spare=0.0)
    if logarithmic:
        x = _Logarithmic(logarithmic, LEFT, WIDTH - LEGEND)
    y = _Axis([each for _, each in points], height - BOTTOM, TOP, from_zero=from_zero)
    parts = _frame(across, up, x, y)
    for number, (name, curve) in enumerate(curves.items()):
        parts += _drawn(curve, name, number, x, y)
    return _picture(height, title, parts)


def _frame(across: str, up: str, x: "_Axis", y: "_Axis") -> list[str]:
    middle = (y.first + y.last) / 2
    parts = [
        _text((x.first + x.last) / 2, y.first + 40, across, anchor="middle", colour=GREY),
        _text(18, middle, up, anchor="middle", colour=GREY, more=f' transform="rotate(-90 18 {middle:g})"'),
    ]
    for at, text in y.marks(8):
        parts.append(f'<path d="M{x.first} {at}H{x.last}" stroke="{FAINT}"/>')
        parts.append(_text(x.first - 8, at + 4, text, anchor="end"))
    for at, text in x.marks(10):
        parts.append(f'<path d="M{at} {y.first}v4" stroke="{GREY}"/>')
        parts.append(_text(at, y.first + 19, text, anchor="middle"))
    return [*parts, f'<path d="M{x.first} {y.first}H{x.last}" stroke="{GREY}"/>']


def _drawn(curve: Curve, name: str, number: int, x: _Axis, y: _Axis) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    dashes = ' stroke-dasharray="6 4"' if curve.reference else ""
    stroke = f'stroke="{colour}" stroke-width="{3 if curve.strong else 1.7}"{dashes}'
    path = " ".join(f"{x.at(a)},{y.at(b)}" for a, b in curve.points)
    at = TOP + 8 + 20 * number
    return [
        f'<polyline points="{path}" fill="none" stroke-linejoin="round" {stroke}/>',
        f'<path d="M{WIDTH - LEGEND + 16} {at}h26" {stroke}/>',
        _text(WIDTH - LEGEND + 50, at + 4, name),
    ]


def dot_chart(
    title: str, across: str, blocks: Mapping[str, Sequence[Dot]], *, from_zero: bool = False
) -> str:
    """Return a picture of values in rows, in blocks under headings.

    A filled dot is ours, with its whisker; a hollow diamond is what was published.

    Parameters
    ----------
    title, across : str
        Of the picture and of its axis.
    blocks : mapping of str to sequence of Dot
        With at least one value.
    from_zero : bool, default=False
        Whether the axis begins at 0 or just below the least value.
    """
    dots = [dot for block in blocks.values() for dot in block]
    height = round(TOP + 30 + STEP * (len(dots) + HEADING * sum(bool(name) for name in blocks)) + BOTTOM)
    left = 40 + round(max(_width(dot.label) for dot in dots))
    axis = _Axis(_ends(dots), left, WIDTH - RIGHT, from_zero=from_zero)
    parts, y = _scale(across, axis, height - BOTTOM), TOP + 20.0
    for name, block in blocks.items():
        if name:
            parts.append(_text(16, y + 0.6 * STEP + 4, name, more=' font-weight="600"'))
            y += HEADING * STEP
        for dot in block:
            parts += _row(dot, axis, left, round(y, 1))
            y += STEP
    key = _key(any(dot.error for dot in dots)) if any(dot.published is not None for dot in dots) else []
    return _picture(height, title, [*parts, *key])


def _width(text: str) -> float:
    # A little more than sans-serif letters of 12 pixels take.
    return sum(9.0 if letter.isupper() else 7.0 for letter in text)


def _ends(dots: Sequence[Dot]) -> list[float]:
    ends = [dot.value + side * dot.error for dot in dots if dot.value is not None for side in (-1, 1)]
    return ends + [dot.published for dot in dots if dot.published is not None]


def _scale(across: str, axis: _Axis, bottom: float) -> list[str]:
    parts = [_text((axis.first + axis.last) / 2, bottom + 40, across, anchor="middle", colour=GREY)]
    for at, text in axis.marks(8):
        parts.append(f'<path d="M{at} {TOP + 14}V{bottom}" stroke="{FAINT}"/>')
        parts.append(_text(at, bottom + 18, text, anchor="middle"))
    if axis.low < 0 < axis.high:
        parts.append(f'<path d="M{axis.at(0.0)} {TOP + 14}V{bottom}" stroke="{GREY}"/>')
    return parts


def _row(dot: Dot, axis: _Axis, left: float, y: float) -> list[str]:
    parts = [_text(left - 14, y + 4, dot.label, anchor="end")]
    if dot.value is not None:
        low, high = axis.at(dot.value - dot.error), axis.at(dot.value + dot.error)
        parts.append(f'<path d="M{low} {y}H{high}" stroke="{COLOURS[0]}" stroke-width="1.6"/>')
        parts.append(f'<circle cx="{axis.at(dot.value)}" cy="{y}" r="4" fill="{COLOURS[0]}"/>')
    if dot.published is not None:
        parts.append(_diamond(axis.at(dot.published), y))
    return parts


def _diamond(x: float, y: float) -> str:
    return f'<path d="M{x} {y - 5}l5 5l-5 5l-5 -5z" fill="none" stroke="{COLOURS[1]}" stroke-width="1.8"/>'


def _key(errors: bool) -> list[str]:
    ours = "ours, ± one standard error" if errors else "ours"
    at = WIDTH - 300
    return [
        f'<circle cx="{at}" cy="44" r="4" fill="{COLOURS[0]}"/>', _text(at + 10, 48, ours),
        _diamond(WIDTH - 92, 44), _text(WIDTH - 80, 48, "published"),
    ]  # fmt: skip
