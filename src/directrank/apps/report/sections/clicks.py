"""A comparison by clicks as a page: what the best method would earn, the propensities, and every method."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from directrank.apps.report.blocks import (
    NOTHING,
    Cell,
    Column,
    DotRow,
    Row,
    dots,
    figure,
    grid,
    paragraph,
    score,
    signed,
    warned,
)
from directrank.apps.report.charts import Line, Scale, colour, line_chart, typographic
from directrank.apps.report.facts import Facts
from directrank.storage.strict_json import JSONObject

#: What a measure of clicks adds up over a search.
EARNED = {"DCG": "discounted clicks", "P": "clicks on the first documents"}
WARNING = ": WARNING: "


def opening(facts: Facts) -> list[Markup]:
    """Return the sentence about the best method, a chart of all, and the warnings, each once."""
    content: Any = facts.result.by_clicks
    measure, baseline = content.measure, content.baseline
    rows = [row for row in content.rows if row.name != baseline]
    unit = f"{EARNED.get(measure.partition('@')[0], f'{measure} of clicks')} per search"
    better = [row for row in rows if row.better]
    best = max(better or rows, key=lambda row: row.difference, default=None)
    blocks = []
    if best is not None:
        change, low, high = _percent(best)
        interval = f" (95 % interval for new queries {low} to {high})" if low else ""
        sentence = f"{best.name} would earn {change} {unit} compared with {baseline}{interval}."
        if not better:
            sentence = (
                f"No method is shown to earn more {unit} than {baseline}. The largest estimate: {sentence}"
            )
        blocks.append(paragraph(sentence, role="lead"))
    ends = [0.0, *(share for row in rows for share in _shares(row))]
    chart = [
        DotRow(
            row.name, None, [shares[0]], 0.0, (shares[1], shares[2]) if len(shares) == 3 else None, None,
            "better" if row.better else "same", _percent(row)[0],
        )
        for row in rows if (shares := _shares(row))
    ]  # fmt: skip
    title = f"{unit[0].upper()}{unit[1:]}: difference to {baseline} in per cent"
    if chart:
        text = f"{title}, with 95 % intervals for new queries. Blue: better. Grey: not shown to be better."
        blocks.append(dots(title, text, Scale(ends), chart))
    doubts: dict[str, list[str]] = {}
    for line in content.lines:
        name, is_warning, flag = line.partition(WARNING)
        if is_warning:
            doubts.setdefault(flag, []).append(name)
    if doubts:
        blocks.append(warned("Doubtful", [f"{flag} ({', '.join(names)})" for flag, names in doubts.items()]))
    return blocks


def methods(facts: Facts) -> list[Markup]:
    """Return the table of methods, and how they were compared."""
    content: Any = facts.result.by_clicks
    by_grades = content.grades_measure
    rows = []
    for row in content.rows:
        change, low, high = _percent(row)
        cells = [
            Cell(row.name), Cell(change, row.difference),
            Cell(f"{low} to {high}" if low else "none"),
            NOTHING if row.name == content.baseline else Cell("yes" if row.better else "no"),
            score(row.value), Cell(signed(row.naive), row.naive),
        ]  # fmt: skip
        if by_grades:
            cells.append(NOTHING if row.grades is None else score(row.grades))
        rows.append(Row(cells))
    columns = [
        "method", Column("difference", f"to {content.baseline}"), "for new queries", "better",
        content.measure, Column("by raw clicks", "the difference if clicks were labels"),
        *([f"{by_grades} on grades"] if by_grades else []),
    ]  # fmt: skip
    scope = [line for line in content.lines if WARNING not in line]
    caption = f"Methods on queries or days that they were not trained on, baseline {content.baseline}"
    return [grid(caption, columns, rows, sortable=False), *map(paragraph, scope)]


def curve(facts: Facts) -> list[Markup]:
    """Return the propensities by position with their intervals, a chart for each context."""
    content: Any = facts.result.by_clicks
    curves = content.propensities
    return [
        block
        for name, part in curves.get("contexts", {"": curves}).items()
        for block in _curve(name, part["propensities"])
    ]


def _curve(context: str, rows: Sequence[JSONObject]) -> list[Markup]:
    lines = [
        Line(label, points, f"{colour(0)}{' dashed' * (key != 'propensity')}")
        for key, label in (("propensity", "propensity"), ("low", "95 % interval"), ("high", ""))
        if len(points := [(row["position"], row[key]) for row in rows if row[key] is not None]) > 1
    ]
    if not lines:
        return []
    title = "Probability that a position is examined, relative to the first" + f", {context}" * bool(context)
    high = max(1.0, *(y for line in lines for _, y in line.points))
    drawing = line_chart(title, title, lines, bounds=(0.0, high), across_name="position")
    table = grid(
        title, ["position", "propensity", "from", "to"], sortable=False,
        rows=[
            Row([Cell(str(row["position"])), *(score(row[key]) for key in ("propensity", "low", "high"))])
            for row in rows
        ],
    )  # fmt: skip
    return [figure(drawing, f"{title}.", [line for line in lines if line.label], table)]


def _shares(row: Any) -> list[float]:
    """Return the difference and its interval in per cent of the baseline's value, as far as there are any."""
    base = row.value - row.difference
    if base <= 0:
        return []
    return [100.0 * value / base for value in (row.difference, *(row.by_queries or ()))]


def _percent(row: Any) -> list[str]:
    """Return the difference of a row and the ends of its interval as printed; these are "" without one."""
    shares = _shares(row)
    values, form = (shares, "{:+.1f} %") if shares else ([row.difference, *(row.by_queries or ())], "{:+.4f}")
    return [*(typographic(form.format(value)) for value in values), "", ""][:3]
