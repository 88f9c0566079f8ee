"""What a paper printed beside what we find: rows, their files, and one summary in Markdown."""

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
SMALL = "within two standard errors"
ERRORS = (
    "Standard error: of our mean over queries. Paired error: the median standard error of the difference "
    "between this method and the others on the same queries, which a difference is to be read with."
)


@dataclass(frozen=True)
class Row:
    """One number of a paper.

    Attributes
    ----------
    collection, method, measure : str
    published, ours : float, str or None
        A statement may be text; None where there is none.
    standard_error : float, optional
        Of our mean over queries.
    paired_error : float, optional
        Of a difference between two methods on the same queries: what `difference` is to be read with.
    reason : str
        Why the difference is large, or why there is none to give.
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
        """The reason: that given, unless a difference with an error is small."""
        if self.difference is not None and self.paired_error is not None and not self.is_large:
            return SMALL
        return self.reason

    def cells(self) -> list[str]:
        """Return the row as text, in the order of `COLUMNS`."""
        numbers = (self.published, self.ours, self.difference, self.standard_error, self.paired_error)
        signed = [_shown(each, "+" if place == 2 else "") for place, each in enumerate(numbers)]
        return [self.collection, self.method, self.measure, *signed, self.told]


def _shown(value: float | str | None, sign: str = "") -> str:
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
    """Some rows under a title, kept as NAME.csv; `listed` says which measures the summary lists (all)."""

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
        lines += ["| " + " | ".join(_heading(each) for each in COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
        lines += ["| " + " | ".join(map(_cell, row.cells())) + " |" for row in rows]
        if len(rows) < len(self.rows):
            lines += ["", f"{len(self.rows) - len(rows)} more rows are in `{self.name}.csv`."]
        return "\n".join([*lines, ""])


def _heading(column: str) -> str:
    return column.replace("_", " ")


def _cell(text: str) -> str:
    # A bar would end the cell, and a name of a folder may look like a tag.
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text.replace("|", "\\|"))


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def publish(
    out: Path, head: str, tables: Sequence[Table], figures: Mapping[str, str], *, command: str
) -> str:
    """Write every table and figure and `summary.md` into a folder; print and return the summary.

    Parameters
    ----------
    out : Path
    head : str
        A heading, and what the reader must know first.
    tables : sequence of Table
    figures : mapping of str to str
        SVG text by the name of its file, without its ending.
    command : str
        What makes all of it.
    """
    out.mkdir(parents=True, exist_ok=True)
    for table in tables:
        write_rows(out / f"{table.name}.csv", COLUMNS, [row.cells() for row in table.rows])
    for name, picture in figures.items():
        (out / f"{name}.svg").write_text(picture, encoding="utf-8")
    parts = [f"## {head}", "", f"`{command}`", ""]
    if figures:
        parts += ["Figures: " + ", ".join(f"`{name}.svg`" for name in figures) + ".", ""]
    text = "\n".join([*parts, *(table.markdown() for table in tables)])
    (out / "summary.md").write_text(text, encoding="utf-8")
    print(text)
    return text
