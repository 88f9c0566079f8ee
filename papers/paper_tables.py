"""Rows of published and reproduced numbers, their CSV files, and a summary of a paper in Markdown."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = (
    "collection",
    "method",
    "measure",
    "published",
    "ours",
    "difference",
    "standard_error",
    "paired_error",
    "reason",
)
#: Paired standard errors beyond which a difference needs a reason.
LARGE = 2.0
#: The error of a published number is not known: the yardstick is that of a difference between our methods.
SMALL = "within two standard errors between our methods"
ERRORS = (
    "Standard error: of our mean over queries. Paired error: the median standard error of the difference "
    "between this method and our others on the same queries. The published numbers have no such error; "
    "`difference` is compared with ours."
)


@dataclass(frozen=True)
class Row:
    """One number of a paper.

    Attributes
    ----------
    collection, method, measure : str
    published, ours : float, str or None
        A number, or the text of a statement; None if there is no such number.
    standard_error : float, optional
        Standard error of our mean over queries.
    paired_error : float, optional
        Standard error of a difference between two methods on the same queries, for `difference`.
    reason : str
        Why the difference is large, or why our number is missing.
    """

    collection: str
    method: str
    measure: str
    published: float | str | None = None
    ours: float | str | None = None
    standard_error: float | None = None
    paired_error: float | None = None
    reason: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus published, where both are numbers."""
        if isinstance(self.ours, (int, float)) and isinstance(self.published, (int, float)):
            return self.ours - self.published
        return None

    @property
    def is_large(self) -> bool:
        """Whether the difference exceeds `LARGE` paired standard errors."""
        if self.difference is None or self.paired_error is None:
            return False
        return abs(self.difference) > LARGE * self.paired_error

    @property
    def told(self) -> str:
        """The text of the last column: the reason, or `SMALL` if the difference is within its error."""
        if self.difference is not None and self.paired_error is not None and not self.is_large:
            return SMALL
        return self.reason

    def cells(self) -> list[str]:
        """Return the row as text, in the order of `COLUMNS`."""
        numbers = (self.published, self.ours, self.difference, self.standard_error, self.paired_error)
        signed = [_cell_text(each, "+" if place == 2 else "") for place, each in enumerate(numbers)]
        return [self.collection, self.method, self.measure, *signed, self.told]


def _cell_text(value: float | str | None, sign: str = "") -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:{sign}.0f}"
    digits = 5 if 0 < abs(value) < 0.001 and not sign else 4
    return f"{value:{sign}.{digits}f}"


@dataclass(frozen=True)
class Table:
    """Rows under a title, written to NAME.csv; the summary shows the measures in `listed`, or all."""

    name: str
    title: str
    rows: Sequence[Row]
    note: str = ""
    listed: Sequence[str] = field(default=())

    def markdown(self) -> str:
        """Return the title, the note and the rows in Markdown."""
        rows = [row for row in self.rows if not self.listed or row.measure in self.listed]
        lines = [f"### {self.title}", ""]
        if self.note:
            lines += [self.note, ""]
        lines += markdown_rows([_heading(each) for each in COLUMNS], [row.cells() for row in rows])
        if len(rows) < len(self.rows):
            lines += ["", f"{len(self.rows) - len(rows)} more rows are in `{self.name}.csv`."]
        return "\n".join([*lines, ""])


def markdown_rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]


def _heading(column: str) -> str:
    return column.replace("_", " ")


def _cell(text: str) -> str:
    # A vertical bar would end the cell, and the name of a folder may look like an HTML tag.
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text.replace("|", "\\|"))


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def publish(
    out: Path, head: str, tables: Sequence[Table], figures: Mapping[str, str], *, command: str, short: str,
    shown: Sequence[str] = (),
) -> str:  # fmt: skip
    """Write every table and figure and `summary.md` into a folder; print and return the summary.

    Parameters
    ----------
    out : Path
    head : str
        The heading of the summary.
    tables : sequence of Table
    figures : mapping of str to str
        SVG text by the name of its file without extension.
    command : str
        The command that reproduces the tables and figures.
    short : str
        The findings in a few sentences, computed from the rows of the tables.
    shown : sequence of str, optional
        Lines of a table that stand below them.
    """
    out.mkdir(parents=True, exist_ok=True)
    for table in tables:
        write_rows(out / f"{table.name}.csv", COLUMNS, [row.cells() for row in table.rows])
    for name, picture in figures.items():
        (out / f"{name}.svg").write_text(picture, encoding="utf-8")
    parts = [f"## {head}", "", f"`{command}`", "", _cell(short), ""]
    parts += [*shown, ""] if shown else []
    if figures:
        parts += ["Figures: " + ", ".join(f"`{name}.svg`" for name in figures) + ".", ""]
    text = "\n".join([*parts, *(table.markdown() for table in tables)])
    (out / "summary.md").write_text(text, encoding="utf-8")
    print(text)
    return text


def agreement(rows: Iterable[Row]) -> str:
    """Return how many published numbers differ from ours by no more than our methods do among themselves."""
    known = [row for row in rows if row.difference is not None and row.paired_error is not None]
    near = sum(not row.is_large for row in known)
    return (
        f"{near} of {len(known)} published values differ from ours by at most two standard errors of a "
        "difference between our own methods"
    )


def in_errors(difference: float, error: float) -> str:
    """Return a difference as a multiple of its standard error, in words."""
    ratio = abs(difference) / error if error > 0 else 0.0
    if ratio <= LARGE:
        return f"within noise ({ratio:.1f} standard errors)"
    return f"{'above' if difference > 0 else 'below'} by {ratio:.1f} standard errors"
