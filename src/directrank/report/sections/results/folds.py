"""Every measure on every fold."""

from markupsafe import Markup

from directrank.report.blocks import NOTHING, Cell, details, grid, paragraph, variant
from directrank.report.facts import Facts
from directrank.report.formatting import number


def build(facts: Facts) -> list[Markup]:
    """Return a table for every measure and convention; with one fold they are folded."""
    if not facts.trained:
        return []
    tables = [
        variant(_table(facts, convention, measure), convention=convention, measure=measure)
        for measure in facts.measures
        for convention in facts.result.conventions
    ]
    if len(facts.result.folds) == 1:
        return [
            paragraph("There is one fold, so its values are the means above."),
            details("The table", *tables),
        ]
    return [
        paragraph(
            "The queries are divided into training, validation and test sets in several ways; each division "
            "is a fold. A method that is ahead of another on every fold is probably better. The interval is "
            "where the mean would lie if other queries like these had been drawn."
        ),
        *tables,
    ]


def _table(facts: Facts, convention: str, measure: str) -> Markup:
    table = facts.result.by_fold(convention, measure)
    indices = {label: row for row, (label, _) in enumerate(table.rows)}
    rows = []
    for label in facts.ranked(convention, measure):
        row = indices[label]
        cells = [
            Cell("failed", tone="failed")
            if value is None
            else Cell(table.shown(row, column), value, table.best(row, column))
            for column, value in enumerate(table.rows[row][1])
        ]
        ends = facts.interval(convention, measure, label)
        cells.append(Cell(f"{number(ends[0])} to {number(ends[1])}", ends[0]) if ends else NOTHING)
        rows.append(facts.row(label, cells))
    columns = ["method", *table.columns, f"{facts.level(convention)} interval of the mean"]
    return grid(f"Test {measure} by fold, convention {convention}", columns, rows, name="folds", exact=True)
