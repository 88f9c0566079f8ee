"""What the training of each method took."""

import math

from markupsafe import Markup

from directrank.report.blocks import Cell, Row, grid, note
from directrank.report.facts import Facts


def build(facts: Facts) -> list[Markup]:
    """Return the time of all fits of a method, and of one fit."""
    known = [each for each in facts.result.methods if any(cell.get("tried") for cell in facts.cells(each))]
    if not known:
        return []
    totals = {label: math.fsum(cell["fit_seconds"] for cell in facts.cells(label)) for label in known}
    most = max(totals.values()) or 1.0
    return [
        grid(
            "Time of all fits, over folds, settings and seeds",
            ["method", "fits", "seconds", "seconds per fit", "share of the slowest method"],
            [_row(facts, label, totals[label], most) for label in known],
        ),
        note(
            "Seconds are wall-clock time on the machine named under Reproduce. The first fit of a method may "
            "include the compilation of its kernels."
        ),
    ]


def _row(facts: Facts, label: str, seconds: float, most: float) -> Row:
    cells = facts.cells(label)
    fits = sum(len(cell["tried"]) for cell in cells)
    if facts.summary.get("refit"):
        fits += sum(len(cell["seeds"]) for cell in cells)
    each = seconds / fits
    bar = Cell("", seconds, bar=(0.0, 100.0 * seconds / most, "plus"), tone="barcell")
    numbers = [Cell(str(fits), fits), Cell(f"{seconds:.1f}", seconds), Cell(f"{each:.2f}", each)]
    return facts.row(label, [*numbers, bar])
