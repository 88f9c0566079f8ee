"""Blocks of a section, as HTML in which every text is escaped."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from directrank.apps.experiments import Table
from directrank.apps.report.charts import Line, Scale, axis, dot_row, element, lines_of, typographic


def number(value: float) -> str:
    """Return a value with the decimals of the tables."""
    return f"{value:.{Table.decimals}f}"


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return typographic(f"{value:+.{Table.decimals}f}")


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def enumerated(items: Sequence[str]) -> list[str]:
    """Return items with what stands between them: commas, and an "and" before the last."""
    pieces = []
    for place, item in enumerate(items):
        pieces += [("" if not place else " and " if place == len(items) - 1 else ", "), item]
    return pieces


#: Longer lists are folded.
FEW = 7


def paragraph(*pieces: str, role: str = "") -> Markup:
    """Return a paragraph; `role` is ``lead``, ``note`` or empty."""
    return element("p", {"class": role}, *pieces)


def note(text: str) -> Markup:
    """Return a paragraph in small print."""
    return paragraph(text, role="note")


def named(text: str, tag: str = "span") -> Markup:
    """Return a name within a paragraph; it does not break across lines."""
    return element(tag, {"class": "name"}, text)


def heading(text: str) -> Markup:
    """Return a heading within a section."""
    return element("h3", {}, text)


def warned(title: str, lines: Sequence[str] = ()) -> Markup:
    """Return a box with a warning."""
    items = [element("ul", {}, *(element("li", {}, line) for line in lines))] if lines else []
    return element("div", {"class": "box", "role": "note"}, element("strong", {}, title), *items)


def terms(pairs: Sequence[tuple[str, str]]) -> Markup:
    """Return words with their definitions."""
    return element("dl", {}, *(element("dt", {}, word) + element("dd", {}, text) for word, text in pairs))


def details(summary: str, *blocks: Markup, method: int | None = None) -> Markup:
    """Return blocks that a reader can open and close."""
    return element("details", {"data-m": method}, element("summary", {}, summary), "\n", lines_of(blocks))


def gathered(summary: str, parts: Sequence[Markup | None]) -> list[Markup]:
    """Return the blocks that exist; many of them behind one more line."""
    blocks = [block for block in parts if block is not None]
    return [details(summary, *blocks)] if len(blocks) > FEW else blocks


def variant(*blocks: Markup, convention: str | None = None, measure: str | None = None) -> Markup:
    """Return blocks for one convention or measure; the script shows those that the reader has chosen."""
    chosen = {"data-convention": convention, "data-measure": measure}
    return element("div", {"class": "variant", **chosen}, lines_of(blocks))


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Rows are sorted by `value`, the number behind the text. `mark` follows in small letters, `title` shows
    when the pointer is on the cell, and `tone` is a class: ``long``, ``failed``, or a shade ``up0 … up9``,
    ``down0 … down9``. A `bar` has start and end in percent of the column's width, and a class.
    """

    text: str
    value: float | None = None
    best: bool = False
    mark: str = ""
    tone: str = ""
    title: str = ""
    bar: tuple[float, float, str] | None = None


#: A cell without a value, and one of a method that failed.
NOTHING, FAILED = Cell("–"), Cell("failed", tone="failed")


def score(value: float | None) -> Cell:
    """Return a cell with a value in [0, 1]."""
    return NOTHING if value is None else Cell(number(value), value)


def printed(table: Table, row: int, column: int, mark: str = "", title: str = "") -> Cell:
    """Return a cell of a table of values."""
    value = table.rows[row][1][column]
    if value is None:
        return FAILED
    return Cell(table.text(row, column), value, table.best(row, column), mark, title=title)


@dataclass(frozen=True)
class Column:
    """A heading; `title` is shown when the pointer is on it, `order` says how the rows are sorted by it."""

    text: str
    title: str = ""
    order: str = ""


@dataclass(frozen=True)
class Row:
    """A row, its heading first; `method` is the index of the method that it is about."""

    cells: Sequence[Cell]
    method: int | None = None
    letter: str = ""


def grid(
    caption: str,
    columns: Sequence[str | Column],
    rows: Sequence[Row],
    *,
    sortable: bool = True,
    name: str = "",
    exact: bool = False,
) -> Markup:
    """Return a table; columns without numbers are aligned left.

    The script sorts a sortable one by any column. `exact` values have all their digits, others six for
    sorting.
    """
    alignment = [
        "" if any(row.cells[at].value is not None and not row.cells[at].bar for row in rows) else "left"
        for at in range(len(columns))
    ]
    head = [
        element(
            "th",
            {"scope": "col", "class": side, "title": column.title, "aria-sort": column.order},
            column.text,
        )
        for column, side in zip(
            (Column(c) if isinstance(c, str) else c for c in columns), alignment, strict=True
        )
    ]
    table = element(
        "table",
        {"aria-label": caption, "class": "sortable" if sortable else "", "data-table": name},
        element("thead", {}, element("tr", {}, *head)),
        element("tbody", {}, lines_of(_row(row, alignment, exact) for row in rows)),
    )
    region = {"class": "scroll", "tabindex": 0, "role": "region", "aria-label": caption}
    return lines_of([paragraph(caption, role="caption"), element("div", region, table)])


def _row(row: Row, alignment: Sequence[str], exact: bool) -> Markup:
    first = element("th", {"scope": "row"}, row.cells[0].text, _small(row.letter))
    cells = [_cell(cell, side, exact) for cell, side in zip(row.cells[1:], alignment[1:], strict=True)]
    return element("tr", {"data-m": row.method}, first, *cells)


def _cell(cell: Cell, side: str, exact: bool) -> Markup:
    style = " ".join(filter(None, (side, cell.tone, "best" if cell.best else "")))
    value = None if cell.value is None else str(cell.value) if exact else f"{cell.value:.6g}"
    bar = Markup("")
    if cell.bar:
        start, end, kind = cell.bar
        place = {"x": f"{start:.2f}%", "width": f"{max(end - start, 0.4):.2f}%", "height": 8}
        bar = element(
            "svg", {"class": f"bar {kind}", "height": 8, "aria-hidden": "true"}, element("rect", place)
        )
    attributes = {"class": style, "data-value": value, "title": cell.title}
    return element("td", attributes, cell.text, _small(cell.mark), bar)


def _small(text: str) -> Markup:
    return element("small", {}, text) if text else Markup("")


def figure(drawing: Markup, caption: str, lines: Sequence[Line], numbers: Markup | None = None) -> Markup:
    """Return a drawing of lines with their key, and its numbers as a table."""
    sample = element("line", {"x1": 0, "x2": 24, "y1": 5, "y2": 5})
    sample = element("svg", {"width": 24, "height": 10, "aria-hidden": "true"}, sample)
    key = [
        element("li", {"data-m": line.method, "class": line.style}, sample, named(line.label))
        for line in lines
    ]
    more = [details("The numbers", numbers)] if numbers else []
    text = element("figcaption", {}, caption)
    return element("figure", {}, lines_of([drawing, element("ul", {"class": "key"}, *key), text, *more]))


@dataclass(frozen=True)
class DotRow:
    """A row of a chart of dots: a method, what is drawn of it, and its mean; `style` is a class.

    The mean is printed with the decimals of measures, unless `shown` says how.
    """

    label: str
    method: int | None
    dots: Sequence[float]
    line: float | None
    interval: tuple[float, float] | None
    mean: float | None
    style: str = ""
    shown: str = ""


def dots(title: str, caption: str, scale: Scale, rows: Sequence[DotRow]) -> Markup:
    """Return a chart with a row for each method, on a common axis."""

    def drawn(style: str, method: int | None, name: str, drawing: Markup, text: str) -> Markup:
        parts = (("label", name), ("axis", drawing), ("shown", text))
        cells = [element("div", {"class": part}, content) for part, content in parts]
        return element("div", {"class": f"row {style}", "data-m": method}, *cells)

    drawings = [
        drawn(
            row.style, row.method, row.label, dot_row(scale, row.dots, row.line, row.interval),
            row.shown or ("failed" if row.mean is None else number(row.mean)),
        )
        for row in rows
    ]  # fmt: skip
    chart = {"class": "dots", "role": "img", "aria-label": title}
    foot = drawn("foot", None, "", axis(scale), "")
    return element(
        "figure", {}, element("div", chart, lines_of([*drawings, foot])), element("figcaption", {}, caption)
    )
