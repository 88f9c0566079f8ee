"""The models: how training ended, bounds on their loss, the features that they use, and their time."""

import math
from typing import NamedTuple

from markupsafe import Markup

from directrank.experiments.records import Bound, Training
from directrank.experiments.results import unfinished_lines
from directrank.report.blocks import (
    NOTHING,
    Cell,
    Column,
    Row,
    details,
    figure,
    gathered,
    grid,
    note,
    paragraph,
    score,
    warned,
)
from directrank.report.charts import Line, line_chart
from directrank.report.facts import Facts, mean

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


def training(facts: Facts) -> list[Markup]:
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
        trainings = [cell.training for cell in facts.result.of(label)]
        if not trainings:
            rows.append(facts.row(label, [Cell("failed", tone="failed")] * 3))
            continue
        states = [each.status for each in trainings]
        ended = ", ".join(
            f"{state} ({states.count(state)})" if len(set(states)) > 1 else state
            for state in dict.fromkeys(states)
        )
        counts = [each.iterations for each in trainings]
        steps = " to ".join(dict.fromkeys((str(min(counts)), str(max(counts))))) if any(counts) else "–"
        rows.append(facts.row(label, [Cell(ended), Cell(steps, max(counts)), _certificate(trainings)]))
    columns = ["method", "ended", "iterations", "certificate, from the best to the worst fold"]
    return grid("How training ended, over the folds", columns, rows)


def _certificate(trainings: list[Training]) -> Cell:
    """Return the numbers of a certificate over folds."""
    texts, titles = [], []
    for name in dict.fromkeys(name for each in trainings for name in each.certificate):
        values = sorted(each.certificate[name] for each in trainings if name in each.certificate)
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
        cell = facts.result.record(label, fold)
        points = [] if cell is None else _points(cell.training, name)
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


def _points(training: Training, name: str) -> list[tuple[float, float]]:
    """Return a column of a history over iterations, thinned evenly."""
    stretch = max(training.iterations - 1, 0) / max(len(training.history) - 1, 1)
    points = [
        (1.0 + at * stretch, float(value))
        for at, value in enumerate(row.get(name) for row in training.history)
        if isinstance(value, (int, float)) and math.isfinite(value)
    ]
    if len(points) <= POINTS:
        return points
    return [points[round(at * (len(points) - 1) / (POINTS - 1))] for at in range(POINTS)]


def _warnings(facts: Facts) -> list[str]:
    """Return every warning once, with the runs that raised it."""
    runs: dict[str, list[str]] = {}
    for cell in facts.content.cells:
        for text in cell.warnings:
            runs.setdefault(text, []).append(f"{cell.method} on {cell.fold}")
    return [f"{text} ({', '.join(where)})" for text, where in runs.items()]


Named = tuple[str, str]
Rows = dict[Named, list[Bound]]


def bounds(facts: Facts) -> list[Markup]:
    """Return the means of bounds and approximations of every method."""
    audited = {label: audit for label in facts.result.methods if (audit := _audited(facts, label))}
    if not audited:
        return []
    names = list(dict.fromkeys(name for audit in audited.values() for name in audit.rows))
    measure = str(facts.content.select_by)
    kinds = {
        "Bounds": [each for each in names if each[0] != "approximation"],
        "Approximations": [each for each in names if each[0] == "approximation"],
    }
    return [
        paragraph(
            f"Most methods do not minimise the loss 1 − {measure} itself, but a smooth or convex function in "
            "its place: an upper bound or an approximation. Each of these is evaluated here at the models "
            "tested, on their test queries. If a bound is close to the loss, lowering the bound lowers the "
            "loss; if it is far above, lowering it may not."
        ),
        _closest_table(facts, measure, audited),
        *(
            details(title, _means(facts, title, measure, chosen, audited))
            for title, chosen in kinds.items()
            if chosen
        ),
        note(
            "Queries on which every ranking has the same value are skipped, so the loss differs from the "
            "results. Bounds depend on the scale of the scores: margin bounds ask for a margin of one unit."
        ),
    ]


class Audited(NamedTuple):
    """The audit of a method over folds: its mean loss, and every row by kind and name."""

    loss: float
    rows: Rows


def _audited(facts: Facts, label: str) -> Audited | None:
    folds = {cell.fold for cell in facts.result.finished if cell.bounds}
    audits = [cell.bounds for cell in facts.result.of(label) if cell.fold in folds]
    # A rival has none, and it may be the method that was chosen on a fold.
    known = [each for each in audits if each]
    if not known or len(known) < len(audits):
        return None
    rows: Rows = {}
    for row in (row for each in known for row in each.rows):
        rows.setdefault((row.kind, row.name), []).append(row)
    return Audited(mean(each.loss for each in known), rows)


def _closest_table(facts: Facts, measure: str, audited: dict[str, Audited]) -> Markup:
    """Return each method's tightest bound, its closest approximation, and whether all bounds hold."""
    rows = []
    for label, audit in audited.items():
        bounds = {name: rows for name, rows in audit.rows.items() if _holds(rows) is not None}
        near = {name: rows for name, rows in audit.rows.items() if name[0] == "approximation"}
        failing = [" ".join(name) for name, rows in bounds.items() if _holds(rows) is False]
        verdict = f"no: {', '.join(failing)}" if failing else "yes" if bounds else "–"
        last = Cell(verdict, tone="failed" if failing else "")
        rows.append(facts.row(label, [score(audit.loss), *_closest(bounds), *_closest(near), last]))
    columns = [
        "method", f"1\u00a0−\u00a0{measure}", "tightest bound", "which", "closest approximation", "which",
        "all bounds hold",
    ]  # fmt: skip
    return grid("The loss on test queries, and what is closest to it", columns, rows)


def _closest(rows: Rows) -> list[Cell]:
    if not rows:
        return [NOTHING, NOTHING]
    name = min(rows, key=lambda each: mean(row.distance for row in rows[each]))
    return [score(mean(row.mean for row in rows[name])), Cell(_words(name), tone="long")]


def _means(facts: Facts, title: str, measure: str, names: list[Named], audited: dict[str, Audited]) -> Markup:
    rows: list[Row] = []
    for label, audit in audited.items():
        cells = [_mean(audit.rows[name]) if name in audit.rows else NOTHING for name in names]
        rows.append(facts.row(label, [score(audit.loss), *cells]))
    columns = ["method", f"1\u00a0−\u00a0{measure}", *map(_words, names)]
    return grid(f"{title}: means over test queries", columns, rows)


def _mean(rows: list[Bound]) -> Cell:
    value = mean(row.mean for row in rows)
    worst = max(rows, key=lambda row: row.largest)
    title = f"largest distance {worst.largest:.4g}, on query {worst.loosest}"
    text = f"{value:.4f}" if abs(value) < 100 else f"{value:.3g}"
    return Cell(text, value, title=title, tone="failed" if _holds(rows) is False else "")


def _holds(rows: list[Bound]) -> bool | None:
    known = [row.holds for row in rows if row.holds is not None]
    return all(known) if known else None


def _words(name: Named) -> str:
    kind, what = name
    return what if kind in ("approximation", "bound") else f"{kind}: {what}"


#: Features of the overview, and of each method.
COMMON, OWN = 8, 15

Shares = dict[str, list[float]]


def weights(facts: Facts) -> list[Markup]:
    """Return the shares of the most used features, over all methods and for each method."""
    shares = {label: found for label in facts.result.methods if (found := _shares(facts, label))}
    if not shares:
        return []
    return [
        paragraph(
            "Weights of the linear models as shares: the weights of each fold are divided by the sum of "
            "their magnitudes; the table shows the mean over folds. Shares are comparable only between "
            "features of the same scale, and correlated features split their weight arbitrarily. Of boosted "
            "models it is the share of each feature in the weights of their rounds, or in the gain of the "
            "splits of their trees; it has no sign."
        ),
        _common(facts, shares),
        *gathered(
            "Weights, by method",
            [
                details(f"{label}: weights", _own(label, found), method=facts.index[label])
                for label, found in shares.items()
            ],
        ),
    ]


def _shares(facts: Facts, label: str) -> Shares:
    """Return each feature's share of the weights on every fold; empty for models without weights."""
    shares: Shares = {}
    for cell in facts.result.of(label):
        weights = cell.weights
        if not weights:
            return {}
        total = sum(map(abs, weights.values)) or 1.0
        for name, each in zip(weights.features, weights.values, strict=True):
            shares.setdefault(name, []).append(each / total)
    return shares


def _common(facts: Facts, shares: dict[str, Shares]) -> Markup:
    """Return methods by features, shaded by share."""
    totals: dict[str, float] = {}
    for found in shares.values():
        for name, values in found.items():
            totals[name] = totals.get(name, 0.0) + abs(mean(values))
    names = sorted(totals, key=lambda name: -totals[name])[:COMMON]
    values = {
        label: [mean(found[name]) if name in found else 0.0 for name in names]
        for label, found in shares.items()
    }
    most = max(abs(value) for each in values.values() for value in each) or 1.0
    rows = [
        facts.row(label, [Cell(_percent(value), value, tone=_shade(value, most)) for value in each])
        for label, each in values.items()
    ]
    caption = f"The {len(names)} features that the methods use most"
    return grid(caption, ["method", *map(_feature, names)], rows, name="weights")


def _shade(value: float, most: float) -> str:
    return f"{'up' if value >= 0 else 'down'}{min(9, int(10 * abs(value) / most))}"


def _own(label: str, found: Shares) -> Markup:
    means = {name: mean(values) for name, values in found.items() if any(values)}
    names = sorted(means, key=lambda name: -abs(means[name]))[:OWN]
    most = max((abs(means[name]) for name in names), default=1.0) or 1.0
    rows = []
    for name in names:
        value = means[name]
        left, right = sorted((50.0, 50.0 + 50.0 * value / most))
        bar = Cell("", value, bar=(left, right, "plus" if value >= 0 else "minus"), tone="barcell")
        numbers = [Cell(_percent(each), each) for each in (value, min(found[name]), max(found[name]))]
        rows.append(Row([Cell(_feature(name)), *numbers, bar]))
    share = Column("share", "to the right positive, to the left negative")
    more = f", the largest {OWN} of {len(means)}" if len(means) > OWN else ""
    columns = ["feature", "mean share", "smallest fold", "largest fold", share]
    return grid(f"{label}: weights as shares{more}", columns, rows)


def _feature(name: str) -> str:
    return f"feature {name}" if name.isdigit() else name


def _percent(value: float) -> str:
    return f"{round(100 * value, 1) + 0.0:.1f} %".replace("-", "−")


def time(facts: Facts) -> list[Markup]:
    """Return the time of all fits of a method, and of one fit."""
    known = [each for each in facts.result.methods if any(cell.tried for cell in facts.result.of(each))]
    if not known:
        return []
    totals = {label: math.fsum(cell.fit_seconds for cell in facts.result.of(label)) for label in known}
    most = max(totals.values()) or 1.0
    return [
        grid(
            "Time of all fits, over folds, settings and seeds",
            ["method", "fits", "seconds", "seconds per fit", "share of the slowest method"],
            [_time_row(facts, label, totals[label], most) for label in known],
        ),
        note(
            "Seconds are wall-clock time on the machine named under Reproduce. The first fit of a method may "
            "include the compilation of its kernels."
        ),
    ]


def _time_row(facts: Facts, label: str, seconds: float, most: float) -> Row:
    cells = facts.result.of(label)
    fits = sum(len(cell.tried) for cell in cells)
    if facts.content.refit:
        fits += sum(len(cell.seeds) for cell in cells)
    each = seconds / fits
    bar = Cell("", seconds, bar=(0.0, 100.0 * seconds / most, "plus"), tone="barcell")
    numbers = [Cell(str(fits), fits), Cell(f"{seconds:.1f}", seconds), Cell(f"{each:.2f}", each)]
    return facts.row(label, [*numbers, bar])
