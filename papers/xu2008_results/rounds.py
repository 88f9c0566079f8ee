"""The rounds of PermuRank: training MAP and working sets, against the 40 to 100 of Xu et al. 2008."""

from collections.abc import Sequence

import numpy as np
from comparing import own, say
from paper_tables import Row
from pictures import line_picture

from directrank import PermuRank
from directrank.apps.experiments import Comparison
from directrank.apps.report.charts import Line
from directrank.estimators.methods import Configured

PRINTED = "as printed"
#: Steps from the printed form to the default of directrank (the averaged one).
FORMS = {
    PRINTED: {"aggregate": "sum", "feature_map": "pairs", "averaged": False, "keep": "last"},
    "as printed, best round": {"aggregate": "sum", "feature_map": "pairs", "averaged": False},
    "two classes, sum": {"aggregate": "sum", "averaged": False, "keep": "last"},
    "two classes, best round": {"aggregate": "sum", "averaged": False},
    "two classes, averaged": {"aggregate": "sum"},
    "two classes, maximum": {"aggregate": "max", "averaged": False, "keep": "last"},
}
#: A sum weights a query by the size of its working set; a maximum does not.
GRIDS = {"sum": {"C": (1e-3, 1e-2, 1e-1)}, "max": {"C": (0.1, 1.0, 10.0)}}
DRAWN = (PRINTED, "two classes, sum", "two classes, averaged", "two classes, maximum")


def forms(rounds: int) -> list[Configured]:
    """Return every form of PermuRank."""
    return [
        own(
            f"PermuRank, {name}",
            PermuRank,
            measure="AP",
            fixed={**fixed, "rounds": rounds},
            grid=GRIDS[fixed["aggregate"]],
        )
        for name, fixed in FORMS.items()
    ]


def trainings(result: Comparison, rounds: int, folds) -> dict[str, list[list[dict]]]:
    """Return the history of each form on each fold with the chosen C, evaluated on training queries."""
    found = {}
    for method in forms(rounds):
        name = method.label.removeprefix("PermuRank, ")
        if name not in DRAWN:
            continue
        found[name] = []
        for fold, (train, _, _) in zip(result.folds, folds, strict=True):
            say(f"{fold} {method.label}: rounds on training queries")
            ranker = method.build(result.cell(method.label, fold)["chosen"]).fit(train)
            found[name].append(ranker.history_)
    return found


def rows(collection: str, found: dict[str, list[list[dict]]], rounds: int) -> list[Row]:
    """Rounds, sizes of working sets, and the range of training MAP in the second half of the rounds."""
    out = []
    for name, folds in found.items():
        method = f"PermuRank, {name}"
        ended = [len(each) for each in folds]
        cut = sum(each[-1]["grown"] > 0 for each in folds)
        told = f"converged in {len(folds) - cut} of {len(folds)} folds"
        told += f"; stopped after {rounds} rounds in the others" if cut else ""
        sizes = [each[-1]["imperfect"] for each in folds]
        spread = float(np.mean([_range(each) for each in folds]))
        out.append(Row(collection, method, "rounds", "40 to 100", _span(ended), reason=told))
        out.append(Row(collection, method, "imperfect rankings in a working set", "40 to 100", _span(sizes)))
        out.append(
            Row(collection, method, "training MAP, highest - lowest in the second half of the rounds",
                "converged", spread)
        )  # fmt: skip
    return out


def _span(values: Sequence[int]) -> str:
    return str(min(values)) if min(values) == max(values) else f"{min(values)} to {max(values)}"


def _range(history: list[dict]) -> float:
    half = [each["monitor"] for each in history[len(history) // 2 :]]
    return max(half) - min(half)


def picture(found: dict[str, list[list[dict]]]) -> str:
    """Draw the mean training MAP of the folds over rounds; a converged fold repeats its last value."""
    most = max(len(each) for folds in found.values() for each in folds)
    lines = []
    for name, folds in found.items():
        held = [[each[min(k, len(each) - 1)]["monitor"] for k in range(most)] for each in folds]
        means = np.mean(held, axis=0)
        points = list(enumerate(means.tolist(), 1))
        lines.append(Line(name, points, "strong" if name == PRINTED else ""))
    title = "PermuRank over its rounds, mean of the folds"
    return line_picture(title, "round", "training MAP", lines, from_zero=False)
