"""The audit: the loss of each model tested, beside every bound on it and every approximation of it."""

from typing import Any

from directrank.report.blocks import Cell, Column, Details, Grid, Row, Section, note, plain
from directrank.report.facts import Facts, mean
from directrank.report.opening import number

Named = tuple[str, str]


def build(facts: Facts) -> list[Any]:
    """Return the means of bounds and approximations of every method."""
    audited = {label: found for label in facts.result.methods if (found := _audited(facts, label))}
    if not audited:
        return []
    names = list(dict.fromkeys(name for found in audited.values() for name in found["rows"]))
    measure = facts.summary["select_by"]
    kinds = [("Bounds", [each for each in names if each[0] != "approximation"])]
    kinds.append(("Approximations", [each for each in names if each[0] == "approximation"]))
    return [
        plain(
            f"Most methods do not minimise the loss 1 − {measure} itself but something smooth or convex in "
            "its place: a bound that lies above it, or an approximation. Here each of these is evaluated at "
            "the models tested, on their test queries. A bound close to the loss says that lowering it "
            "lowers the loss; one far above says little."
        ),
        _table(facts, measure, audited),
        *(
            Details(title, [_means(facts, title, measure, chosen, audited)], open=False)
            for title, chosen in kinds
            if chosen
        ),
        note(
            "Queries on which every ranking is as good are left out, so the loss differs from that of the "
            "results. Bounds depend on the scale of scores: those on margins ask for a margin of one unit of "
            "score."
        ),
    ]


def _audited(facts: Facts, label: str) -> dict[str, Any]:
    """Return the audit of a method, means over folds: its loss, and every row by kind and name."""
    found = [cell["bounds"] for cell in facts.cells(label) if cell.get("bounds")]
    if not found:
        return {}
    rows: dict[Named, list[dict[str, Any]]] = {}
    for each in found:
        for row in each["rows"]:
            rows.setdefault((row["kind"], row["name"]), []).append(row)
    return {"loss": mean(each["loss"] for each in found), "rows": rows}


def _table(facts: Facts, measure: str, audited: dict[str, dict[str, Any]]) -> Grid:
    """Return, of every method, its tightest bound, its closest approximation, and whether all bounds hold."""
    rows = []
    for label, found in audited.items():
        bounds = {name: rows for name, rows in found["rows"].items() if _holds(rows) is not None}
        near = {name: rows for name, rows in found["rows"].items() if name[0] == "approximation"}
        failing = [name for name, rows in bounds.items() if _holds(rows) is False]
        loss = found["loss"]
        cells = [Cell(label), Cell(number(loss), loss), *_closest(bounds), *_closest(near)]
        verdict = "yes" if not failing else "no: " + ", ".join(" ".join(name) for name in failing)
        cells.append(Cell(verdict if bounds else "–", tone="failed" if failing else ""))
        rows.append(Row(cells, facts.place[label]))
    columns = [
        Column("method", left=True), Column(f"1 − {measure}"), Column("tightest bound"),
        Column("which", left=True), Column("closest approximation"), Column("which", left=True),
        Column("all bounds hold"),
    ]  # fmt: skip
    return Grid("The loss on test queries, and what comes closest to it", columns, rows)


def _closest(rows: dict[Named, list[dict[str, Any]]]) -> list[Cell]:
    if not rows:
        return [Cell("–"), Cell("–", tone="left")]
    name = min(rows, key=lambda each: mean(row["distance"] for row in rows[each]))
    value = mean(row["mean"] for row in rows[name])
    return [Cell(number(value), value), Cell(_words(name), tone="left long")]


def _means(facts: Facts, title: str, measure: str, names: list[Named], audited) -> Grid:
    rows = []
    for label, found in audited.items():
        cells = [Cell(label), Cell(number(found["loss"]), found["loss"])]
        for name in names:
            each = found["rows"].get(name)
            if each is None:
                cells.append(Cell("–"))
                continue
            value = mean(row["mean"] for row in each)
            loosest = max(each, key=lambda row: row["largest"])
            said = f"largest distance {loosest['largest']:.4g}, on query {loosest['loosest']}"
            tone = "failed" if _holds(each) is False else ""
            cells.append(
                Cell(f"{value:.4f}" if abs(value) < 100 else f"{value:.3g}", value, title=said, tone=tone)
            )
        rows.append(Row(cells, facts.place[label]))
    columns = [
        Column("method", left=True),
        Column(f"1 − {measure}"),
        *(Column(_words(name)) for name in names),
    ]
    return Grid(f"{title}: means over test queries", columns, rows)


def _holds(rows: list[dict[str, Any]]) -> bool | None:
    known = [row["holds"] for row in rows if row["holds"] is not None]
    return all(known) if known else None


def _words(name: Named) -> str:
    kind, what = name
    return what if kind in ("approximation", "bound") else f"{kind}: {what}"


SECTION = Section("bounds", "Bounds", build)
