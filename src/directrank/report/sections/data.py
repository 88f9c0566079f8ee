"""The data: what the check found, sizes, grades and fingerprints."""

from typing import Any

from directrank.data.folds import PARTS
from directrank.report.blocks import Cell, Column, Details, Grid, Row, Section, Warned, plain
from directrank.report.facts import Facts


def build(facts: Facts) -> list[Any]:
    """Return the findings, and every part of every fold."""
    check = facts.summary["data_check"]
    size = f"{check['n_queries']} queries, {check['n_docs']} documents, {check['n_features']} features"
    if check["lines"]:
        found: Any = Warned(f"What the data check found ({check['of']}: {size})", check["lines"])
    else:
        found = plain(f"The data check found nothing to remark on {check['of']}: {size}.")
    rows = [row for fold in facts.summary["folds"] for row in _rows(facts, fold)]
    columns = [
        Column("fold", left=True), Column("part", left=True), Column("queries"), Column("documents"),
        Column("features"), Column("documents by grade", left=True), Column("SHA-256 of the data", left=True),
    ]  # fmt: skip
    return [
        found,
        Details(
            "Sizes, grades and fingerprints of every part",
            [Grid("Parts of every fold", columns, rows)],
        ),
    ]


def _rows(facts: Facts, fold: dict[str, Any]) -> list[Row]:
    parts = facts.result.cell(facts.result.methods[0], fold["name"])["parts"]
    rows = []
    for name in (each for each in PARTS if each in parts):
        part = parts[name]
        grades = ", ".join(f"{grade}: {count}" for grade, count in part["relevance"].items())
        digest = fold["sha256"].get(name, "")
        rows.append(
            Row(
                [
                    Cell(fold["name"]), Cell(name, tone="left", title=str(fold["files"].get(name, ""))),
                    *(Cell(str(part[each]), part[each]) for each in ("queries", "documents", "features")),
                    Cell(grades, tone="left long"), Cell(digest[:16], tone="left code", title=digest),
                ]
            )
        )  # fmt: skip
    return rows


SECTION = Section("data", "Data", build)
