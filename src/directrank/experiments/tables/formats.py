"""Tables as text, Markdown, LaTeX, CSV and JSON; every text is escaped for where it goes."""

import csv
import io
import os
from collections.abc import Callable
from pathlib import Path

from directrank.experiments.results import Comparison
from directrank.experiments.tables.layout import Table, headline, plain
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import as_plain, dump

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
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
# Blanks of lines would end a row of a table.
MARKDOWN = str.maketrans(
    {each: f"\\{each}" for each in "\\|`*_[]#~$"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "}
)
CONTRASTS = (
    "measure", "method", "baseline", "queries", "difference", "low", "high", "effect", "wins", "ties",
    "losses", "p_t", "p_randomisation", "p_holm", "p_bh",
)  # fmt: skip


def markdown(table: Table) -> str:
    """Return a table of GitHub's Markdown: best in bold, letters raised."""
    head = ["method", *(each.translate(MARKDOWN) for each in table.columns)]
    lines = [head, ["---", *["--:"] * len(table.columns)]]
    for row, (label, _) in enumerate(table.rows):
        cells = []
        for column in range(len(table.columns)):
            value, mark = table.shown(row, column) or "failed", table.mark(row, column)
            bold = f"**{value}**" if table.best(row, column) else value
            cells.append(bold + (f"<sup>{mark}</sup>" if mark else ""))
        lines.append([f"{label.translate(MARKDOWN)} {table.letter(row)}".rstrip(), *cells])
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    caption = f"\n\n{table.caption.translate(MARKDOWN)}" if table.caption else ""
    return f"**{table.title.translate(MARKDOWN)}**\n\n{body}{caption}"


def latex(table: Table) -> str:
    """Return a table for LaTeX with the package booktabs: best in bold, letters raised."""
    lines = []
    for row, (label, _) in enumerate(table.rows):
        cells = [f"{label.translate(LATEX)} {table.letter(row)}".rstrip()]
        for column in range(len(table.columns)):
            value, mark = table.shown(row, column) or "--", table.mark(row, column)
            bold = rf"\textbf{{{value}}}" if table.best(row, column) else value
            cells.append(bold + (rf"\textsuperscript{{{mark}}}" if mark else ""))
        lines.append(" & ".join(cells) + r" \\")
    head = " & ".join(["method", *(each.translate(LATEX) for each in table.columns)]) + r" \\"
    words = f"{table.title}; {table.caption}" if table.caption else table.title
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{words.translate(LATEX)}}}",
            rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def comma_separated(table: Table) -> str:
    """Return a table as CSV, values with all their digits, empty where a method failed."""
    rows = [
        [label, *("" if value is None else repr(value) for value in values)] for label, values in table.rows
    ]
    return _csv([["method", *table.columns], *rows]).removesuffix("\n")


def as_json(table: Table) -> str:
    """Return a table as JSON: title, columns, and rows with values and letters."""
    rows = [
        {
            "method": label,
            "letter": table.letter(row),
            "values": list(values),
            "better_than": [table.mark(row, column) for column in range(len(table.columns))],
        }
        for row, (label, values) in enumerate(table.rows)
    ]
    return dump(
        as_plain(
            {"title": table.title, "caption": table.caption, "columns": list(table.columns), "rows": rows}
        )
    )


FORMATS: dict[str, Callable[[Table], str]] = {
    "text": plain,
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
    "json": as_json,
}


def contrasts_csv(result: Comparison, convention: str) -> str:
    """Return every tested pair of methods as CSV, a line a measure and pair."""
    tested = result.summary["significance"][convention]["pairs"]
    rows = [
        [measure, *(_digits(pair[name]) for name in CONTRASTS[1:])]
        for measure, pairs in tested.items()
        for pair in pairs
    ]
    return _csv([list(CONTRASTS), *rows])


def write_tables(result: Comparison, folder: str | os.PathLike) -> None:
    """Write the headline table of the asked convention as table.txt, .md and .tex, and significance.csv.

    Raises
    ------
    OSError
        If the folder cannot be written; each file is whole or as it was.
    """
    folder, convention = Path(folder), result.conventions[0]
    table = headline(result, convention)
    for ending, form in (("txt", plain), ("md", markdown), ("tex", latex)):
        write_atomically(folder / f"table.{ending}", form(table) + "\n")
    write_atomically(folder / "significance.csv", contrasts_csv(result, convention))


def _digits(value) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _csv(rows) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
