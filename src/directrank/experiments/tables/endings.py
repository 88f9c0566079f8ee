"""What did not converge in a comparison, and what may help."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from directrank.estimators.outcome import GOOD
from directrank.experiments.rivals.learner import UNKNOWN

if TYPE_CHECKING:
    from directrank.experiments.results import Comparison

#: Ends about which there is nothing to say; of most rivals nothing is known.
FINE = (*GOOD, UNKNOWN)
#: Behind the name of a method of which a tested model did not converge.
MARK = "†"


def unfinished(result: "Comparison") -> dict[str, list[dict[str, Any]]]:
    """Return the endings of the tested models that did not converge, by method; no entry where all did."""
    endings = {label: [] for label in result.methods}
    for cell in result.cells:
        if cell.get("tried") and "error" not in cell and cell["training"]["status"] not in FINE:
            endings[cell["method"]].append(cell["training"])
    return {label: each for label, each in endings.items() if each}


def unfinished_lines(result: "Comparison") -> Sequence[str]:
    """Return how many models did not converge, and a line with the remedy for each method of theirs."""
    found = unfinished(result)
    if not found:
        return []
    fits = [fit["status"] not in FINE for cell in result.cells for fit in cell.get("tried", ())]
    models = sum(map(len, found.values()))
    tested = sum(bool(cell.get("tried")) for cell in result.cells)
    head = (
        f"{models} of {tested} tested models did not converge, nor did {sum(fits)} of {len(fits)} fits tried"
    )
    return [head, *(f"{label}: {_ended(each, len(result.folds))}" for label, each in found.items())]


def _ended(endings: Sequence[dict[str, Any]], n_folds: int) -> str:
    """Return how models of one method ended, over folds, with the remedies."""
    counts = Counter(each["status"] for each in endings)
    kinds = ", ".join(f"{status} on {count} of {n_folds} folds" for status, count in counts.items())
    if n_folds == 1:
        kinds = ", ".join(counts)
    remedies = dict.fromkeys(each["remedy"] for each in endings if each.get("remedy"))
    return ": ".join(filter(None, (kinds, "; ".join(remedies))))
