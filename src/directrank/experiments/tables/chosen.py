"""The row "chosen on validation": on every fold, the method with the highest validation value.

The best of many methods on the test set is the best by chance as well. What choosing a method gives is the
test value of the method that the validation set chooses, fold by fold.
"""

import math
from collections.abc import Sequence
from typing import Any

Record = dict[str, Any]

#: The label of the row.
CHOSEN = "chosen on validation"
#: What the row repeats of the chosen method's cell.
REPEATED = (
    "values", "per_query", "computed", "curve", "qid", "ranked", "ties", "bounds", "weights", "validation",
    "seeds", "peak_memory", "options", "parts",
)  # fmt: skip


def chosen_cells(cells: Sequence[Record], folds: Sequence[str]) -> list[Record]:
    """Return the cells of the row, one a fold; none unless two methods or more finished every fold.

    A method that failed on a fold is not chosen there, nor are runs that do not rank the validation set. Of
    equal validation values the first method's counts.

    Parameters
    ----------
    cells : sequence of dict
        The records of every method on every fold, in the order of the methods.
    folds : sequence of str
        The names of the folds.
    """
    known = [cell for cell in cells if "error" not in cell and cell["validation"] is not None]
    finished = [[cell for cell in known if cell["fold"] == fold] for fold in folds]
    return [_chosen(these) for these in finished] if all(len(these) > 1 for these in finished) else []


def entry(select_by: str) -> Record:
    """Return the description of the row beside those of the methods."""
    said = f"on every fold, the method with the highest validation {select_by}"
    return {"label": CHOSEN, "name": CHOSEN, "measure": None, "summary": said, "paper": "", "grid": {}}


def _chosen(cells: Sequence[Record]) -> Record:
    """Return the cell of a fold. Its time is that of all methods, because choosing needs them all."""
    best = max(cells, key=lambda cell: cell["validation"])
    return {
        **{name: best[name] for name in REPEATED if name in best},
        "fold": best["fold"],
        "method": CHOSEN,
        "measure": None,
        "chosen": {"method": best["method"]},
        "training": {**best["training"], "history": []},
        "tried": [],
        "warnings": [],
        "fit_seconds": math.fsum(cell["fit_seconds"] for cell in cells),
        "seconds": 0.0,
    }
