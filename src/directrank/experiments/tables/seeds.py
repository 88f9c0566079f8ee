"""Which values of a table are means over seeds, where methods differ in that."""

from typing import TYPE_CHECKING

from directrank.experiments.tables.chosen import CHOSEN

if TYPE_CHECKING:
    from directrank.experiments.results import Comparison


def seeds_note(result: "Comparison") -> list[str]:
    """Return a note that names the methods with other seeds than the comparison, and their number."""
    usual, counts = len(result.summary.get("seeds", [0])), {}
    for cell in result.cells:
        number = len(cell.get("seeds", ())) or usual
        if number != usual and cell["method"] != CHOSEN:
            counts.setdefault(number, {})[cell["method"]] = None
    return [f"mean of {number} seeds: {', '.join(labels)}" for number, labels in counts.items()]
