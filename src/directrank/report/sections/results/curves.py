"""nDCG at every place: how good the first k documents are."""

from typing import Any

from directrank.report.blocks import Cell, Chart, Column, Grid, KeyEntry, Row, Section, Variant, plain
from directrank.report.charts import Line, line_chart
from directrank.report.charts.lines import colour
from directrank.report.facts import Facts, mean
from directrank.report.opening import number

#: So many of the best stand out from the start.
BOLD = 6


def build(facts: Facts) -> list[Any]:
    """Return a chart for every convention."""
    charts = [(each, _chart(facts, each)) for each in facts.result.conventions]
    shown: list[Any] = [Variant([chart], convention=each) for each, chart in charts if chart is not None]
    return [plain("How good the first k documents are, for every k."), *shown] if shown else []


def _chart(facts: Facts, convention: str) -> Chart | None:
    curves = {
        label: _mean_curve(facts.cells(label), convention)
        for label in facts.ranked(convention, facts.main)
        if label in facts.whole and all("curve" in cell for cell in facts.cells(label))
    }
    if not curves:
        return None
    places = range(1, len(next(iter(curves.values()))) + 1)
    title = f"Mean test nDCG of the first k documents, convention {convention}"
    best = max(curves, key=lambda label: curves[label][-1])
    drawing = line_chart(
        title,
        f"A line a method over k from 1 to {places[-1]}; at k = {places[-1]}, {best} is highest. "
        "The numbers are in a table below.",
        _lines(facts, curves)[::-1],
        height=300,
        ticks=[(float(place), str(place)) for place in places],
        across_name="k",
    )
    key = [
        KeyEntry(colour(rank), label, facts.place[label], rank < BOLD) for rank, label in enumerate(curves)
    ]
    return Chart(drawing, f"{title}.", key, _numbers(facts, title, curves))


def _lines(facts: Facts, curves: dict[str, list[float]]) -> list[Line]:
    return [
        Line(
            label,
            [(float(place + 1), value) for place, value in enumerate(values)],
            colour(rank) + (" faint" if rank >= BOLD else ""),
            facts.place[label],
        )
        for rank, (label, values) in enumerate(curves.items())
    ]


def _numbers(facts: Facts, title: str, curves: dict[str, list[float]]) -> Grid:
    n = len(next(iter(curves.values())))
    return Grid(
        title,
        [Column("method", left=True), *(Column(f"@{place + 1}") for place in range(n))],
        [
            Row([Cell(label), *(Cell(number(value), value) for value in values)], facts.place[label])
            for label, values in curves.items()
        ],
        name="curves",
    )


def _mean_curve(cells: list[dict[str, Any]], convention: str) -> list[float]:
    return [mean(values) for values in zip(*(cell["curve"][convention] for cell in cells), strict=True)]


SECTION = Section("curves", "Curves", build)
