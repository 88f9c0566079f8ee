"""Every fold of every measure."""

from typing import Any

from directrank.experiments.tables.layout import by_fold
from directrank.report.blocks import Cell, Column, Grid, Row, Section, Variant, plain
from directrank.report.facts import Facts
from directrank.report.opening import number


def build(facts: Facts) -> list[Any]:
    """Return a table for every measure and convention."""
    return [
        plain(
            "The queries are divided in several ways; each division is a fold. A method that is ahead "
            "of another on every fold is probably better; where they take turns, these data can hardly tell "
            "them apart. The interval is that of the mean, if other queries like these had been drawn."
        ),
        *(
            Variant([_table(facts, convention, measure)], convention, measure)
            for measure in facts.measures
            for convention in facts.result.conventions
        ),
    ]


def _table(facts: Facts, convention: str, measure: str) -> Grid:
    table = by_fold(facts.result, convention, measure)
    place = {label: row for row, (label, _) in enumerate(table.rows)}
    level = facts.tested(convention).get("level", 0.95)
    rows = []
    for label in facts.ranked(convention, measure):
        row = place[label]
        cells = [
            Cell("failed", tone="failed")
            if value is None
            else Cell(table.shown(row, column), value, table.best(row, column))
            for column, value in enumerate(table.rows[row][1])
        ]
        interval = facts.interval(convention, measure, label)
        if interval is None:
            cells.append(Cell("–"))
        else:
            cells.append(Cell(f"{number(interval[0])} to {number(interval[1])}", interval[0]))
        rows.append(Row([Cell(label), *cells], facts.place[label]))
    columns = [Column("method", left=True), *map(Column, table.columns), Column(f"{level:.0%} interval")]
    return Grid(f"Test {measure} by fold, convention {convention}", columns, rows, name="folds", exact=True)


SECTION = Section("folds", "Fold by fold", build)
