"""Which features the linear models use."""

from typing import Any

from directrank.report.blocks import Cell, Column, Details, Grid, Row, Section, plain
from directrank.report.facts import Facts, mean

#: Features of the overview, and of each method.
COMMON, OWN = 8, 15


def build(facts: Facts) -> list[Any]:
    """Return the shares of the most used features, over methods and of each."""
    shares = {label: found for label in facts.result.methods if (found := _shares(facts, label))}
    if not shares:
        return []
    return [
        plain(
            "Weights of the linear models as shares: each fold's weights are divided by the sum of their "
            "magnitudes, and the mean over folds is shown. They compare only where features have the same "
            "scale, and features that say the same share their weight at will."
        ),
        _common(facts, shares),
        *(
            Details(f"{label}: weights", [_own(label, found)], method=facts.place[label])
            for label, found in shares.items()
        ),
    ]


def _shares(facts: Facts, label: str) -> dict[str, list[float]]:
    """Return each feature's share of the weights on every fold; empty for models that have none."""
    shares: dict[str, list[float]] = {}
    for cell in facts.cells(label):
        weights = cell.get("weights")
        if not weights:
            return {}
        total = sum(map(abs, weights["coefficients"])) or 1.0
        for name, each in zip(weights["features"], weights["coefficients"], strict=True):
            shares.setdefault(name, []).append(each / total)
    return shares


def _common(facts: Facts, shares: dict[str, dict[str, list[float]]]) -> Grid:
    """Return methods by features, shaded by share."""
    totals: dict[str, float] = {}
    for found in shares.values():
        for name, values in found.items():
            totals[name] = totals.get(name, 0.0) + abs(mean(values))
    names = sorted(totals, key=lambda name: -totals[name])[:COMMON]
    most = max(abs(mean(found[name])) for found in shares.values() for name in names if name in found) or 1.0
    rows = []
    for label, found in shares.items():
        cells = [Cell(label)]
        for name in names:
            value = mean(found[name]) if name in found else 0.0
            shade = min(9, int(10 * abs(value) / most))
            cells.append(Cell(_percent(value), value, tone=f"{'up' if value >= 0 else 'down'}{shade}"))
        rows.append(Row(cells, facts.place[label]))
    columns = [Column("method", left=True), *(Column(_feature(name)) for name in names)]
    return Grid(f"The {len(names)} features that the methods use most", columns, rows, name="weights")


def _own(label: str, found: dict[str, list[float]]) -> Grid:
    used = [name for name, values in found.items() if any(values)]
    names = sorted(used, key=lambda name: -abs(mean(found[name])))[:OWN]
    most = max((abs(mean(found[name])) for name in names), default=1.0) or 1.0
    rows = []
    for name in names:
        value = mean(found[name])
        ends = sorted((50.0, 50.0 + 50.0 * value / most))
        bar = (ends[0], ends[1], "plus" if value >= 0 else "minus")
        low, high = min(found[name]), max(found[name])
        rows.append(
            Row(
                [
                    Cell(_feature(name)), Cell(_percent(value), value), Cell(_percent(low), low),
                    Cell(_percent(high), high), Cell("", value, bar=bar, tone="barcell"),
                ]
            )
        )  # fmt: skip
    columns = [
        Column("feature", left=True), Column("mean share"), Column("least fold"), Column("largest fold"),
        Column("share", title="to the right positive, to the left negative"),
    ]  # fmt: skip
    more = f", the largest {OWN} of {len(used)}" if len(used) > OWN else ""
    return Grid(f"{label}: weights as shares{more}", columns, rows)


def _feature(name: str) -> str:
    return f"feature {name}" if name.isdigit() else name


def _percent(value: float) -> str:
    return f"{round(100 * value, 1) + 0.0:.1f} %".replace("-", "−")


SECTION = Section("weights", "Feature weights", build)
