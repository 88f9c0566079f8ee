"""The data: findings of the data check, sizes, grades and checksums."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from directrank.data.folds import PARTS
from directrank.report.blocks import Cell, Row, details, grid, paragraph, warned
from directrank.report.facts import Facts


def build(facts: Facts) -> list[Markup]:
    """Return the findings, and every part of every fold."""
    check = facts.summary["data_check"]
    counted = ("queries", "documents", *(("features",) if facts.trained else ()))
    numbers = {
        "queries": check["n_queries"],
        "documents": check["n_docs"],
        "features": check.get("n_features"),
    }
    size = ", ".join(f"{numbers[name]} {name}" for name in counted)
    if check["lines"]:
        found = warned(f"Findings of the data check ({check['of']}: {size})", check["lines"])
    else:
        found = paragraph(f"The data check found no problem in {check['of']}: {size}.")
    rows = [row for fold in facts.summary["folds"] for row in _rows(facts, fold, counted)]
    columns = ["fold", "part", *counted, "documents by grade", "SHA-256 of the data"]
    sets = "Training, validation and test set of every fold" if facts.trained else "The judged documents"
    table = grid(sets, columns, rows)
    how = [paragraph(f"{line}.") for line in facts.summary.get("reading", [])]
    return [found, *how, details("Sizes, grades and checksums of every set", table)]


def _rows(facts: Facts, fold: dict[str, Any], counted: Sequence[str]) -> list[Row]:
    parts = facts.result.cell(facts.result.methods[0], fold["name"])["parts"]
    rows = []
    for name in (each for each in PARTS if each in parts):
        part = parts[name]
        grades = ", ".join(f"{grade}: {count}" for grade, count in part["relevance"].items())
        digest = fold["sha256"].get(name, "")
        sizes = [Cell(str(part[each]), part[each]) for each in counted]
        title = str(fold["files"].get(name, ""))
        cells = [Cell(fold["name"]), Cell(name, title=title), *sizes, Cell(grades, tone="long")]
        rows.append(Row([*cells, Cell(digest[:16], tone="code", title=digest)]))
    return rows
