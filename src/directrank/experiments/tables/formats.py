"""Tables as text, Markdown, LaTeX, CSV and JSON; every text is escaped for its format."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from directrank.experiments.tables.layout import Table
from directrank.storage.strict_json import as_plain, dump

LATEX = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"}
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
    {each: f"\\{each}" for each in "\\|`*_[]#~$"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "}
)
CONTRASTS = (
    "measure", "method", "baseline", "queries", "difference", "low", "high", "effect", "wins", "ties",
    "losses", "p_t", "p_randomisation", "p_holm", "p_bh",
)  # fmt: skip


def aligned(lines: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    """Return lines of cells as lines of text with columns of one width.

    Parameters
    ----------
    lines : sequence of sequence of str
        All of one length.
    numbers : bool, default=False
        Whether columns after the first are aligned to the right.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if numbers and place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def plain(table: Table) -> str:
    """Return a table as lines of text; ``*`` marks the best of a column."""
    rows = table.printed()
    widths = [max(len(cells[at].mark) for _, cells in rows) for at in range(len(table.columns))]
    # A column with marks has a space and its longest mark after the numbers.
    widths = [width + (width > 0) for width in widths]
    lines = [
        ["method", *(f"{each} {' ' * width}" for each, width in zip(table.columns, widths, strict=True))]
    ]
    for label, cells in rows:
        values = [each.text + ("*" if each.best else " ") for each in cells]
        marks = [f" {each.mark}".ljust(width)[:width] for each, width in zip(cells, widths, strict=True)]
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
    """Return a table for LaTeX with the package booktabs: best in bold."""
    lines = _marked_up(table, LATEX, r"\textbf{{{}}}", "--")
    head, *body = (" & ".join(line) + r" \\" for line in lines)
    rows = "\n".join(body)
    words = f"{table.title}; {table.caption}" if table.caption else table.title
    return rf"""\begin{{table}}
\centering
\caption{{{words.translate(LATEX)}}}
\begin{{tabular}}{{l{"r" * len(table.columns)}}}
\toprule
{head}
\midrule
{rows}
\bottomrule
\end{{tabular}}
\end{{table}}"""


def _marked_up(table: Table, escapes: dict[int, str], bold: str, failed: str) -> list[list[str]]:
    """Return the headings and rows of a table as cells of a markup language."""
    lines = [["method", *(each.translate(escapes) for each in table.columns)]]
    for label, cells in table.printed(failed):
        values = [bold.format(each.text) if each.best else each.text for each in cells]
        marks = [f" {each.mark.translate(escapes)}" if each.mark else "" for each in cells]
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
    "text": plain,
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
    "json": as_json,
}


def contrasts_csv(tested: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the tested pairs of methods of each measure as CSV, a line a measure and pair."""
    rows = ({"measure": measure, **pair} for measure, pairs in tested.items() for pair in pairs)
    return csv_text(CONTRASTS, ([row[name] for name in CONTRASTS] for row in rows))


def csv_text(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a heading and rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
