"""Theory checks: the loss of each model tested, with its bounds and approximations."""

from typing import Any

from markupsafe import Markup

from directrank.report.blocks import NOTHING, Cell, Row, details, grid, note, paragraph, score
from directrank.report.facts import Facts, mean

Named = tuple[str, str]
Rows = dict[Named, list[dict[str, Any]]]


def build(facts: Facts) -> list[Markup]:
    """Return the means of bounds and approximations of every method."""
    audited = {label: found for label in facts.result.methods if (found := _audited(facts, label))}
    if not audited:
        return []
    names = list(dict.fromkeys(name for found in audited.values() for name in found["rows"]))
    measure = facts.summary["select_by"]
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
        _table(facts, measure, audited),
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


def _audited(facts: Facts, label: str) -> dict[str, Any]:
    """Return the audit of a method, means over folds: its loss, and every row by kind and name."""
    audited = {cell["fold"] for cell in facts.result.cells if cell.get("bounds")}
    cells = [cell for cell in facts.cells(label) if cell["fold"] in audited]
    found = [cell["bounds"] for cell in cells if cell.get("bounds")]
    # A rival has none, and it may be the method that was chosen on a fold.
    if not found or len(found) < len(cells):
        return {}
    rows: Rows = {}
    for each in found:
        for row in each["rows"]:
            rows.setdefault((row["kind"], row["name"]), []).append(row)
    return {"loss": mean(each["loss"] for each in found), "rows": rows}


def _table(facts: Facts, measure: str, audited: dict[str, dict[str, Any]]) -> Markup:
    """Return each method's tightest bound, its closest approximation, and whether all bounds hold."""
    rows = []
    for label, found in audited.items():
        bounds = {name: rows for name, rows in found["rows"].items() if _holds(rows) is not None}
        near = {name: rows for name, rows in found["rows"].items() if name[0] == "approximation"}
        failing = [" ".join(name) for name, rows in bounds.items() if _holds(rows) is False]
        verdict = f"no: {', '.join(failing)}" if failing else "yes" if bounds else "–"
        last = Cell(verdict, tone="failed" if failing else "")
        rows.append(facts.row(label, [score(found["loss"]), *_closest(bounds), *_closest(near), last]))
    columns = [
        "method", f"1\u00a0−\u00a0{measure}", "tightest bound", "which", "closest approximation", "which",
        "all bounds hold",
    ]  # fmt: skip
    return grid("The loss on test queries, and what is closest to it", columns, rows)


def _closest(rows: Rows) -> list[Cell]:
    if not rows:
        return [NOTHING, NOTHING]
    name = min(rows, key=lambda each: mean(row["distance"] for row in rows[each]))
    return [score(mean(row["mean"] for row in rows[name])), Cell(_words(name), tone="long")]


def _means(facts: Facts, title: str, measure: str, names: list[Named], audited) -> Markup:
    rows: list[Row] = []
    for label, found in audited.items():
        cells = [_mean(found["rows"][name]) if name in found["rows"] else NOTHING for name in names]
        rows.append(facts.row(label, [score(found["loss"]), *cells]))
    columns = ["method", f"1\u00a0−\u00a0{measure}", *map(_words, names)]
    return grid(f"{title}: means over test queries", columns, rows)


def _mean(rows: list[dict[str, Any]]) -> Cell:
    value = mean(row["mean"] for row in rows)
    loosest = max(rows, key=lambda row: row["largest"])
    title = f"largest distance {loosest['largest']:.4g}, on query {loosest['loosest']}"
    text = f"{value:.4f}" if abs(value) < 100 else f"{value:.3g}"
    return Cell(text, value, title=title, tone="failed" if _holds(rows) is False else "")


def _holds(rows: list[dict[str, Any]]) -> bool | None:
    known = [row["holds"] for row in rows if row["holds"] is not None]
    return all(known) if known else None


def _words(name: Named) -> str:
    kind, what = name
    return what if kind in ("approximation", "bound") else f"{kind}: {what}"
