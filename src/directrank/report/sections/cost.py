"""Time and memory."""

import math
from typing import Any

from directrank.report.blocks import Cell, Column, Grid, Row, Section, note
from directrank.report.facts import Facts


def build(facts: Facts) -> list[Any]:
    """Return what each method took, all fits of its grid together and one alone."""
    known = [label for label in facts.result.methods if facts.cells(label)]
    if not known:
        return []
    totals = {label: math.fsum(cell["fit_seconds"] for cell in facts.cells(label)) for label in known}
    most = max(totals.values()) or 1.0
    return [
        Grid(
            "Time and memory of all fits, over folds, settings and seeds",
            [
                Column("method", left=True), Column("fits"), Column("seconds"), Column("seconds a fit"),
                Column("peak memory"), Column("share of the longest"),
            ],
            [_row(facts, label, totals[label], most) for label in known],
        ),
        note(
            "Seconds are wall-clock time on the machine named below, first-time compilation included. Peak "
            "memory is that of the process until then, data and all; a process fits one method after another."
        ),
    ]  # fmt: skip


def _row(facts: Facts, label: str, seconds: float, most: float) -> Row:
    cells = facts.cells(label)
    fits = sum(len(cell["tried"]) for cell in cells)
    if facts.summary.get("refit"):
        fits += len(cells) * len(facts.summary["seeds"])
    peak = max((cell.get("peak_memory") or 0 for cell in cells), default=0)
    return Row(
        [
            Cell(label), Cell(str(fits), fits), Cell(f"{seconds:.1f}", seconds),
            Cell(f"{seconds / fits:.2f}", seconds / fits),
            Cell(f"{peak / 2**20:.0f} MiB", peak) if peak else Cell("–"),
            Cell("", seconds, bar=(0.0, 100.0 * seconds / most, "plus"), tone="barcell"),
        ],
        facts.place[label],
    )  # fmt: skip


SECTION = Section("cost", "Time and memory", build)
