"""The results: every method by every measure, with significant differences."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from directrank.experiments.cells import TOP
from directrank.experiments.tables.endings import MARK
from directrank.experiments.tables.layout import Table
from directrank.experiments.tables.own_measures import KEY
from directrank.experiments.tables.seeds import seeds_note
from directrank.measures import CONVENTIONS, parse_measure
from directrank.report.blocks import Cell, Column, DotRow, Row, dots, grid, note, paragraph, variant
from directrank.report.charts import Scale
from directrank.report.facts import Facts
from directrank.report.formatting import enumerated, number
from directrank.report.opening import RULES


def build(facts: Facts) -> list[Markup]:
    """Return the table of every convention, and the chart of every measure."""
    origin = (
        "Every method was trained on the training queries. Its settings were selected on the validation "
        f"queries by {facts.summary['select_by']}. It was then tested once, on the test queries. "
        f"{_made_elsewhere(facts)}"
        if facts.trained
        else "Each row is a ranking that was made elsewhere, evaluated on the same queries. "
    )
    values = (
        "Values lie between 0 and 1; higher is better, except for errors. The best of a column is in bold."
    )
    blocks: list[Markup] = [paragraph(origin + values)]
    for convention in facts.result.conventions:
        said = (_lowered(facts, convention), _tested(facts, convention), _seeds(facts), _unfinished(facts))
        notes = [note(each) for each in said if each]
        blocks.append(variant(_table(facts, convention), *notes, convention=convention))
    if len(facts.result.conventions) > 1:
        blocks.append(
            note(
                f"The same rankings are evaluated under two conventions: {facts.asked}, to compare with "
                "published values, and standard, which does not depend on the order of the rows."
            )
        )
    for measure in facts.measures:
        for convention in facts.result.conventions:
            chart = _dots(facts, convention, measure)
            if chart is not None:
                blocks.append(variant(chart, convention=convention, measure=measure))
    return blocks


def _table(facts: Facts, convention: str) -> Markup:
    table = facts.result.headline(convention)
    indices = {label: row for row, (label, _) in enumerate(table.rows)}
    summaries = {each["label"]: each["summary"] for each in facts.summary["methods"]}
    columns: list[str | Column] = ["method"]
    for name, error in zip(table.columns, table.errors, strict=True):
        order = ("ascending" if error else "descending") if name == facts.main else ""
        columns.append(Column(name, "an error: smaller is better" if error else "", order))
    marks = [[table.mark(row, column) for column in range(len(table.columns))] for row in indices.values()]
    # All marks of a column are as wide as its longest, so that the numbers are aligned.
    widths = [max(map(len, column)) for column in zip(*marks, strict=True)]
    rows = []
    for label in facts.ranked(convention, facts.main):
        at = indices[label]
        padded = [mark.ljust(width) for mark, width in zip(marks[at], widths, strict=True)]
        rows.append(_row(facts, table, convention, at, padded, summaries[label]))
    n = len(facts.result.folds)
    folds = f"mean of {n} folds" if n > 1 else "one fold"
    return grid(
        f"Test, {folds}, convention {convention}",
        [*columns, "what it does" if facts.trained else "file"], rows, name="results", exact=True,
    )  # fmt: skip


def _row(facts: Facts, table: Table, convention: str, row: int, marks: Sequence[str], summary: str) -> Row:
    label, values = table.rows[row]
    cells = []
    for column, (measure, value) in enumerate(zip(table.columns, values, strict=True)):
        if value is None:
            cells.append(Cell("failed", tone="failed"))
            continue
        ends = facts.interval(convention, measure, label)
        title = f"interval {number(ends[0])} to {number(ends[1])}" if ends else ""
        cells.append(
            Cell(table.shown(row, column), value, table.best(row, column), marks[column], title=title)
        )
    return facts.row(label, [*cells, Cell(summary, tone="what")], table.letter(row))


def _tested(facts: Facts, convention: str) -> str:
    """Return what the marks mean."""
    tested = facts.tested(convention)
    if not any(tested.get("pairs", {}).values()):
        return ""
    against = f"the baseline {tested['baseline']}" if tested["baseline"] else "every other method"
    return (
        ">ab: significantly better than the methods (a) and (b). Each method was tested "
        f"against {against} by a two-sided randomisation test on paired queries: p < {tested['alpha']:g} "
        f"after {RULES[tested['correction']]} within a measure. A missing mark does not show that two "
        "methods are equal."
    )


def _seeds(facts: Facts) -> str:
    """Return which rows are means over more seeds than others."""
    return "".join(f"{each[0].upper()}{each[1:]}. " for each in seeds_note(facts.result))


def _made_elsewhere(facts: Facts) -> str:
    """Return which rows were not trained here."""
    runs = [each["label"] for each in facts.summary["methods"] if each["name"].startswith("runs:")]
    return f"Only tested here, as rankings made elsewhere: {', '.join(runs)}. " if runs else ""


def _unfinished(facts: Facts) -> str:
    """Return what the dagger means."""
    return f"{MARK} Not every model of the method converged; see Training." if facts.unfinished else ""


def _lowered(facts: Facts, convention: str) -> str:
    """Return why a convention lowers values: it scores queries with too few documents 0."""
    kinds = CONVENTIONS[convention].zero_beyond_list
    if not facts.whole or not kinds:
        return ""
    # The records have the grades of the first TOP documents, so a shorter list shows a query's size.
    cells = [facts.result.cell(facts.whole[0], fold) for fold in facts.result.folds]
    sizes = [len(grades) for cell in cells for grades in cell["ranked"]]
    short = []
    for name in facts.measures:
        if name in facts.summary.get(KEY, {}):
            continue
        measure: Any = parse_measure(name)
        if isinstance(measure, kinds) and measure.cutoff:
            count = sum(size < min(measure.cutoff, TOP) for size in sizes)
            least = "at least " if measure.cutoff > TOP else ""
            short += [f"{name} on {least}{count} of {len(sizes)}"] if count else []
    if not short:
        return ""
    return (
        f"Values are lower here than under the standard convention because {convention} scores a measure at "
        "cutoff k as 0 on a query with fewer than k documents, and keeps the query in the mean. This "
        f"concerns {''.join(enumerated(short))} test queries."
    )


def _dots(facts: Facts, convention: str, measure: str) -> Markup | None:
    result = facts.result
    ranked = facts.ranked(convention, measure)
    found = {
        label: [result.value(label, fold, measure, convention) for fold in result.folds] for label in ranked
    }
    values = {label: [each for each in folds if each is not None] for label, folds in found.items()}
    intervals = {label: facts.interval(convention, measure, label) for label in ranked}
    known = [value for each in values.values() for value in each]
    if not known:
        return None
    ends = [end for each in intervals.values() if each for end in each]
    scale = Scale([*known, *ends], bounds=(0.0, 1.0))
    rows = []
    for label, folds in values.items():
        mean = result.mean(label, measure, convention)
        rows.append(DotRow(label, facts.index[label], folds, mean, intervals[label], mean))
    return dots(
        f"Test {measure} of every method on every fold; the numbers are in the tables",
        f"Test {measure}, convention {convention}. A dot is a fold, the dark line the mean over folds"
        + (f", the bar its {facts.level(convention)} bootstrap interval over queries." if ends else "."),
        scale,
        rows,
    )
