"""The headline table: every method by every measure, with what is more than chance."""

from typing import Any

from directrank.experiments.tables.layout import Table, headline, is_error
from directrank.report.blocks import Cell, Column, DotRow, DotRows, Grid, Row, Section, Variant, note, plain
from directrank.report.charts import Scale, axis, dot_row
from directrank.report.charts.dots import LEFT, RIGHT
from directrank.report.facts import Facts
from directrank.report.opening import RULES, number


def build(facts: Facts) -> list[Any]:
    """Return the table of every convention, and the picture of every measure."""
    blocks: list[Any] = [
        plain(
            "Every method learned on the training queries, chose its settings on the validation queries by "
            f"{facts.summary['select_by']}, and was then tested once on queries it had never seen. Values "
            "lie between 0 and 1; higher is better, except for errors. The best of a column is in bold."
        )
    ]
    blocks += [Variant([_table(facts, each)], convention=each) for each in facts.result.conventions]
    blocks += [note(each) for each in _notes(facts)]
    for measure in facts.measures:
        for convention in facts.result.conventions:
            picture = _dots(facts, convention, measure)
            if picture is not None:
                blocks.append(Variant([picture], convention, measure))
    return blocks


def _table(facts: Facts, convention: str) -> Grid:
    table = headline(facts.result, convention)
    place = {label: row for row, (label, _) in enumerate(table.rows)}
    order = facts.result.measures.index(facts.main)
    columns = [Column("method", left=True)]
    columns += [
        Column(
            name,
            title="an error: smaller is better" if is_error(name) else "",
            order=("ascending" if is_error(name) else "descending") if column == order else "",
        )
        for column, name in enumerate(table.columns)
    ]
    summaries = {each["label"]: each["summary"] for each in facts.summary["methods"]}
    rows = [
        _row(facts, table, convention, place[label], summaries[label])
        for label in facts.ranked(convention, facts.main)
    ]
    return Grid(
        f"Test, {_of_folds(facts)}, convention {convention}",
        [*columns, Column("what it does", left=True)],
        rows,
        name="results",
        exact=True,
    )


def _row(facts: Facts, table: Table, convention: str, row: int, summary: str) -> Row:
    label, values = table.rows[row]
    # Marks are as wide as the widest of their column, so that the numbers stand below each other.
    wide = [
        max(len(marks[column]) for marks in table.marks) if table.marks else 0
        for column in range(len(values))
    ]
    cells = [Cell(label)]
    for column, value in enumerate(values):
        if value is None:
            cells.append(Cell("failed", tone="failed"))
            continue
        interval = facts.interval(convention, table.columns[column], label)
        title = f"interval {number(interval[0])} to {number(interval[1])}" if interval else ""
        cells.append(
            Cell(
                table.shown(row, column),
                value,
                table.best(row, column),
                table.mark(row, column).ljust(wide[column]),
                title=title,
            )
        )
    cells.append(Cell(summary, tone="what"))
    return Row(cells, facts.place[label], table.letter(row))


def _notes(facts: Facts) -> list[str]:
    notes = []
    tested = facts.tested(facts.asked)
    if any(tested.get("pairs", {}).values()):
        against = f"the baseline {tested['baseline']}" if tested["baseline"] else "every other method"
        notes.append(
            f"Raised letters: significantly better than the methods of those letters, each tested against "
            f"{against} by a two-sided randomisation test on paired queries, p < {tested['alpha']:g} after "
            f"{RULES[tested['correction']]} within a measure. No letter does not mean equal: it means not "
            "shown to differ."
        )
    if len(facts.result.conventions) > 1:
        notes.append(
            f"Conventions count the same rankings in two ways: {facts.asked} as published figures were "
            "counted, standard independent of the order of the rows."
        )
    return notes


def _of_folds(facts: Facts) -> str:
    n = len(facts.result.folds)
    return f"mean of {n} folds" if n > 1 else "one fold"


def _dots(facts: Facts, convention: str, measure: str) -> DotRows | None:
    result = facts.result
    values = {
        label: [
            value
            for fold in result.folds
            if (value := result.value(label, fold, measure, convention)) is not None
        ]
        for label in facts.ranked(convention, measure)
    }
    intervals = {label: facts.interval(convention, measure, label) for label in values}
    known = [value for each in values.values() for value in each]
    if not known:
        return None
    ends = [end for each in intervals.values() if each for end in each]
    scale = Scale([*known, *ends], LEFT, RIGHT, (0.0, 1.0))
    rows = []
    for label, each in values.items():
        mean = result.mean(label, measure, convention)
        drawing = dot_row(scale, each, mean, intervals[label])
        rows.append(DotRow(label, facts.place[label], drawing, "failed" if mean is None else number(mean)))
    return DotRows(
        f"Test {measure} of every method on every fold; the numbers are in the tables",
        f"Test {measure}, convention {convention}: a dot a fold, a bar for their mean"
        + (", a line for its 95% bootstrap interval over queries." if ends else "."),
        rows,
        axis(scale),
    )


SECTION = Section("results", "Results", build)
