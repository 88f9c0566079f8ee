"""The models: settings, how training ended, bounds on the loss, the features that they use, their time."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from markupsafe import Markup

from directrank.apps.experiments.store.records import Bound, Ranking, Training
from directrank.apps.report.blocks import (
    FAILED,
    NOTHING,
    Cell,
    Column,
    Row,
    details,
    figure,
    gathered,
    grid,
    note,
    number,
    paragraph,
    score,
    warned,
)
from directrank.apps.report.charts import Line, line_chart, typographic
from directrank.apps.report.facts import Facts

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
    remedies = facts.result.unfinished_lines()
    blocks: list[Markup] = [
        paragraph(
            "How training ended: converged (certified); stopped (no step improved it); budget (iteration "
            "limit reached); or complete, when boosting trained the requested rounds, or early stopping "
            "chose their number. The numbers of the certificate say how far the model can be from an "
            "optimum. Other libraries report no convergence certificate."
        ),
        *([warned(f"{remedies[0]}.", remedies[1:])] if remedies else []),
        _ends(facts),
        *gathered("Training curves, by method", [_curves(facts, label) for label in facts.result.methods]),
    ]
    runs: dict[str, list[str]] = {}
    for cell in facts.content.cells:
        for text in cell.warnings:
            runs.setdefault(text, []).append(f"{cell.method} on {cell.fold}")
    warnings = [f"{text} ({', '.join(where)})" for text, where in runs.items()]
    return [*blocks, warned("Warnings during training", warnings)] if warnings else blocks


def _ends(facts: Facts) -> Markup:
    rows = []
    for label in facts.result.methods:
        trainings = [cell.training for cell in facts.result.of(label)]
        if not trainings:
            rows.append(facts.row(label, [FAILED] * 3))
            continue
        states = [training.status for training in trainings]
        ended = ", ".join(
            f"{state} ({states.count(state)})" if len(set(states)) > 1 else state
            for state in dict.fromkeys(states)
        )
        counts = [training.iterations for training in trainings]
        steps = " to ".join(dict.fromkeys((str(min(counts)), str(max(counts))))) if any(counts) else "–"
        rows.append(facts.row(label, [Cell(ended), Cell(steps, max(counts)), _certificate(trainings)]))
    columns = ["method", "ended", "iterations", "certificate, from the best to the worst fold"]
    return grid("How training ended, over the folds", columns, rows)


def _certificate(trainings: list[Training]) -> Cell:
    """Return the numbers of a certificate over folds."""
    texts, titles = [], []
    for name in sorted({name for training in trainings for name in training.certificate}):
        values = sorted(training.certificate[name] for training in trainings if name in training.certificate)
        ends = dict.fromkeys(f"{value:.3g}" for value in (values[0], values[-1]))
        spaced = name.replace("_", " ")
        texts.append(f"{spaced} {' to '.join(ends)}")
        titles += [f"{spaced}: {CERTIFICATES[name]}"] if name in CERTIFICATES else []
    return Cell("; ".join(texts) or "–", tone="long", title="; ".join(titles))


def _curves(facts: Facts, label: str) -> Markup | None:
    blocks = []
    for group in CURVES:
        charts = (_chart(facts, label, *curve) for curve in group)
        blocks += [chart for chart in charts if chart is not None][:1]
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
        "Bounds": [kind for kind in names if kind[0] != "approximation"],
        "Approximations": [kind for kind in names if kind[0] == "approximation"],
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
    # An external estimator has none, and it may be the method that was chosen on a fold.
    present = [audit for audit in audits if audit]
    if not present or len(present) < len(audits):
        return None
    rows: Rows = {}
    for row in (row for audit in present for row in audit.rows):
        rows.setdefault((row.kind, row.name), []).append(row)
    return Audited(fmean(audit.loss for audit in present), rows)


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
    name = min(rows, key=lambda kind: fmean(row.distance for row in rows[kind]))
    return [score(fmean(row.mean for row in rows[name])), Cell(_words(name), tone="long")]


def _means(facts: Facts, title: str, measure: str, names: list[Named], audited: dict[str, Audited]) -> Markup:
    rows: list[Row] = []
    for label, audit in audited.items():
        cells = [_mean(audit.rows[name]) if name in audit.rows else NOTHING for name in names]
        rows.append(facts.row(label, [score(audit.loss), *cells]))
    columns = ["method", f"1\u00a0−\u00a0{measure}", *map(_words, names)]
    return grid(f"{title}: means over test queries", columns, rows)


def _mean(rows: list[Bound]) -> Cell:
    value = fmean(row.mean for row in rows)
    worst = max(rows, key=lambda row: row.largest)
    title = f"largest distance {worst.largest:.4g}, on query {worst.loosest}"
    text = f"{value:.4f}" if abs(value) < 100 else f"{value:.3g}"
    return Cell(text, value, title=title, tone="failed" if _holds(rows) is False else "")


def _holds(rows: list[Bound]) -> bool | None:
    checked = [row.holds for row in rows if row.holds is not None]
    return all(checked) if checked else None


def _words(name: Named) -> str:
    kind, what = name
    return what if kind in ("approximation", "bound") else f"{kind}: {what}"


#: Features of the overview, and of each method.
COMMON, OWN = 8, 15

Shares = dict[str, list[float]]


def weights(facts: Facts) -> list[Markup]:
    """Return the shares of the most used features, over all methods and for each method."""
    shares = {label: of_method for label in facts.result.methods if (of_method := _shares(facts, label))}
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
                details(f"{label}: weights", _own(label, of_method), method=facts.index[label])
                for label, of_method in shares.items()
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
        for name, weight in zip(weights.features, weights.values, strict=True):
            shares.setdefault(name, []).append(weight / total)
    return shares


def _common(facts: Facts, shares: dict[str, Shares]) -> Markup:
    """Return methods by features, shaded by share."""
    totals: dict[str, float] = {}
    for of_method in shares.values():
        for name, values in of_method.items():
            totals[name] = totals.get(name, 0.0) + abs(fmean(values))
    names = sorted(totals, key=lambda name: -totals[name])[:COMMON]
    values = {
        label: [fmean(of_method[name]) if name in of_method else 0.0 for name in names]
        for label, of_method in shares.items()
    }
    most = max(abs(value) for shares in values.values() for value in shares) or 1.0

    def shaded(value: float) -> Cell:
        shade = f"{'up' if value >= 0 else 'down'}{min(9, int(10 * abs(value) / most))}"
        return Cell(_percent(value), value, tone=shade)

    rows = [facts.row(label, list(map(shaded, shares))) for label, shares in values.items()]
    caption = f"The {len(names)} features that the methods use most"
    return grid(caption, ["method", *map(_feature, names)], rows, name="weights")


def _own(label: str, shares: Shares) -> Markup:
    means = {name: fmean(values) for name, values in shares.items() if any(values)}
    names = sorted(means, key=lambda name: -abs(means[name]))[:OWN]
    most = max((abs(means[name]) for name in names), default=1.0) or 1.0
    rows = []
    for name in names:
        value = means[name]
        left, right = sorted((50.0, 50.0 + 50.0 * value / most))
        bar = Cell("", value, bar=(left, right, "plus" if value >= 0 else "minus"), tone="barcell")
        numbers = [Cell(_percent(share), share) for share in (value, min(shares[name]), max(shares[name]))]
        rows.append(Row([Cell(_feature(name)), *numbers, bar]))
    share = Column("share", "to the right positive, to the left negative")
    more = f", the largest {OWN} of {len(means)}" if len(means) > OWN else ""
    columns = ["feature", "mean share", "smallest fold", "largest fold", share]
    return grid(f"{label}: weights as shares{more}", columns, rows)


def _feature(name: str) -> str:
    return f"feature {name}" if name.isdigit() else name


def _percent(value: float) -> str:
    return typographic(f"{round(100 * value, 1) + 0.0:.1f} %")


def time(facts: Facts) -> list[Markup]:
    """Return the time of all fits of a method, and of one fit."""
    trained = [
        method for method in facts.result.methods if any(cell.tried for cell in facts.result.of(method))
    ]
    if not trained:
        return []
    totals = {label: math.fsum(cell.fit_seconds for cell in facts.result.of(label)) for label in trained}
    most, rows = max(totals.values()) or 1.0, []
    for label, seconds in totals.items():
        cells = facts.result.of(label)
        fits = sum(len(cell.tried) + len(cell.seeds) * facts.content.refit for cell in cells)
        per_fit = seconds / fits
        bar = Cell("", seconds, bar=(0.0, 100.0 * seconds / most, "plus"), tone="barcell")
        numbers = [Cell(str(fits), fits), Cell(f"{seconds:.1f}", seconds), Cell(f"{per_fit:.2f}", per_fit)]
        rows.append(facts.row(label, [*numbers, bar]))
    columns = ["method", "fits", "seconds", "seconds per fit", "share of the slowest method"]
    return [
        grid("Time of all fits, over folds, settings and seeds", columns, rows),
        note(
            "Seconds are wall-clock time on the machine named under Reproduce. The first fit of a method may "
            "include the compilation of its kernels."
        ),
    ]


#: Behind a setting selected at the end of its grid.
MARK = "*"
#: A list of fewer numbers is a choice between alternatives.
FEWEST = 3


def at_the_end(cell: Ranking) -> list[str]:
    """Return the parameters of a fold for which the first or last number of the grid beats the next one."""
    if cell.validation is None:
        return []
    of_points = defaultdict(list)
    for fit in cell.tried:
        of_points[_point(fit.parameters)].append(fit.validation)
    values = {key: fmean(values) for key, values in of_points.items()}
    return [name for name in sorted(cell.chosen) if _still_rises(name, cell, values)]


def _still_rises(name: str, cell: Ranking, values: dict[Any, float]) -> bool:
    chosen, tried = cell.chosen, [fit.parameters[name] for fit in cell.tried if name in fit.parameters]
    numbers: list[float] = sorted({value for value in tried if type(value) in (int, float)})
    if len(numbers) < FEWEST or chosen[name] not in (numbers[0], numbers[-1]):
        return False
    next_one = numbers[1] if chosen[name] == numbers[0] else numbers[-2]
    here, inside = (values.get(_point(chosen | {name: value})) for value in (chosen[name], next_one))
    return here is not None and inside is not None and here > inside


#: At most this many points of a grid are listed, the best first.
LISTED = 10
#: Values whose largest is this many times the smallest are drawn on a logarithmic axis.
WIDE = 20.0

Point = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Landscape:
    """The settings that a method tried: the validation value of each point and fold, and who chose it."""

    label: str
    by: str
    names: list[str]
    values: dict[Point, dict[str, float]]
    chosen: dict[Point, list[str]]

    @property
    def means(self) -> dict[Point, float]:
        """The mean over folds of each point."""
        return {point: fmean(folds.values()) for point, folds in self.values.items()}


def landscape(facts: Facts, label: str, by: str) -> Markup | None:
    """Return a chart over one parameter or a map of two, and the best points."""
    if any(cell.validation is None for cell in facts.result.of(label)):
        return None
    tried: dict[Point, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    chosen: dict[Point, list[str]] = defaultdict(list)
    for cell in facts.result.of(label):
        chosen[_point(cell.chosen)].append(cell.fold)
        for fit in cell.tried:
            tried[_point(fit.parameters)][cell.fold].append(fit.validation or 0.0)
    if len(tried) < 2:
        return None
    values = {point: {fold: fmean(all_) for fold, all_ in folds.items()} for point, folds in tried.items()}
    surface = Landscape(label, by, [name for name, _ in next(iter(values))], values, chosen)
    pictures = {1: _costs, 2: _map}.get(len(surface.names))
    blocks = [pictures(facts, surface)] if pictures else []
    summary = f"{label}: {len(surface.values)} settings tried"
    return details(summary, *blocks, _list(surface), method=facts.index[label])


def setting_text(value: object) -> str:
    """Return a setting's value as text."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _point(parameters: Mapping[str, Any]) -> Point:
    # A parameter may be a list, such as the steps of annealing; as text it can be a key.
    values = (
        (name, str(value) if isinstance(value, (list, dict)) else value) for name, value in parameters.items()
    )
    return tuple(sorted(values))


def _costs(facts: Facts, surface: Landscape) -> Markup:
    """Return the loss of each value against the best of its fold: folds differ far more than settings."""
    (name,) = surface.names
    order = _ordered({point[0][1] for point in surface.values})
    numeric = _are_numbers(order)
    at = {value: float(value) if numeric else float(index) for index, value in enumerate(order)}
    lines = []
    for index, fold in enumerate(facts.result.folds):
        values = {point: folds[fold] for point, folds in surface.values.items() if fold in folds}
        below = {point: (at[point[0][1]], value - max(values.values())) for point, value in values.items()}
        if below:
            marked = [below[point] for point, folds in surface.chosen.items() if fold in folds]
            lines.append(Line(fold, sorted(below.values()), f"k{index % 8} thin", marked=marked))
    costs = defaultdict(list)
    for x, cost in (point for line in lines for point in line.points):
        costs[x].append(cost)
    middle = Line("mean", sorted((x, fmean(seconds)) for x, seconds in costs.items()), "middle")
    title = f"{surface.label}: validation {surface.by} below the best of each fold, over {name}"
    drawing = line_chart(
        title,
        "A thin line for each fold, a bold one for their mean; a dot is a selected setting. The numbers "
        "are below.",
        [*lines, middle],
        height=220,
        ticks=[(at[value], setting_text(value)) for value in order[:: -(-len(order) // 7)]],
        logarithmic=numeric and order[0] > 0 and order[-1] / order[0] > WIDE,
        bounds=(-1.0, 0.0),
        across_name=name,
    )
    return figure(drawing, f"{title}. A dot is the setting that a fold selected.", [middle, *lines])


def _are_numbers(values: Iterable[object]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def _ordered(values: set[Any]) -> list[Any]:
    return sorted(values) if _are_numbers(values) else sorted(values, key=str)


def _map(_: Facts, surface: Landscape) -> Markup:
    """Return a table of means over folds, shaded by value."""
    first, second = surface.names
    down, across = (_ordered({point[at][1] for point in surface.values}) for at in (0, 1))
    means, rows = surface.means, []
    low, high = min(means.values()), max(means.values())
    for one in down:
        cells = [Cell(f"{first} = {setting_text(one)}")]
        for two in across:
            point = ((first, one), (second, two))
            value, folds = means.get(point), surface.chosen.get(point, [])
            if value is None:
                cells.append(NOTHING)
                continue
            shade = int(9.999 * (value - low) / (high - low)) if high > low else 5
            text = number(value) + (f" ({len(folds)})" if folds else "")
            cells.append(Cell(text, value, value == high, tone=f"up{shade}", title=", ".join(folds)))
        rows.append(Row(cells))
    caption = f"{surface.label}: mean validation {surface.by}; in brackets, how many folds selected the point"
    return grid(
        caption, ["", *(f"{second} = {setting_text(value)}" for value in across)], rows, sortable=False
    )


def _list(surface: Landscape) -> Markup:
    means = surface.means
    rows = []
    for point in sorted(means, key=lambda point: -means[point])[:LISTED]:
        folds = surface.values[point].values()
        heading = Cell(", ".join(f"{name} = {setting_text(value)}" for name, value in point) or "–")
        chosen = Cell(", ".join(surface.chosen.get(point, [])) or "–")
        rows.append(Row([heading, score(means[point]), score(min(folds)), score(max(folds)), chosen]))
    more = f", the best {LISTED} of {len(means)}" if len(means) > LISTED else ""
    columns = [
        ", ".join(surface.names), f"mean validation {surface.by}", "smallest fold", "largest fold",
        "selected on",
    ]  # fmt: skip
    return grid(f"{surface.label}: settings by validation {surface.by}{more}", columns, rows)


def settings(facts: Facts) -> list[Markup]:
    """Return the settings selected, and the values of all settings tried."""
    if not facts.trained:
        return []
    by = str(facts.content.select_by)
    trained = [cell for cell in facts.result.finished if cell.tried and cell.chosen]
    count = sum(bool(at_the_end(cell)) for cell in trained)
    ends = "No fold selects the end of a grid where the validation value still rises."
    if count:
        ends = (
            f"{count} of {len(trained)} are at the end of the grid where the validation value still rises "
            f"({MARK}): a wider grid may do better, with --grid."
        )
    blocks: list[Markup] = [
        paragraph(
            f"Settings are selected on the validation queries of each fold, by {by} under the standard "
            "convention. Where the folds select different settings, the charts below show how much it "
            f"matters. {ends}"
        ),
        _selected(facts, by),
    ]
    if facts.result.failures:
        lines = [
            f"{cell.method} on {cell.fold}: {cell.error.type}: {cell.error.message}"
            for cell in facts.result.failures
        ]
        blocks.append(warned("Runs that failed", lines))
    tried = [landscape(facts, label, by) for label in facts.result.methods]
    return [*blocks, *gathered("All settings tried, by method", tried)]


def _selected(facts: Facts, by: str) -> Markup:
    rows = []
    for label in facts.result.methods:
        cells: list[Cell] = []
        for fold in facts.result.folds:
            cell = facts.result.record(label, fold)
            if cell is None:
                cells.append(FAILED)
            else:
                values = ", ".join(setting_text(value) for _, value in sorted(_settings(cell).items())) or "–"
                ends = at_the_end(cell)
                title = "" if cell.validation is None else f"validation {by} {number(cell.validation)}"
                title += f"; {cell.scaling.reason}" if cell.scaling.reason else ""
                title += f"; {', '.join(ends)} at the end of the grid" if ends else ""
                cells.append(Cell(values, mark=MARK if ends else "", title=title))
        cells_of_method = facts.result.of(label)
        names = ", ".join(sorted(_settings(cells_of_method[0]))) if cells_of_method else ""
        validated = [cell.validation for cell in cells_of_method if cell.validation is not None]
        value = fmean(validated) if validated and len(validated) == len(cells_of_method) else None
        rows.append(facts.row(label, [Cell(names or "–", tone="long"), *cells, score(value)]))
    columns = ["method", "settings", *facts.result.folds, f"mean validation {by}"]
    return grid("Settings selected on every fold", columns, rows)


def _settings(cell: Ranking) -> dict[str, Any]:
    """Return the settings that a fold selected, and the scaling if "auto" chose one."""
    return cell.chosen | ({"scaling": cell.scaling.kind} if cell.scaling.reason else {})
