"""docs/speed.md, generated from the records of the repository."""

import math
from pathlib import Path

from benchmarks.results import wording
from benchmarks.results.records import Record, Row, read_record

TEMPLATE = "speed.md.jinja"
#: Topics that the page omits: they watch our own code, and compare it with nothing that a user knows.
OMITTED = (
    "passes",
    "gradients",
    "binning",
    "scorers",
    "scaling",
    "twins",
    "solvers",
    "texts",
    "clicks",
    "cutoffs",
)


def speed_page(folder: Path) -> str:
    """Return the text of docs/speed.md for the records of a folder and of `growth` and `wide` in it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,  # it is no HTML; `cell` escapes what Markdown would read
    )  # fmt: skip
    return environment.get_template(TEMPLATE).render(
        records=_latest_first(folder), grown=_latest_first(folder / "growth"),
        wide=_latest_first(folder / "wide"), topics=_topics, growth=_growth, cell=_cell,
        ratio=wording.ratio, duration=wording.duration, target=wording.target,
        machine_lines=wording.machine_lines,
    )  # fmt: skip


def _latest_first(folder: Path) -> list[Record]:
    return sorted(map(read_record, folder.glob("*.json")), key=lambda each: each.written, reverse=True)


def _growth(record: Record) -> tuple[list[str], dict[str, list[str]]]:
    """Return the shapes of a record of growth, and the cell of each for each method."""
    cells = {row.name: _grown(row) for row in record.rows} | dict.fromkeys(record.pending, "not measured")
    shapes = list(dict.fromkeys(name.split("/")[2] for name in cells))
    methods = dict.fromkeys(name.split("/")[1] for name in cells)
    return shapes, {
        method: [cells.get(f"growth/{method}/{shape}", "") for shape in shapes] for method in methods
    }


def _grown(row: Row) -> str:
    """Return the time of a row and its exponent, the logarithm of the ratio to the base ten."""
    if row.ratio is None:
        return _cell(row.problem)
    return f"{wording.duration(row.ours)} ({math.log10(row.ratio):.2f})"


def _topics(record: Record) -> list[tuple[str, list[Row]]]:
    names = dict.fromkeys(row.topic for row in record.rows if row.topic not in OMITTED)
    return [(name, [row for row in record.rows if row.topic == name]) for name in names]


def _cell(text: str) -> str:
    """Return a text for a cell of a table, in which Markdown finds no markup but code."""
    for letter in "\\|<>*_[]":
        text = text.replace(letter, f"\\{letter}")
    return " ".join(text.split())
