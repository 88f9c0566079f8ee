"""From results to one HTML page that needs nothing else."""

import base64
import hashlib
import os
import shlex
from datetime import datetime
from importlib.resources import files
from typing import Any

from directrank.atomic import write_atomically
from directrank.experiments import Comparison
from directrank.experiments.tables import by_fold, headline, is_error
from directrank.measures import CONVENTIONS, parse_measure
from directrank.report.charts import dot_chart, line_chart
from directrank.report.words import meaning

#: Lines of a chart have so many colours; then they repeat, dashed.
COLOURS = 8


def write_report(result: Comparison, path: str | os.PathLike) -> None:
    """Write the page of a comparison, whole or not at all.

    Parameters
    ----------
    result : Comparison
        From `directrank.compare`, or read back with `directrank.experiments.read_results`.
    path : path

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    write_atomically(path, render(result))


def render(result: Comparison) -> str:
    """Return the page as text.

    It is one file without scripts; its policy forbids everything but its own style, and every text is
    escaped, wherever it came from.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    here = files("directrank.report")
    style = (here / "page.css").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((here / "page.html.jinja").read_text(encoding="utf-8"))
    return template.render(
        style=Markup(style),
        policy=f"default-src 'none'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'",
        **contents(result),
    )


def contents(result: Comparison) -> dict[str, Any]:
    """Return what the template shows."""
    asked = result.conventions[0]
    selected = result.summary["select_by"]
    main = selected if selected in result.measures else result.measures[0]
    ordered = [main, *(measure for measure in result.measures if measure != main)]
    return {
        "result": result,
        "summary": result.summary,
        "written": datetime.fromisoformat(result.summary["written"]).strftime("%Y-%m-%d %H:%M UTC"),
        "main": main,
        "asked": asked,
        "leader": _leader(result, main, asked),
        "headlines": [(convention, headline(result, convention)) for convention in result.conventions],
        "conventions": [(name, CONVENTIONS[name].explanation) for name in result.conventions],
        "dots": dot_chart(result, asked, main),
        "lines": line_chart(result, asked),
        "colours": COLOURS,
        "fold_tables": [(measure, by_fold(result, asked, measure)) for measure in ordered],
        "meanings": _meanings(result),
        "computed": _computed(result),
        "settings": [_settings(result, method) for method in result.methods],
        "warnings": _warnings(result),
        "command": shlex.join(result.summary["command"]),
        "environment": result.summary["environment"],
    }


def _hash(style: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def _leader(result: Comparison, measure: str, convention: str) -> dict[str, Any] | None:
    """Return the method with the best mean, and how many folds it wins against the second."""
    means = [(result.mean(method, measure, convention), method) for method in result.methods]
    sign = -1 if is_error(measure) else 1
    known = [(mean, method) for mean, method in means if mean is not None]
    known.sort(key=lambda pair: -sign * pair[0])
    if len(known) < 2:
        return None
    (best, first), (next_best, second) = known[:2]
    pairs = [
        (result.value(first, fold, measure, convention), result.value(second, fold, measure, convention))
        for fold in result.folds
    ]
    wins = sum(
        sign * ours > sign * theirs for ours, theirs in pairs if ours is not None and theirs is not None
    )
    return {
        "method": first,
        "order": "lowest" if sign < 0 else "highest",
        "mean": best,
        "second": second,
        "second_mean": next_best,
        "wins": wins,
    }


def _meanings(result: Comparison) -> list[tuple[str, str]]:
    """Return each kind of measure that is reported, once, with what it says."""
    words = [parse_measure(name).bare_name for name in result.measures]  # pyright: ignore[reportAttributeAccessIssue]
    return [(word, meaning(word)) for word in dict.fromkeys(words)]


def _computed(result: Comparison) -> list[tuple[str, str, str]]:
    """Return convention, measure and what was computed under its name, where that is another."""
    whole = next((cell for cell in result.cells if "error" not in cell), None)
    if whole is None:
        return []
    return [
        (convention, asked, computed)
        for convention in result.conventions
        for asked, computed in whole["computed"][convention].items()
        if asked != computed
    ]


def _settings(result: Comparison, method: str) -> dict[str, Any]:
    """Return how a method was set and trained on every fold."""
    facts = next(each for each in result.summary["methods"] if each["label"] == method)
    rows = []
    for fold in result.folds:
        cell = result.cell(method, fold)
        if "error" in cell:
            rows.append({"fold": fold, "error": f"{cell['error']['type']}: {cell['error']['message']}"})
            continue
        chosen = ", ".join(f"{name} = {value}" for name, value in sorted(cell["chosen"].items()))
        rows.append(
            {
                "fold": fold,
                "chosen": chosen or "–",
                "validation": cell["validation"],
                "fits": len(cell["tried"]),
                "seconds": cell["fit_seconds"],
                "status": cell["training"]["status"],
                "evidence": ", ".join(
                    f"{name} {value:.3g}" for name, value in cell["training"]["certificate"].items()
                ),
            }
        )
    return {**facts, "rows": rows}


def _warnings(result: Comparison) -> list[tuple[str, str]]:
    """Return every warning once, with the cells that gave it."""
    places: dict[str, list[str]] = {}
    for cell in result.cells:
        for text in cell["warnings"]:
            places.setdefault(text, []).append(f"{cell['method']} on {cell['fold']}")
    return [(text, ", ".join(where)) for text, where in places.items()]
