"""How training went: the way it ended, with its certificate, and the curves behind it."""

import math
from typing import Any

from directrank.report.blocks import Cell, Chart, Column, Details, Grid, KeyEntry, Row, Section, Warned, plain
from directrank.report.charts import Line, line_chart
from directrank.report.facts import Facts

#: Columns of a history worth a curve, and what they are called; the first of each kind that is there.
CURVES = (
    (("objective", "objective"), ("bound", "bound on the loss"), ("gap", "duality gap")),
    (("monitor", "measure monitored"), ("train_measure", "measure on training queries")),
)
#: Points of a curve.
POINTS = 32
#: What the words of a certificate mean.
CERTIFICATES = {
    "gradient_norm": "length of the gradient: 0 at a minimum",
    "gap": "duality gap: how far the objective can be above its minimum",
    "bound": "bound on the training loss",
    "promised": "how much of the objective the next round can gain at most",
    "objective": "the value that was minimised",
    "rank": "rank of the linear system",
    "change": "change of the last round",
}


def build(facts: Facts) -> list[Any]:
    """Return how every training ended, and its curves."""
    blocks: list[Any] = [
        plain(
            "How the training of the model tested ended: converged, stopped early, or out of budget; and its "
            "certificate, the numbers that say how far it is from done."
        ),
        _ends(facts),
        *(each for label in facts.result.methods if (each := _curves(facts, label)) is not None),
    ]
    warned = _warnings(facts)
    if warned:
        blocks.append(Warned("Warnings during training", warned))
    return blocks


def _ends(facts: Facts) -> Grid:
    rows = []
    for label in facts.result.methods:
        cells = facts.cells(label)
        if not cells:
            rows.append(Row([Cell(label), *[Cell("failed", tone="failed")] * 3], facts.place[label]))
            continue
        trainings = [cell["training"] for cell in cells]
        states = [each["status"] for each in trainings]
        ended = ", ".join(
            f"{state} ({states.count(state)})" if len(set(states)) > 1 else state
            for state in dict.fromkeys(states)
        )
        counts = [each.get("iterations", 0) for each in trainings]
        least, most = min(counts), max(counts)
        steps = str(least) if least == most else f"{least} to {most}"
        rows.append(
            Row(
                [Cell(label), Cell(ended, tone="left"), Cell(steps, max(counts)), _certificate(trainings)],
                facts.place[label],
            )
        )
    columns = [
        Column("method", left=True), Column("ended", left=True), Column("iterations"),
        Column("certificate, from the best to the worst fold", left=True),
    ]  # fmt: skip
    return Grid("How training ended, over the folds", columns, rows)


def _certificate(trainings: list[dict[str, Any]]) -> Cell:
    """Return the numbers of a certificate over folds."""
    pieces = []
    for name in dict.fromkeys(name for each in trainings for name in each["certificate"]):
        values = sorted(each["certificate"][name] for each in trainings if name in each["certificate"])
        ends = dict.fromkeys(f"{value:.3g}" for value in (values[0], values[-1]))
        pieces.append((name, f"{name.replace('_', ' ')} {' to '.join(ends)}"))
    title = "; ".join(
        f"{name.replace('_', ' ')}: {CERTIFICATES[name]}" for name, _ in pieces if name in CERTIFICATES
    )
    return Cell("; ".join(text for _, text in pieces) or "–", tone="left long", title=title)


def _curves(facts: Facts, label: str) -> Details | None:
    blocks = []
    for names in CURVES:
        for name, words in names:
            chart = _chart(facts, label, name, words)
            if chart is not None:
                blocks.append(chart)
                break
    return Details(f"{label}: training curves", blocks, method=facts.place[label]) if blocks else None


def _chart(facts: Facts, label: str, name: str, words: str) -> Chart | None:
    lines = []
    for at, fold in enumerate(facts.result.folds):
        cell = facts.result.cell(label, fold)
        points = [] if "error" in cell else _points(cell["training"], name)
        if len(points) > 2:
            lines.append(Line(fold, points, f"k{at % 8}"))
    if not lines:
        return None
    last = "; ".join(f"{line.label} ends at {line.points[-1][1]:.4g}" for line in lines)
    drawing = line_chart(
        f"{label}: {words} over iterations", "A line a fold; where each ends is said below.", lines,
        height=200, bounds=(-math.inf, math.inf),
        across_name="iteration",
    )  # fmt: skip
    return Chart(
        drawing,
        f"{label}: {words} over iterations, a line a fold. {last}.",
        [KeyEntry(line.style, line.label) for line in lines],
    )


def _points(training: dict[str, Any], name: str) -> list[tuple[float, float]]:
    """Return a column of a history over iterations, thinned evenly."""
    rows = training.get("history", [])
    stretch = max(training.get("iterations", 0) - 1, 0) / max(len(rows) - 1, 1)
    points = [
        (1.0 + place * stretch, float(row[name]))
        for place, row in enumerate(rows)
        if isinstance(row.get(name), (int, float)) and math.isfinite(row[name])
    ]
    if len(points) <= POINTS:
        return points
    return [points[round(at * (len(points) - 1) / (POINTS - 1))] for at in range(POINTS)]


def _warnings(facts: Facts) -> list[str]:
    """Return every warning once, with the cells that gave it."""
    places: dict[str, list[str]] = {}
    for cell in facts.result.cells:
        for text in cell["warnings"]:
            places.setdefault(text, []).append(f"{cell['method']} on {cell['fold']}")
    return [f"{text} ({', '.join(where)})" for text, where in places.items()]


SECTION = Section("training", "Training", build)
