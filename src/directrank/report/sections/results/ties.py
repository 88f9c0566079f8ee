"""What ties do: each method's figures if tied documents keep the order of rows, and in expectation."""

from typing import Any

from directrank.report.blocks import Cell, Column, Grid, Row, Section, Variant, plain
from directrank.report.facts import Facts, mean
from directrank.report.opening import number, signed


def build(facts: Facts) -> list[Any]:
    """Return the documents that each method ties, and both figures."""
    if not any("ties" in cell for cell in facts.result.cells):
        return []
    return [
        plain(
            "Documents with equal scores have no order of their own. Counted by the order of the rows, a "
            "method that ties many documents is given what that order gives away; the expected value over "
            "random orders is independent of it. Where the two differ, believe the expected value."
        ),
        *(Variant([_table(facts, each)], measure=each) for each in facts.measures),
    ]


def _table(facts: Facts, measure: str) -> Grid:
    rows = []
    for label in facts.result.methods:
        cells = [cell for cell in facts.cells(label) if "ties" in cell]
        if len(cells) < len(facts.result.folds):
            rows.append(Row([Cell(label), *[Cell("–")] * 5], facts.place[label]))
            continue
        documents, queries = (sum(cell["ties"][name] for cell in cells) for name in ("documents", "queries"))
        by_rows = mean(cell["ties"]["input"][measure] for cell in cells)
        expected = mean(cell["values"]["standard"]["test"][measure] for cell in cells)
        gain = by_rows - expected
        same = number(by_rows) == number(expected)
        rows.append(
            Row(
                [
                    Cell(label), Cell(str(documents), documents), Cell(str(queries), queries),
                    Cell(number(expected), expected), Cell(number(by_rows), by_rows),
                    Cell("same" if same else signed(gain), gain, tone="" if same else "failed"),
                ],
                facts.place[label],
            )
        )  # fmt: skip
    columns = [
        Column("method", left=True), Column("tied documents"),
        Column("queries concerned", title="with tied documents of different relevance"),
        Column("expected"), Column("by row order"), Column("row order gives"),
    ]  # fmt: skip
    return Grid(f"Ties on test queries, and test {measure} counted both ways", columns, rows)


SECTION = Section("ties", "Ties", build)
