"""docs/speed.md, generated from the records of the repository."""

from pathlib import Path

from benchmarks.results import wording
from benchmarks.results.records import Record, Row, read_record

TEMPLATE = "speed.md.jinja"
#: Topics that the page omits: they watch our own code, and compare it with nothing that a user knows.
OMITTED = ("passes", "gradients", "binning", "scorers", "scaling", "twins", "solvers", "texts")


def speed_page(folder: Path) -> str:
    """Return the text of docs/speed.md for the records of a folder, the latest first."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    records = sorted(map(read_record, folder.glob("*.json")), key=lambda each: each.written, reverse=True)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,  # it is no HTML; `cell` escapes what Markdown would read
    )  # fmt: skip
    return environment.get_template(TEMPLATE).render(
        records=records, topics=_topics, cell=_cell, ratio=wording.ratio, duration=wording.duration,
        target=wording.target, machine_lines=wording.machine_lines,
    )  # fmt: skip


def _topics(record: Record) -> list[tuple[str, list[Row]]]:
    names = dict.fromkeys(row.topic for row in record.rows if row.topic not in OMITTED)
    return [(name, [row for row in record.rows if row.topic == name]) for name in names]


def _cell(text: str) -> str:
    """Return a text for a cell of a table, in which Markdown finds no markup but code."""
    for letter in "\\|<>*_[]":
        text = text.replace(letter, f"\\{letter}")
    return " ".join(text.split())
