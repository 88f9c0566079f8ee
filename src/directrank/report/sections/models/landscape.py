"""The validation values of all settings that a method tried, drawn by their number of parameters."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from directrank.report.blocks import Cell, Chart, Column, Details, Grid, KeyEntry, Row
from directrank.report.charts import Line, line_chart
from directrank.report.facts import Facts, mean
from directrank.report.opening import number

#: Points of a grid that are listed at most, the best first.
LISTED = 10
#: Values that spread over so many times are drawn on a logarithmic axis.
WIDE = 20.0

Point = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Landscape:
    """What a method tried.

    Attributes
    ----------
    label, by : str
        The method, and the measure that chose.
    names : list of str
        Of the parameters.
    values : dict of Point to dict of str to float
        The validation value of each point on each fold, a mean over seeds.
    chosen : dict of Point to list of str
        The folds that chose each point.
    """

    label: str
    by: str
    names: list[str]
    values: dict[Point, dict[str, float]]
    chosen: dict[Point, list[str]]

    @property
    def means(self) -> dict[Point, float]:
        """The mean over folds of each point."""
        return {point: mean(folds.values()) for point, folds in self.values.items()}


def landscape(facts: Facts, label: str, by: str) -> Details | None:
    """Return the landscape of a method: a line over one parameter, a map of two, and the best points."""
    found = _gathered(facts, label, by)
    if len(found.values) < 2:
        return None
    pictures = {1: _costs, 2: _map}.get(len(found.names))
    blocks = [pictures(facts, found)] if pictures else []
    summary = f"{label}: {len(found.values)} settings tried"
    return Details(summary, [*blocks, _list(found)], method=facts.place[label])


def settings_text(parameters: dict[str, Any]) -> str:
    """Return settings as text."""
    return ", ".join(f"{name} = {shown(value)}" for name, value in sorted(parameters.items())) or "–"


def shown(value: Any) -> str:
    """Return a setting's value, numbers without needless digits."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _gathered(facts: Facts, label: str, by: str) -> Landscape:
    found: dict[Point, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    chosen: dict[Point, list[str]] = defaultdict(list)
    for cell in facts.cells(label):
        chosen[_point(cell["chosen"])].append(cell["fold"])
        for each in cell["tried"]:
            found[_point(each["parameters"])][cell["fold"]].append(each["validation"])
    values = {point: {fold: mean(all_) for fold, all_ in folds.items()} for point, folds in found.items()}
    return Landscape(label, by, [name for name, _ in next(iter(values), ())], values, chosen)


def _point(parameters: dict[str, Any]) -> Point:
    return tuple(sorted(parameters.items()))


def _costs(facts: Facts, found: Landscape) -> Chart:
    """Return what every value costs against the best of its fold: folds differ far more than settings."""
    (name,) = found.names
    place = _places([point[0][1] for point in found.values])
    lines = _cost_lines(facts, found, place)
    costs = defaultdict(list)
    for line in lines:
        for x, cost in line.points:
            costs[x].append(cost)
    middle = Line("mean", sorted((x, mean(each)) for x, each in costs.items()), "middle")
    order = sorted(place, key=lambda value: place[value])
    drawing = line_chart(
        f"{found.label}: validation {found.by} below the best of each fold, over {name}",
        "A thin line a fold, a bold one for their mean; a dot where a fold chose. The numbers are below.",
        [*lines, middle],
        height=220,
        ticks=[(place[value], shown(value)) for value in order[:: -(-len(order) // 7)]],
        logarithmic=_is_wide(order),
        bounds=(-1.0, 0.0),
        across_name=name,
    )
    key = [KeyEntry("middle", "mean"), *(KeyEntry(line.style, line.label) for line in lines)]
    said = (
        f"What each {name} costs: validation {found.by} below the best of the fold; a dot where a fold chose."
    )
    return Chart(drawing, said, key)


def _cost_lines(facts: Facts, found: Landscape, place: dict[Any, float]) -> list[Line]:
    lines = []
    for at, fold in enumerate(facts.result.folds):
        values = {point: folds[fold] for point, folds in found.values.items() if fold in folds}
        if values:
            best = max(values.values())
            costs = {point: (place[point[0][1]], value - best) for point, value in values.items()}
            marked = [costs[point] for point, folds in found.chosen.items() if fold in folds]
            lines.append(Line(fold, sorted(costs.values()), f"k{at % 8} thin", marked=marked))
    return lines


def _places(values: list[Any]) -> dict[Any, float]:
    """Return the place of each value on an axis: itself, or its turn if it is no number."""
    if _are_numbers(values):
        return {value: float(value) for value in values}
    return {value: float(turn) for turn, value in enumerate(dict.fromkeys(values))}


def _is_wide(order: list[Any]) -> bool:
    return _are_numbers(order) and order[0] > 0 and order[-1] / order[0] > WIDE


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def _map(_: Facts, found: Landscape) -> Grid:
    """Return a table of means over folds, shaded by value."""
    first, second = found.names
    down, across = (_sorted({point[place][1] for point in found.values}) for place in (0, 1))
    rows = [
        Row(
            [
                Cell(f"{first} = {shown(one)}"),
                *(_map_cell(found, ((first, one), (second, two))) for two in across),
            ]
        )
        for one in down
    ]
    columns = [Column("", left=True), *(Column(f"{second} = {shown(each)}") for each in across)]
    caption = f"{found.label}: mean validation {found.by}; in brackets, how many folds chose the point"
    return Grid(caption, columns, rows, sortable=False)


def _map_cell(found: Landscape, point: Point) -> Cell:
    means = found.means
    if point not in means:
        return Cell("–")
    low, high, value = min(means.values()), max(means.values()), means[point]
    shade = int(9.999 * (value - low) / (high - low)) if high > low else 5
    folds = found.chosen.get(point, [])
    text = number(value) + (f" ({len(folds)})" if folds else "")
    return Cell(text, value, value == high, tone=f"up{shade}", title=", ".join(folds))


def _sorted(values: set[Any]) -> list[Any]:
    return sorted(values) if _are_numbers(values) else sorted(values, key=str)


def _list(found: Landscape) -> Grid:
    means = found.means
    rows = []
    for point in sorted(means, key=lambda each: -means[each])[:LISTED]:
        folds = found.values[point].values()
        numbers = (means[point], min(folds), max(folds))
        cells = [Cell(number(each), each) for each in numbers]
        chosen = Cell(", ".join(found.chosen.get(point, [])) or "–", tone="left")
        rows.append(Row([Cell(settings_text(dict(point))), *cells, chosen]))
    more = f", the best {LISTED} of {len(means)}" if len(means) > LISTED else ""
    columns = [
        Column(", ".join(found.names), left=True), Column(f"mean validation {found.by}"),
        Column("least fold"), Column("largest fold"), Column("chosen on", left=True),
    ]  # fmt: skip
    return Grid(f"{found.label}: settings by validation {found.by}{more}", columns, rows)
