"""What each method chose on the validation part, and what it chose from."""

from typing import Any

from directrank.report.blocks import Cell, Column, Grid, Row, Section, Warned, plain
from directrank.report.facts import Facts, mean
from directrank.report.opening import number
from directrank.report.sections.models.landscape import landscape, shown


def build(facts: Facts) -> list[Any]:
    """Return the settings chosen, and the landscape behind every choice."""
    by = facts.summary["select_by"]
    blocks: list[Any] = [
        plain(
            f"Settings are chosen fold by fold on the validation part, by {by} in the standard convention. "
            "Where the choice differs much between folds, or lies at the end of what was tried, the "
            "landscape below says how much it matters."
        ),
        _chosen(facts, by),
    ]
    if facts.result.failed:
        lines = [
            f"{cell['method']} on {cell['fold']}: {cell['error']['type']}: {cell['error']['message']}"
            for cell in facts.result.failed
        ]
        blocks.append(Warned("Runs that failed", lines))
    blocks += [each for label in facts.result.methods if (each := landscape(facts, label, by)) is not None]
    return blocks


def _chosen(facts: Facts, by: str) -> Grid:
    rows = []
    for label in facts.result.methods:
        cells: list[Cell] = []
        for fold in facts.result.folds:
            cell = facts.result.cell(label, fold)
            if "error" in cell:
                cells.append(Cell("failed", tone="failed left"))
            else:
                title = f"validation {by} {number(cell['validation'])}"
                values = ", ".join(shown(value) for _, value in sorted(cell["chosen"].items())) or "–"
                cells.append(Cell(values, tone="left", title=title))
        known = facts.cells(label)
        names = ", ".join(sorted(known[0]["chosen"])) if known and known[0]["chosen"] else "–"
        value = mean(cell["validation"] for cell in known) if known else None
        last = Cell("–") if value is None else Cell(number(value), value)
        rows.append(Row([Cell(label), Cell(names, tone="left"), *cells, last], facts.place[label]))
    columns = [
        Column("method", left=True),
        Column("settings", left=True),
        *(Column(fold, left=True) for fold in facts.result.folds),
    ]
    return Grid("Settings chosen on every fold", [*columns, Column(f"mean validation {by}")], rows)


SECTION = Section("settings", "Settings", build)
