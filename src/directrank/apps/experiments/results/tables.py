"""Tables of a comparison, and the formats that they are written in."""

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

from directrank.apps.experiments.store.records import Pair
from directrank.storage.strict_json import as_plain, dump


class Printed(NamedTuple):
    """A value as printed: its text, whether it is the best of its column, and its mark."""

    text: str
    best: bool
    mark: str


@dataclass(frozen=True)
class Table:
    """A table of values in [0, 1]: a label a row, None where a method failed.

    `errors` says of which columns smaller is better, None where no value is, `letters` are those of the rows
    if differences were tested, and `marks`, of each row and column, the letters of the rows that this one is
    significantly better than. The rows of `unfinished` labels, of which a model did not converge, are printed
    with a dagger.
    """

    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    errors: Sequence[bool | None]
    letters: Sequence[str] = ()
    marks: Sequence[Sequence[str]] = ()
    unfinished: Collection[str] = ()
    #: Decimals of a printed value, and what is behind the label of an unfinished row.
    decimals: ClassVar[int] = 4
    dagger: ClassVar[str] = "†"

    def best(self, row: int, column: int) -> bool:
        """Whether a value is printed the same as the best of its column, among two or more rows."""
        values = [self.text(row, column) for row in range(len(self.rows))]
        present, error = [value for value in values if value], self.errors[column]
        best = min if error else max
        return error is not None and len(present) > 1 and values[row] == best(present)

    def text(self, row: int, column: int) -> str:
        """Return a value as printed, or an empty text."""
        value = self.rows[row][1][column]
        return "" if value is None else f"{value:.{self.decimals}f}"

    def mark(self, row: int, column: int) -> str:
        """Return ``>ac`` for a value significantly better than those of methods (a) and (c)."""
        letters = self.marks[row][column] if self.marks else ""
        return f">{letters}" if letters else ""

    def letter(self, row: int) -> str:
        """Return the letter of a row as printed after its label, in parentheses."""
        return f"({self.letters[row].strip('()')})" if self.letters and self.letters[row] else ""

    def as_text(self, form: str = "text") -> str:
        """Return the table as text, markdown, latex, csv or json."""
        return FORMATS[form](self)

    def printed(self, failed: str = "failed") -> list[tuple[str, list[Printed]]]:
        """Return label and letter, and printed values, of every row; `failed` is printed for no value."""
        columns, printed = range(len(self.columns)), []
        for row, (label, _) in enumerate(self.rows):
            cells = [
                Printed(self.text(row, c) or failed, self.best(row, c), self.mark(row, c)) for c in columns
            ]
            marked = label + self.dagger * (label in self.unfinished)
            printed.append((f"{marked} {self.letter(row)}".rstrip(), cells))
        return printed


LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "\n": " ",
        "\r": " ",
    }
)
# A line break would end a row of a table.
MARKDOWN = str.maketrans(
    {letter: f"\\{letter}" for letter in "\\|`*_[]#~$"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "}
)
HTML = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&#x27;"})
#: Columns of significance.csv, behind that of the measure.
CONTRASTS = tuple(column.name for column in fields(Pair))


def aligned(lines: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    """Return lines of cells as lines of text in columns, the `numbers` behind the first to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if numbers and place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def plain_text(table: Table) -> str:
    """Return a table as lines of text; ``*`` marks the best of a column."""
    rows = table.printed()
    widths = [max(len(cells[at].mark) for _, cells in rows) for at in range(len(table.columns))]
    # A column with marks has a space and its longest mark after the numbers.
    widths = [width + (width > 0) for width in widths]
    lines = [
        ["method", *(f"{column} {' ' * width}" for column, width in zip(table.columns, widths, strict=True))]
    ]
    for label, cells in rows:
        values = [cell.text + ("*" if cell.best else " ") for cell in cells]
        marks = [f" {cell.mark}".ljust(width)[:width] for cell, width in zip(cells, widths, strict=True)]
        lines.append([label, *map(str.__add__, values, marks)])
    caption = [f"({table.caption}; * best)"] if table.caption else []
    return "\n".join([table.title, *aligned(lines, numbers=True), *caption])


def markdown(table: Table) -> str:
    """Return a table in GitHub's Markdown: best in bold."""
    head, *rows = _marked_up(table, MARKDOWN, "**{}**", "failed")
    lines = [head, ["---", *["--:"] * len(table.columns)], *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    caption = f"\n\n{table.caption.translate(MARKDOWN)}" if table.caption else ""
    return f"**{table.title.translate(MARKDOWN)}**\n\n{body}{caption}"


def latex(table: Table) -> str:
    """Return a table for LaTeX with the package booktabs: best in bold, marks as superscripts."""
    lines = _marked_up(table, LATEX, r"\textbf{{{}}}", "--", r"$^{{\mathrm{{{}}}}}$")
    head, *body = (" & ".join(line) + r" \\" for line in lines)
    rows = "\n".join(body)
    words = f"{table.title}; {table.caption}" if table.caption else table.title
    words = words.replace("; >ab: significantly", "; superscripts ab: significantly")
    label = "-".join(re.findall(r"[a-z0-9]+", table.title.lower()))
    return rf"""\begin{{table}}
\centering
\caption{{{words.translate(LATEX)}}}
\label{{tab:{label}}}
\begin{{tabular}}{{l{"r" * len(table.columns)}}}
\toprule
{head}
\midrule
{rows}
\bottomrule
\end{{tabular}}
\end{{table}}"""


def html(table: Table) -> str:
    """Return a table as HTML, best in bold, for notebooks."""
    head, *rows = _marked_up(table, HTML, "<b>{}</b>", "failed")
    lines = [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
    for label, *values in rows:
        cells = "".join(f'<td style="text-align: right">{value}</td>' for value in values)
        lines.append(f'<tr><th style="text-align: left">{label}</th>{cells}</tr>')
    title, caption = table.title.translate(HTML), table.caption.translate(HTML)
    body = "\n".join(lines)
    return f"<table>\n<caption>{title}</caption>\n{body}\n</table>\n<p>{caption}</p>"


def _marked_up(
    table: Table, escapes: dict[int, str], bold: str, failed: str, mark: str = " &gt;{}"
) -> list[list[str]]:
    """Return the headings and rows of a table as cells of a markup language."""
    lines = [["method", *(column.translate(escapes) for column in table.columns)]]
    for label, cells in table.printed(failed):
        values = [bold.format(cell.text) if cell.best else cell.text for cell in cells]
        letters = [cell.mark.removeprefix(">").translate(escapes) for cell in cells]
        marks = [mark.format(better_than) if better_than else "" for better_than in letters]
        lines.append([label.translate(escapes), *map(str.__add__, values, marks)])
    return lines


def comma_separated(table: Table) -> str:
    """Return a table as CSV, values with all their digits, empty where a method failed."""
    rows = ([label, *values] for label, values in table.rows)
    return csv_text(["method", *table.columns], rows).removesuffix("\n")


def as_json(table: Table) -> str:
    """Return a table as JSON: title, caption, columns, and rows with values and letters."""
    rows = [
        {
            "method": label,
            "letter": table.letters[row] if table.letters else "",
            "converged": label not in table.unfinished,
            "values": values,
            "better_than": table.marks[row] if table.marks else [""] * len(values),
        }
        for row, (label, values) in enumerate(table.rows)
    ]
    facts = {"title": table.title, "caption": table.caption, "columns": table.columns, "rows": rows}
    return dump(as_plain(facts))


FORMATS: dict[str, Callable[[Table], str]] = {
    "text": plain_text,
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
    "json": as_json,
}


def contrasts_csv(tested: Mapping[str, Sequence[Pair]]) -> str:
    """Return the tested pairs of methods of each measure as CSV, a line per measure and pair."""
    rows = (
        [measure, *(getattr(pair, name) for name in CONTRASTS)]
        for measure in tested
        for pair in tested[measure]
    )
    return csv_text(["measure", *CONTRASTS], rows)


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a heading and rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
