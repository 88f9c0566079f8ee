"""What a section is made of: plain facts that the template writes down, every text escaped there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from directrank.report.facts import Facts


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes
    ----------
    id : str
        Its anchor.
    title : str
    build : callable
        From the facts to the blocks of the section; none, and the section is left out.
    """

    id: str
    title: str
    build: "Callable[[Facts], list[Any]]"


@dataclass(frozen=True)
class Strong:
    """A piece of a text that stands out."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph of pieces; `role` is ``plain``, ``lead`` or ``note``."""

    kind: ClassVar[str] = "text"
    pieces: Sequence[str | Strong]
    role: str = "plain"


def plain(text: str) -> Text:
    """Return a paragraph."""
    return Text([text])


def note(text: str) -> Text:
    """Return a paragraph in small print."""
    return Text([text], "note")


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Warned:
    """A box of things to know."""

    kind: ClassVar[str] = "warned"
    title: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Terms:
    """Words with what they mean."""

    kind: ClassVar[str] = "terms"
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Code:
    """Something to type."""

    kind: ClassVar[str] = "code"
    text: str


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
        A class: ``text``, ``long``, ``failed``, or a shade ``up0 … up9``, ``down0 … down9``.
    title : str
        More about it.
    bar : (float, float, str), optional
        From where to where of the column's width, in percent, and a class.
    """

    text: str
    value: float | None = None
    best: bool = False
    mark: str = ""
    tone: str = ""
    title: str = ""
    bar: tuple[float, float, str] | None = None


@dataclass(frozen=True)
class Column:
    """A heading; `left` for text."""

    text: str
    left: bool = False
    title: str = ""
    order: str = ""


@dataclass(frozen=True)
class Row:
    """A row, its heading first; `method` is its place among the methods, if it is about one."""

    cells: Sequence[Cell]
    method: int | None = None
    letter: str = ""


@dataclass(frozen=True)
class Grid:
    """A table; a script can sort it by any column.

    Attributes
    ----------
    caption : str
    columns, rows : sequence
    sortable : bool
    name : str
        For the script and for tests.
    exact : bool
        Whether values are written with all their digits; six do for sorting.
    """

    kind: ClassVar[str] = "grid"
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    sortable: bool = True
    name: str = ""
    exact: bool = False


@dataclass(frozen=True)
class Chart:
    """A drawing with a title and a description, a key, and the numbers as a table."""

    kind: ClassVar[str] = "chart"
    svg: Any
    caption: str
    key: Sequence["KeyEntry"] = ()
    numbers: Grid | None = None


@dataclass(frozen=True)
class KeyEntry:
    """A line of a chart: its class, its label, whether it stands out from the start."""

    style: str
    label: str
    method: int | None = None
    bold: bool = True


@dataclass(frozen=True)
class DotRows:
    """A row a method: a dot a fold, a bar for the mean, a line for its interval."""

    kind: ClassVar[str] = "dots"
    title: str
    caption: str
    rows: Sequence["DotRow"]
    axis: Any


@dataclass(frozen=True)
class DotRow:
    """A method with its drawing and its mean as text."""

    label: str
    method: int
    svg: Any
    shown: str


@dataclass(frozen=True)
class Details:
    """Blocks behind a line that opens them."""

    kind: ClassVar[str] = "details"
    summary: str
    blocks: Sequence[Any]
    open: bool = False
    method: int | None = None


@dataclass(frozen=True)
class Variant:
    """Blocks for one convention or one measure; a script shows those that are chosen."""

    kind: ClassVar[str] = "variant"
    blocks: Sequence[Any]
    convention: str | None = None
    measure: str | None = None


@dataclass(frozen=True)
class Mount:
    """A place that a script fills, and what stands there without one."""

    kind: ClassVar[str] = "mount"
    id: str
    without: str
    data: Mapping[str, Any] = field(default_factory=dict)
