"""Blocks of a section: plain data that the template writes down; it escapes every text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from directrank.report.formatting import number

if TYPE_CHECKING:
    from directrank.report.facts import Facts


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes
    ----------
    id : str
        Its anchor.
    title : str
    build : callable
        From the facts to the blocks of the section; a section without blocks is omitted.
    """

    id: str
    title: str
    build: "Callable[[Facts], list[Any]]"


@dataclass(frozen=True)
class Name:
    """A name within a text; it never breaks across lines."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Text:
    """A paragraph of pieces; `role` is ``plain``, ``lead``, ``note``, ``heading`` or ``code``."""

    pieces: Sequence[str | Name]
    role: str = "plain"


def plain(text: str) -> Text:
    """Return a paragraph."""
    return Text([text])


def note(text: str) -> Text:
    """Return a paragraph in small print."""
    return Text([text], "note")


@dataclass(frozen=True)
class Warned:
    """A box with a warning."""

    title: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Terms:
    """Words with their definitions."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
    value : float, optional
        The number behind the text, with all its digits; rows are sorted by it.
    best : bool
        Whether it is the best of its column.
    mark : str
        Superscript letters.
    tone : str
        A class: ``long``, ``failed``, or a shade ``up0 … up9``, ``down0 … down9``.
    title : str
        A longer text, shown when the pointer is on the cell.
    bar : (float, float, str), optional
        Start and end in percent of the column's width, and a class.
    """

    text: str
    value: float | None = None
    best: bool = False
    mark: str = ""
    tone: str = ""
    title: str = ""
    bar: tuple[float, float, str] | None = None


#: Longer lists are folded.
FEW = 7
#: A cell without a value.
NOTHING = Cell("–")


def score(value: float | None, **more: Any) -> Cell:
    """Return a cell with a value in [0, 1]."""
    return NOTHING if value is None else Cell(number(value), value, **more)


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


@dataclass(frozen=True)
class Grid:
    """A table; the script sorts it by any column.

    Attributes
    ----------
    caption : str
    columns, rows : sequence
    sortable : bool
    name : str
        For the script and for tests.
    exact : bool
        Whether values are written with all their digits; otherwise with six, for sorting.
    """

    caption: str
    columns: Sequence[str | Column]
    rows: Sequence[Row]
    sortable: bool = True
    name: str = ""
    exact: bool = False

    @property
    def headings(self) -> list[tuple[Column, str]]:
        """The columns with their class: ``left`` where no cell has a number."""
        columns = [Column(each) if isinstance(each, str) else each for each in self.columns]
        numeric = [
            any(row.cells[at].value is not None and not row.cells[at].bar for row in self.rows)
            for at in range(len(columns))
        ]
        return [(each, "" if right else "left") for each, right in zip(columns, numeric, strict=True)]


@dataclass(frozen=True)
class KeyEntry:
    """An entry of a chart's key: class of the line, label, and whether the line is highlighted at first."""

    style: str
    label: str
    method: int | None = None
    bold: bool = True


@dataclass(frozen=True)
class Chart:
    """A drawing with its key, and its numbers as a table."""

    svg: Any
    caption: str
    key: Sequence[KeyEntry] = ()
    numbers: Grid | None = None


@dataclass(frozen=True)
class DotRow:
    """A method with its drawing, and its mean as text."""

    label: str
    method: int
    svg: Any
    shown: str
    style: str = ""


@dataclass(frozen=True)
class Dots:
    """A drawing for each method on a common axis."""

    title: str
    caption: str
    rows: Sequence[DotRow]
    axis: Any


@dataclass(frozen=True)
class Details:
    """Blocks that a reader can open and close."""

    summary: str
    blocks: Sequence[Any]
    method: int | None = None


def gathered(summary: str, details: Sequence[Details | None]) -> list[Details]:
    """Return the details that exist; many of them behind one more line."""
    found = [each for each in details if each is not None]
    return [Details(summary, found)] if len(found) > FEW else found


@dataclass(frozen=True)
class Variant:
    """Blocks for one convention or one measure; the script shows those that the reader has chosen."""

    blocks: Sequence[Any]
    convention: str | None = None
    measure: str | None = None


@dataclass(frozen=True)
class Mount:
    """An element that the script fills, and the text shown without a script."""

    id: str
    without: str
