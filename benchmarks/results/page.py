"""A run as one self-contained page, made by the means of our reports."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from benchmarks.results import wording
from benchmarks.results.comparison import LIMIT, Changes
from benchmarks.results.records import Record, Row
from benchmarks.results.table import change_text
from directrank.apps.report.blocks import (
    Cell,
    DotRow,
    dots,
    grid,
    heading,
    note,
    paragraph,
    plural,
    terms,
    warned,
)
from directrank.apps.report.blocks import Row as Line
from directrank.apps.report.charts import Scale, lines_of
from directrank.apps.report.page import document


def speed_report(record: Record, found: Changes | None = None) -> str:
    """Return the page of a run; `found` is what changed since an earlier one."""
    measured = [row for row in record.rows if row.ratio is not None]
    sections = [
        {
            "id": "results",
            "title": "Against the targets",
            "open": True,
            "blocks": lines_of(_targets(measured)),
        }
    ]
    for topic in dict.fromkeys(row.topic for row in record.rows):
        rows = [row for row in record.rows if row.topic == topic]
        sections.append(
            {
                "id": f"topic-{topic}",
                "title": topic.capitalize(),
                "open": True,
                "blocks": lines_of(_topic(rows)),
            }
        )
    if found is not None:
        sections.append(
            {"id": "changes", "title": "Changes", "open": True, "blocks": lines_of(_changes(found))}
        )
    machine = terms(wording.machine_lines(record))
    sections.append({"id": "machine", "title": "The machine", "open": True, "blocks": machine})
    return document(
        title="How fast directrank is",
        subtitle=f"{plural(len(measured), 'ratio')}, {record.written}",
        opening=paragraph(
            "Every figure is the ratio of two times that were measured in turn in one run: of a piece of "
            "work, and of its yardstick. Quartiles are those of the ratios of single pairs; the ratio is "
            "that of the least times, which other load disturbs least."
        ),
        sections=sections,
    )


def _targets(rows: Sequence[Row]) -> Iterator[Markup]:
    """Yield the ratios that have a limit, as multiples of it."""
    limited = [row for row in rows if row.target is not None]
    missed = [
        f"{row.name}: {wording.ratio(row)}, target {wording.target(row)}" for row in limited if row.missed
    ]
    if missed:
        yield warned(f"{plural(len(missed), 'ratio')} short of the target", missed)
    yield paragraph(f"{len(limited) - len(missed)} of {len(limited)} limits are kept.", role="lead")
    yield from _charts(limited)


def _topic(rows: Sequence[Row]) -> Iterator[Markup]:
    yield from _charts([row for row in rows if row.ratio is not None])
    columns = ["case", "what", "against", "ratio", "quartiles", "target", "seconds"]
    yield grid("Ratios of times", columns, [_line(row) for row in rows])


def _line(row: Row) -> Line:
    failed = "failed" if row.failed or row.missed else ""
    seconds = Cell("–") if row.ours is None else Cell(f"{row.ours:.3g}", row.ours)
    cells = (
        Cell(row.name), Cell(row.what, tone="long"), Cell(row.yardstick, tone="long"),
        Cell(wording.ratio(row), row.ratio, tone=failed), Cell(wording.spread(row)),
        Cell(wording.target(row), row.target), seconds,
    )  # fmt: skip
    return Line(cells)


def _charts(rows: Sequence[Row]) -> Iterator[Markup]:
    """Yield a chart of the ratios that should be large, and one of those that should be small."""
    for faster, title in (
        (True, "Times as fast as the yardstick"),
        (False, "Times as long as the yardstick"),
    ):
        shown = [row for row in rows if row.faster == faster]
        if not shown:
            continue
        values = [value for row in shown for value in (row.ratio, row.low, row.high, row.target) if value]
        scale = Scale(values, logarithmic=max(values) > 5 * min(values))
        better = "right" if faster else "left"
        caption = (
            f"Dots are ratios of least times, bars the quartiles, lines the targets; {better} is better. "
            "Red: short of the target."
        )
        yield heading(title)
        yield dots(title, caption, scale, [_dot(row) for row in shown])


def _dot(row: Row) -> DotRow:
    interval = None if row.low is None or row.high is None else (row.low, row.high)
    ratio = row.ratio or 0.0
    text = wording.digits(ratio) + (" (noisy)" if row.noisy else "")
    style = "worse" if row.missed else "same"
    return DotRow(row.name, None, [ratio], row.target, interval, ratio, style, shown=text)


def _changes(found: Changes) -> Iterator[Markup]:
    percent = round(100 * (LIMIT - 1))
    for title, changes in (("Worse", found.worse), ("Better", found.better)):
        yield warned(
            f"{title} by more than {percent} %: {len(changes) or 'none'}", list(map(change_text, changes))
        )
    pairs = [f"{name}: {old}, now {new}" for name, (old, new) in found.versions.items()]
    yield note("Versions that changed: " + (", ".join(pairs) or "none") + ".")
