"""The settings that each method selected on the validation queries, and all that it tried."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from directrank.experiments.records import Parameters, Ranking
from directrank.report.blocks import (
    NOTHING,
    Cell,
    Row,
    details,
    figure,
    gathered,
    grid,
    number,
    paragraph,
    score,
    warned,
)
from directrank.report.charts import Line, line_chart
from directrank.report.facts import Facts, mean

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
        of_points[_key(fit.parameters)].append(fit.validation)
    values = {key: mean(each) for key, each in of_points.items()}
    return [name for name in sorted(cell.chosen) if _still_rises(name, cell, values)]


def _still_rises(name: str, cell: Ranking, values: dict[Any, float]) -> bool:
    chosen, tried = cell.chosen, [fit.parameters[name] for fit in cell.tried if name in fit.parameters]
    numbers: list[float] = sorted({value for value in tried if _is_number(value)})
    if len(numbers) < FEWEST or chosen[name] not in (numbers[0], numbers[-1]):
        return False
    next_one = numbers[1] if chosen[name] == numbers[0] else numbers[-2]
    here, inside = (values.get(_key(chosen | {name: each})) for each in (chosen[name], next_one))
    return here is not None and inside is not None and here > inside


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _key(parameters: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, repr(value)) for name, value in parameters.items()))


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
        return {point: mean(folds.values()) for point, folds in self.values.items()}


def landscape(facts: Facts, label: str, by: str) -> Markup | None:
    """Return a chart over one parameter or a map of two, and the best points."""
    if any(cell.validation is None for cell in facts.result.of(label)):
        return None
    found = _gathered(facts, label, by)
    if len(found.values) < 2:
        return None
    pictures = {1: _costs, 2: _map}.get(len(found.names))
    blocks = [pictures(facts, found)] if pictures else []
    summary = f"{label}: {len(found.values)} settings tried"
    return details(summary, *blocks, _list(found), method=facts.index[label])


def shown(value: Any) -> str:
    """Return a setting's value as text."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _gathered(facts: Facts, label: str, by: str) -> Landscape:
    found: dict[Point, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    chosen: dict[Point, list[str]] = defaultdict(list)
    for cell in facts.result.of(label):
        chosen[_point(cell.chosen)].append(cell.fold)
        for fit in cell.tried:
            found[_point(fit.parameters)][cell.fold].append(fit.validation or 0.0)
    values = {point: {fold: mean(all_) for fold, all_ in folds.items()} for point, folds in found.items()}
    return Landscape(label, by, [name for name, _ in next(iter(values), ())], values, chosen)


def _point(parameters: dict[str, Any]) -> Point:
    # A parameter may be a list, such as the steps of annealing; as text it can be a key.
    values = (
        (name, str(each) if isinstance(each, (list, dict)) else each) for name, each in parameters.items()
    )
    return tuple(sorted(values))


def _costs(facts: Facts, found: Landscape) -> Markup:
    """Return the loss of each value against the best of its fold: folds differ far more than settings."""
    (name,) = found.names
    order = _ordered({point[0][1] for point in found.values})
    numeric = _are_numbers(order)
    at = {value: float(value) if numeric else float(index) for index, value in enumerate(order)}
    lines = _cost_lines(facts, found, at)
    costs = defaultdict(list)
    for x, cost in (point for line in lines for point in line.points):
        costs[x].append(cost)
    middle = Line("mean", sorted((x, mean(each)) for x, each in costs.items()), "middle")
    title = f"{found.label}: validation {found.by} below the best of each fold, over {name}"
    drawing = line_chart(
        title,
        "A thin line for each fold, a bold one for their mean; a dot is a selected setting. The numbers "
        "are below.",
        [*lines, middle],
        height=220,
        ticks=[(at[value], shown(value)) for value in order[:: -(-len(order) // 7)]],
        logarithmic=numeric and order[0] > 0 and order[-1] / order[0] > WIDE,
        bounds=(-1.0, 0.0),
        across_name=name,
    )
    return figure(drawing, f"{title}. A dot is the setting that a fold selected.", [middle, *lines])


def _cost_lines(facts: Facts, found: Landscape, at: dict[Any, float]) -> list[Line]:
    lines = []
    for index, fold in enumerate(facts.result.folds):
        values = {point: folds[fold] for point, folds in found.values.items() if fold in folds}
        costs = {point: (at[point[0][1]], value - max(values.values())) for point, value in values.items()}
        if costs:
            marked = [costs[point] for point, folds in found.chosen.items() if fold in folds]
            lines.append(Line(fold, sorted(costs.values()), f"k{index % 8} thin", marked=marked))
    return lines


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def _ordered(values: set[Any]) -> list[Any]:
    return sorted(values) if _are_numbers(values) else sorted(values, key=str)


def _map(_: Facts, found: Landscape) -> Markup:
    """Return a table of means over folds, shaded by value."""
    first, second = found.names
    down, across = (_ordered({point[at][1] for point in found.values}) for at in (0, 1))
    means, rows = found.means, []
    low, high = min(means.values()), max(means.values())
    for one in down:
        cells = [Cell(f"{first} = {shown(one)}")]
        for two in across:
            point = ((first, one), (second, two))
            value, folds = means.get(point), found.chosen.get(point, [])
            if value is None:
                cells.append(NOTHING)
                continue
            shade = int(9.999 * (value - low) / (high - low)) if high > low else 5
            text = number(value) + (f" ({len(folds)})" if folds else "")
            cells.append(Cell(text, value, value == high, tone=f"up{shade}", title=", ".join(folds)))
        rows.append(Row(cells))
    caption = f"{found.label}: mean validation {found.by}; in brackets, how many folds selected the point"
    return grid(caption, ["", *(f"{second} = {shown(each)}" for each in across)], rows, sortable=False)


def _list(found: Landscape) -> Markup:
    means = found.means
    rows = []
    for point in sorted(means, key=lambda each: -means[each])[:LISTED]:
        folds = found.values[point].values()
        heading = Cell(", ".join(f"{name} = {shown(value)}" for name, value in point) or "–")
        chosen = Cell(", ".join(found.chosen.get(point, [])) or "–")
        rows.append(Row([heading, score(means[point]), score(min(folds)), score(max(folds)), chosen]))
    more = f", the best {LISTED} of {len(means)}" if len(means) > LISTED else ""
    columns = [
        ", ".join(found.names), f"mean validation {found.by}", "smallest fold", "largest fold",
        "selected on",
    ]  # fmt: skip
    return grid(f"{found.label}: settings by validation {found.by}{more}", columns, rows)


def settings(facts: Facts) -> list[Markup]:
    """Return the settings selected, and the values of all settings tried."""
    if not facts.trained:
        return []
    by = str(facts.content.select_by)
    blocks: list[Markup] = [
        paragraph(
            f"Settings are selected on the validation queries of each fold, by {by} under the standard "
            "convention. Where the folds select different settings, the charts below show how much it "
            f"matters. {_at_ends(facts)}"
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
                cells.append(Cell("failed", tone="failed"))
            else:
                values = ", ".join(shown(value) for _, value in sorted(_settings(cell).items())) or "–"
                ends = at_the_end(cell)
                title = "" if cell.validation is None else f"validation {by} {number(cell.validation)}"
                title += f"; {cell.scaling.reason}" if cell.scaling.reason else ""
                title += f"; {', '.join(ends)} at the end of the grid" if ends else ""
                cells.append(Cell(values, mark=MARK if ends else "", title=title))
        known = facts.result.of(label)
        names = ", ".join(sorted(_settings(known[0]))) if known else ""
        validated = [cell.validation for cell in known if cell.validation is not None]
        value = mean(validated) if validated and len(validated) == len(known) else None
        rows.append(facts.row(label, [Cell(names or "–", tone="long"), *cells, score(value)]))
    columns = ["method", "settings", *facts.result.folds, f"mean validation {by}"]
    return grid("Settings selected on every fold", columns, rows)


def _at_ends(facts: Facts) -> str:
    """Return how many selected settings are at the end of a grid, and what to do about it."""
    known = [cell for cell in facts.result.finished if cell.tried and cell.chosen]
    count = sum(bool(at_the_end(cell)) for cell in known)
    if not count:
        return "No fold selects the end of a grid where the validation value still rises."
    return (
        f"{count} of {len(known)} are at the end of the grid where the validation value still rises "
        f"({MARK}): a wider grid may do better, with --grid."
    )


def _settings(cell: Ranking) -> Parameters:
    """Return the settings that a fold selected, and the scaling if "auto" chose one."""
    return cell.chosen | ({"scaling": cell.scaling.kind} if cell.scaling.reason else {})
