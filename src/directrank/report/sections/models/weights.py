"""The features that models use."""

from markupsafe import Markup

from directrank.report.blocks import Cell, Column, Row, details, gathered, grid, paragraph
from directrank.report.facts import Facts, mean

#: Features of the overview, and of each method.
COMMON, OWN = 8, 15

Shares = dict[str, list[float]]


def build(facts: Facts) -> list[Markup]:
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
    for cell in facts.cells(label):
        weights = cell.get("weights")
        if not weights:
            return {}
        (values,) = (weights[name] for name in weights if name != "features")
        total = sum(map(abs, values)) or 1.0
        for name, each in zip(weights["features"], values, strict=True):
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
