"""The settings that each method selected on the validation queries."""

from typing import Any

from markupsafe import Markup

from directrank.report.blocks import Cell, gathered, grid, paragraph, score, warned
from directrank.report.facts import Facts, mean
from directrank.report.formatting import number
from directrank.report.sections.models.ends_of_grids import MARK, at_the_end
from directrank.report.sections.models.landscape import landscape, shown


def build(facts: Facts) -> list[Markup]:
    """Return the settings selected, and the values of all settings tried."""
    if not facts.trained:
        return []
    by = facts.summary["select_by"]
    blocks: list[Markup] = [
        paragraph(
            f"Settings are selected on the validation queries of each fold, by {by} under the standard "
            "convention. Where the folds select different settings, the charts below show how much it "
            f"matters. {_at_ends(facts)}"
        ),
        _selected(facts, by),
    ]
    if facts.result.failed:
        lines = [
            f"{cell['method']} on {cell['fold']}: {cell['error']['type']}: {cell['error']['message']}"
            for cell in facts.result.failed
        ]
        blocks.append(warned("Runs that failed", lines))
    tried = [landscape(facts, label, by) for label in facts.result.methods]
    return [*blocks, *gathered("All settings tried, by method", tried)]


def _selected(facts: Facts, by: str) -> Markup:
    rows = []
    for label in facts.result.methods:
        cells: list[Cell] = []
        for fold in facts.result.folds:
            cell = facts.result.cell(label, fold)
            if "error" in cell:
                cells.append(Cell("failed", tone="failed"))
            else:
                values = ", ".join(shown(value) for _, value in sorted(_settings(cell).items())) or "–"
                reason = cell.get("scaling", {}).get("reason")
                ends = at_the_end(cell)
                value = cell["validation"]
                title = "" if value is None else f"validation {by} {number(value)}"
                title += f"; {reason}" if reason else ""
                title += f"; {', '.join(ends)} at the end of the grid" if ends else ""
                cells.append(Cell(values, mark=MARK if ends else "", title=title))
        known = facts.cells(label)
        names = ", ".join(sorted(_settings(known[0]))) if known else ""
        found = [cell["validation"] for cell in known]
        value = mean(found) if found and None not in found else None
        rows.append(facts.row(label, [Cell(names or "–", tone="long"), *cells, score(value)]))
    columns = ["method", "settings", *facts.result.folds, f"mean validation {by}"]
    return grid("Settings selected on every fold", columns, rows)


def _at_ends(facts: Facts) -> str:
    """Return how many selected settings are at the end of a grid, and what to do about it."""
    known = [cell for label in facts.result.methods for cell in facts.cells(label) if cell["tried"]]
    known = [cell for cell in known if cell["chosen"]]
    count = sum(bool(at_the_end(cell)) for cell in known)
    if not count:
        return "No fold selects the end of a grid where the validation value still rises."
    return (
        f"{count} of {len(known)} are at the end of the grid where the validation value still rises "
        f"({MARK}): a wider grid may do better, with --grid."
    )


def _settings(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a fold selected, and the scaling if "auto" chose one."""
    scaling = cell.get("scaling", {})
    chosen = {"scaling": scaling["kind"]} if scaling.get("reason") else {}
    return cell["chosen"] | chosen
