"""Figures 1 and 3 of Xu et al. 2008: type-two bounds over the margin, and all bounds on a trained model."""

from collections.abc import Sequence

import numpy as np
from paper_tables import Row
from pictures import Dot, dot_picture, line_picture
from xu2008_results.printed import FIGURE1

from directrank.apps.experiments import Comparison
from directrank.apps.report.charts import Line
from directrank.diagnostics import Audit, audit
from directrank.estimators.methods import Configured
from directrank.measures import parse_measure
from directrank.surrogates import WorkingSetBound

DELTA = 0.5
#: The names of directrank's margins for the bounds of the figure.
MARGINS = {
    "Δ exp(-x)": "exponential",
    "Δ log2(1 + exp(-x))": "logistic",
    "Δ [1 - x]+": "hinge",
    "[Δ - x]+, Eq. (9)": "margin-rescaled",
}
TYPES = ("type one", "type two")
NO_SCALE = (
    "Each method is trained again with the parameters chosen on validation, and audited on the test queries. "
    "AdaRank minimises the exponential type-one bound, which does not depend on the scale of the scores. "
    "Type-two bounds need a margin in score units, which AdaRank's scores do not have: its rows omit them."
)


def bound_at(name: str, margins: np.ndarray) -> np.ndarray:
    """Return a bound of the figure at Δ = 0.5, by the function that training uses."""
    if name not in MARGINS:
        return DELTA * (margins <= 0)
    loss = WorkingSetBound(parse_measure("AP"), margin=MARGINS[name]).pair_loss
    return loss.value_and_slope(np.full(len(margins), DELTA), margins)[0]


def figure1_rows() -> list[Row]:
    """Our values and the formulas of the text, at three margins."""
    return [
        Row("(formula)", name, f"x = {x:g}", value, float(bound_at(name, np.array([x]))[0]))
        for name, values in FIGURE1.items()
        for x, value in values.items()
    ]


def figure1() -> str:
    """Draw the bounds over the margin."""
    below, above = np.linspace(-1.0, 0.0, 51), np.linspace(0.0, 1.5, 76)
    lines = []
    for name in FIGURE1:
        x = np.concatenate((below, above[1:]))
        points = list(zip(x.tolist(), bound_at(name, x).tolist(), strict=True))
        if name not in MARGINS:  # vertical at 0
            points = [(-1.0, DELTA), (0.0, DELTA), (0.0, 0.0), (1.5, 0.0)]
        lines.append(Line(name, points, "" if name in MARGINS else "strong"))
    across = "margin x = F(π*) − F(π)"
    return line_picture(f"Figure 1: type-two bounds, Δ = {DELTA:g}", across, "loss", lines)


def audits(result: Comparison, methods: Sequence[Configured], folds) -> dict[str, list[Audit]]:
    """Train each method again with its chosen parameters on each fold; audit it on the test queries."""
    found = {}
    for method in methods:
        found[method.label] = []
        for name, (train, vali, test) in zip(result.folds, folds, strict=True):
            ranker = method.build(result.cell(method.label, name)["chosen"]).fit(train, eval_set=vali)
            found[method.label].append(audit(ranker, test, "AP"))
    return found


def figure3_rows(collection: str, found: dict[str, list[Audit]]) -> list[Row]:
    """The relation that the figure states for each bound, and the number of test queries where it holds."""
    rows = []
    for method, folds in found.items():
        loss = np.concatenate([each.loss for each in folds])
        for name, kind, values in bounds_of(method, folds):
            above = int((values >= loss - 1e-9).sum())
            told = f"at or above (5), of mean {loss.mean():.4f}, on {above} of {len(loss)} queries"
            mean = float(values.mean())
            rows.append(Row(collection, method, f"{kind}: {name}", "bounds (5)", mean, reason=told))
    return rows


def bounds_of(method: str, folds: Sequence[Audit]):
    """Yield name, kind and the values on all queries of each bound of the figure."""
    kinds = TYPES[:1] if method == "AdaRank" else TYPES
    for place, row in enumerate(folds[0].rows):
        if row.kind in kinds:
            yield row.name, row.kind, np.concatenate([each.rows[place].values for each in folds])


def figure3(found: dict[str, list[Audit]]) -> str:
    """Draw the means of the basic loss and of its bounds."""
    blocks = {}
    for method, folds in found.items():
        loss = float(np.concatenate([each.loss for each in folds]).mean())
        dots = [Dot("basic loss, Eq. (5)", loss)]
        dots += [
            Dot(f"{kind}: {name}", float(values.mean())) for name, kind, values in bounds_of(method, folds)
        ]
        blocks[f"{method}, as trained"] = dots
    title = "Figure 3: the basic loss and its upper bounds, means over test queries"
    return dot_picture(title, "1 - AP and what bounds it", blocks, from_zero=True)
