"""Ties: each method's values with tied documents in row order, and in expectation."""

from markupsafe import Markup

from directrank.report.blocks import NOTHING, Cell, Column, Row, details, grid, paragraph, score, variant
from directrank.report.facts import Facts, mean
from directrank.report.formatting import number, signed

#: A table without a larger difference is folded.
LITTLE = 0.005


def build(facts: Facts) -> list[Markup]:
    """Return the number of tied documents and both values for every measure."""
    if not any("ties" in cell for cell in facts.result.cells):
        return []
    return [
        paragraph(
            "Documents with equal scores have no order of their own. If they are evaluated in the order of "
            "the rows, a method gains or loses by that order. The expected value over random orders does not "
            "depend on it. Where the two differ, trust the expected value."
        ),
        *(variant(*_shown(facts, each), measure=each) for each in facts.measures),
    ]


def _shown(facts: Facts, measure: str) -> list[Markup]:
    """Return the table, folded if ties change no value much."""
    columns = [
        "method", "tied documents", Column("queries affected", "with tied documents of different relevance"),
        "expected", "by row order", "gain by row order",
    ]  # fmt: skip
    rows = _rows(facts, measure)
    table = grid(f"Ties on test queries, and test {measure} evaluated both ways", columns, rows)
    most = max(abs(row.cells[-1].value or 0.0) for row in rows)
    if most > LITTLE:
        return [table]
    said = f"Ties matter little here: the row order changes no mean test {measure} by more than {most:.4f}."
    return [paragraph(said), details("Ties of each method", table)]


def _rows(facts: Facts, measure: str) -> list[Row]:
    rows = []
    for label in facts.result.methods:
        cells = [cell for cell in facts.cells(label) if "ties" in cell]
        if len(cells) < len(facts.result.folds):
            rows.append(facts.row(label, [NOTHING] * 5))
            continue
        documents, queries = (sum(cell["ties"][name] for cell in cells) for name in ("documents", "queries"))
        by_rows = mean(cell["ties"]["input"][measure] for cell in cells)
        expected = mean(cell["values"]["standard"]["test"][measure] for cell in cells)
        gain, same = by_rows - expected, number(by_rows) == number(expected)
        difference = Cell("same" if same else signed(gain), gain, tone="" if same else "failed")
        counts = [Cell(str(documents), documents), Cell(str(queries), queries)]
        rows.append(facts.row(label, [*counts, score(expected), score(by_rows), difference]))
    return rows
