"""How training ended, with its certificate and its curves."""

import math
from typing import Any

from markupsafe import Markup

from directrank.experiments.tables.endings import unfinished_lines
from directrank.report.blocks import Cell, details, figure, gathered, grid, paragraph, warned
from directrank.report.charts import Line, line_chart
from directrank.report.facts import Facts

#: Columns of a history that are drawn, with their names; of each group, the first that exists.
CURVES = (
    (("objective", "objective"), ("bound", "bound on the loss"), ("gap", "duality gap")),
    (("monitor", "measure monitored"), ("train_measure", "measure on training queries")),
)
#: Points of a curve.
POINTS = 32
#: What the numbers of a certificate mean.
CERTIFICATES = {
    "gradient_norm": "largest component of the gradient: 0 at a minimum",
    "relative_gradient": "largest component of the gradient per spread of its feature, relative to the start",
    "gap": "duality gap: how far the objective can be above its minimum",
    "bound": "bound on the training loss",
    "promised": "how much of the objective the next round can gain at most",
    "objective": "the value that was minimised",
    "rank": "rank of the linear system",
    "change": "change of the last round",
}


def build(facts: Facts) -> list[Markup]:
    """Return how every training ended, and its curves."""
    if not facts.trained:
        return []
    remedies = unfinished_lines(facts.result)
    blocks: list[Markup] = [
        paragraph(
            "How training ended: converged, which its certificate shows; stopped, as no step helped before "
            "that; budget, at its limit of iterations; or complete, when boosting trained the rounds asked "
            "for, or early stopping chose their number. The numbers of the certificate say how far the model "
            "can be from an optimum. Of other libraries' methods no certificate is known."
        ),
        *([warned(f"{remedies[0]}.", remedies[1:])] if remedies else []),
        _ends(facts),
        *gathered("Training curves, by method", [_curves(facts, label) for label in facts.result.methods]),
    ]
    warnings = _warnings(facts)
    return [*blocks, warned("Warnings during training", warnings)] if warnings else blocks


def _ends(facts: Facts) -> Markup:
    rows = []
    for label in facts.result.methods:
        trainings = [cell["training"] for cell in facts.cells(label)]
        if not trainings:
            rows.append(facts.row(label, [Cell("failed", tone="failed")] * 3))
            continue
        states = [each["status"] for each in trainings]
        ended = ", ".join(
            f"{state} ({states.count(state)})" if len(set(states)) > 1 else state
            for state in dict.fromkeys(states)
        )
        counts = [each.get("iterations", 0) for each in trainings]
        steps = " to ".join(dict.fromkeys((str(min(counts)), str(max(counts))))) if any(counts) else "–"
        rows.append(facts.row(label, [Cell(ended), Cell(steps, max(counts)), _certificate(trainings)]))
    columns = ["method", "ended", "iterations", "certificate, from the best to the worst fold"]
    return grid("How training ended, over the folds", columns, rows)


def _certificate(trainings: list[dict[str, Any]]) -> Cell:
    """Return the numbers of a certificate over folds."""
    texts, titles = [], []
    for name in dict.fromkeys(name for each in trainings for name in each["certificate"]):
        values = sorted(each["certificate"][name] for each in trainings if name in each["certificate"])
        ends = dict.fromkeys(f"{value:.3g}" for value in (values[0], values[-1]))
        spaced = name.replace("_", " ")
        texts.append(f"{spaced} {' to '.join(ends)}")
        titles += [f"{spaced}: {CERTIFICATES[name]}"] if name in CERTIFICATES else []
    return Cell("; ".join(texts) or "–", tone="long", title="; ".join(titles))


def _curves(facts: Facts, label: str) -> Markup | None:
    blocks = []
    for group in CURVES:
        charts = (_chart(facts, label, *each) for each in group)
        blocks += [each for each in charts if each is not None][:1]
    return details(f"{label}: training curves", *blocks, method=facts.index[label]) if blocks else None


def _chart(facts: Facts, label: str, name: str, words: str) -> Markup | None:
    lines = []
    for at, fold in enumerate(facts.result.folds):
        cell = facts.result.cell(label, fold)
        points = [] if "error" in cell else _points(cell["training"], name)
        if len(points) > 2:
            lines.append(Line(fold, points, f"k{at % 8}"))
    if not lines:
        return None
    last = "; ".join(f"{line.label} ends at {line.points[-1][1]:.4g}" for line in lines)
    title = f"{label}: {words} over iterations"
    description = "A line for each fold; the caption says where each ends."
    drawing = line_chart(
        title, description, lines, height=200, bounds=(-math.inf, math.inf), across_name="iteration"
    )
    return figure(drawing, f"{title}, a line for each fold. {last}.", lines)


def _points(training: dict[str, Any], name: str) -> list[tuple[float, float]]:
    """Return a column of a history over iterations, thinned evenly."""
    rows = training.get("history", [])
    stretch = max(training.get("iterations", 0) - 1, 0) / max(len(rows) - 1, 1)
    points = [
        (1.0 + at * stretch, float(row[name]))
        for at, row in enumerate(rows)
        if isinstance(row.get(name), (int, float)) and math.isfinite(row[name])
    ]
    if len(points) <= POINTS:
        return points
    return [points[round(at * (len(points) - 1) / (POINTS - 1))] for at in range(POINTS)]


def _warnings(facts: Facts) -> list[str]:
    """Return every warning once, with the runs that raised it."""
    runs: dict[str, list[str]] = {}
    for cell in facts.result.cells:
        for text in cell["warnings"]:
            runs.setdefault(text, []).append(f"{cell['method']} on {cell['fold']}")
    return [f"{text} ({', '.join(where)})" for text, where in runs.items()]
