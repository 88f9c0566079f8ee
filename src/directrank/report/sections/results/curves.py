"""nDCG at every cutoff: how good the first k documents are."""

from markupsafe import Markup

from directrank.report.blocks import figure, grid, paragraph, score, variant
from directrank.report.charts import Line, line_chart
from directrank.report.charts.lines import colour
from directrank.report.facts import Facts, mean

#: This many of the best methods are highlighted at first.
BOLD = 6


def build(facts: Facts) -> list[Markup]:
    """Return a chart for every convention."""
    charts = [(each, _chart(facts, each)) for each in facts.result.conventions]
    shown = [variant(chart, convention=each) for each, chart in charts if chart is not None]
    return [paragraph("How good the first k documents are, for every k."), *shown] if shown else []


def _mean_curves(facts: Facts, convention: str) -> dict[str, list[float]]:
    """Return the mean over folds of each method's curve, the best method first."""
    curves = {}
    for label in facts.ranked(convention, facts.main):
        cells = facts.cells(label)
        if label in facts.whole and all("curve" in cell for cell in cells):
            by_fold = (cell["curve"][convention] for cell in cells)
            curves[label] = [mean(values) for values in zip(*by_fold, strict=True)]
    return curves


def _chart(facts: Facts, convention: str) -> Markup | None:
    curves = _mean_curves(facts, convention)
    if not curves:
        return None
    cutoffs = range(1, len(next(iter(curves.values()))) + 1)
    title = f"Mean test nDCG of the first k documents, convention {convention}"
    best = max(curves, key=lambda label: curves[label][-1])
    lines = [
        Line(
            label,
            [(float(k), value) for k, value in zip(cutoffs, values, strict=True)],
            colour(rank) + (" faint" if rank >= BOLD else ""),
            facts.index[label],
        )
        for rank, (label, values) in enumerate(curves.items())
    ]
    drawing = line_chart(
        title,
        f"A line for each method over k from 1 to {cutoffs[-1]}; at k = {cutoffs[-1]}, {best} is highest. "
        "The numbers are in a table below.",
        lines[::-1],
        height=300,
        ticks=[(float(k), str(k)) for k in cutoffs],
        across_name="k",
    )
    rows = [facts.row(label, [score(value) for value in values]) for label, values in curves.items()]
    numbers = grid(title, ["method", *(f"@{k}" for k in cutoffs)], rows, name="curves")
    return figure(drawing, f"{title}. Select a method in the key to highlight its line.", lines, numbers)
