"""From results to one self-contained HTML page."""

import base64
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from directrank.apps.experiments import Comparison
from directrank.apps.report.blocks import plural
from directrank.apps.report.charts import lines_of
from directrank.apps.report.facts import Facts
from directrank.apps.report.sections import about, clicks, models, results
from directrank.apps.report.sections.results import opening
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import JSONObject


class Section(NamedTuple):
    """A section: its anchor, title and function that builds its blocks; omitted if there are none.

    A section that is not `open` shows its title alone until a reader opens it.
    """

    id: str
    title: str
    build: Callable[[Facts], list[Markup]]
    open: bool = False


SECTIONS = (
    Section("results", "Results", results.results, open=True),
    Section("curves", "Curves", results.curves),
    Section("folds", "Fold by fold", results.folds),
    Section("queries", "Query by query", results.queries),
    Section("settings", "Settings", models.settings),
    Section("training", "Training", models.training),
    Section("bounds", "Theory checks", models.bounds),
    Section("weights", "Feature weights", models.weights),
    Section("ties", "Ties", results.ties),
    Section("time", "Time", models.time),
    Section("data", "Data", about.data),
    Section("glossary", "Glossary", about.glossary),
    Section("reproduce", "Reproduce", about.reproduce),
)


STYLES = ("page.css", "tables.css", "charts.css", "controls.css", "print.css")
SCRIPTS = ("page.js", "tables.js", "curves.js", "contrasts.js", "queries.js")


#: Those of a comparison by clicks.
BY_CLICKS = (
    Section("results", "Methods", clicks.methods, open=True),
    Section("curve", "Propensities", clicks.curve, open=True),
    *(section for section in SECTIONS if section.id in ("settings", "training", "time", "reproduce")),
)


def write_report(result: Comparison, path: str | os.PathLike) -> None:
    """Write the page of a comparison, whole or not at all.

    Parameters
    ----------
    result : Comparison
        From `directrank.compare` or `directrank.apps.clicks.compare_clicks`, or read back with
        `directrank.apps.experiments.read_results`.
    path : path

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    write_atomically(path, render(result))


def render(result: Comparison, sections: Sequence[Section] = SECTIONS) -> str:
    """Return the page as text.

    It is one file. Its content security policy allows only its own style and script. Every text is escaped,
    and the script creates text nodes, never markup.
    """
    facts = Facts(result)
    by_clicks = result.by_clicks is not None
    sections = BY_CLICKS if by_clicks else sections
    written = datetime.fromisoformat(facts.content.written)
    sizes = f"{plural(len(result.trained), 'method')}, {plural(len(result.folds), 'fold')}"
    if not facts.trained:
        sizes = plural(len(result.methods), "run")
    return document(
        f"{result.dataset}: {'ranking methods' if facts.trained else 'rankings'} compared"
        f"{' by clicks' * by_clicks}",
        f"{sizes}, {written:%Y-%m-%d %H:%M} UTC, directrank {facts.content.environment['directrank']}",
        lines_of((clicks.opening if by_clicks else opening)(facts)),
        [
            {"id": section.id, "title": section.title, "open": section.open, "blocks": lines_of(blocks)}
            for section in sections
            if (blocks := section.build(facts))
        ],
        None if by_clicks else payload(facts),
        () if by_clicks else SCRIPTS,
    )


def document(
    title: str,
    subtitle: str,
    opening: str,
    sections: Sequence[JSONObject],
    data: JSONObject | None = None,
    scripts: Sequence[str] = (),
) -> str:
    """Return a page in the form of the reports; without files of a script it has none."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    style, script = _asset_text("style", STYLES), _asset_text("script", scripts) if scripts else ""
    environment = Environment(
        loader=PackageLoader("directrank.apps.report", "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    allowed = f"script-src '{_hash(script)}'; " if script else ""
    page = environment.get_template("page.html.jinja").render(
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src '{_hash(style)}'; {allowed}"
        "base-uri 'none'; form-action 'none'",
        title=title, subtitle=subtitle, opening=opening, sections=sections, data=data,
    )  # fmt: skip
    # A path may contain bytes that are not text; they are written as \udcff.
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


@cache
def _asset_text(kind: str, names: Sequence[str]) -> str:
    """Return the files of one kind as one text, without indentation and comments."""
    folder: Traversable = files("directrank.apps.report") / kind
    text = "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
    lines = (line.strip() for line in re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines())
    code = "\n".join(line for line in lines if line and not line.startswith("//"))
    return f'(function () {{\n"use strict";\n{code}\n}})();' if kind == "script" else code


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


#: A page has at most this many values of queries; beyond, measures and then queries are omitted.
MOST_VALUES = 60_000
#: A page explains at most this many pairs of documents, of the methods with the best means.
MOST_PAIRS = 10_000
#: Values are integers, in units of 1e-5.
UNIT = 100_000


def payload(facts: Facts) -> JSONObject:
    """Return names, texts to filter by, values of queries, and pairs."""
    result = facts.result
    return {
        "methods": result.methods,
        "texts": [  # what the filter searches
            " ".join(filter(None, (method.label, method.summary, method.paper, method.measure)))
            for method in facts.content.methods
        ],
        "folds": result.folds,
        "measures": facts.measures,
        "conventions": result.conventions,
        "main": facts.main,
        "start": [facts.index[method] for method in facts.ranked(facts.asked, facts.main)],
        "errors": [measure for measure in facts.measures if facts.result.is_error(measure)],
        "significance": {convention: _pairs(facts, convention) for convention in result.conventions},
        "queries": _queries(facts),
    }


def _pairs(facts: Facts, convention: str) -> JSONObject:
    """Return the tests of a convention, a row of numbers for each pair."""
    tests = facts.content.tests(convention)
    return {
        "alpha": tests.alpha,
        "level": tests.level,
        "correction": tests.correction,
        "pairs": {
            measure: [
                [
                    facts.index[pair.method], facts.index[pair.baseline],
                    *map(_rounded, (pair.difference, pair.low, pair.high)),
                    pair.wins, pair.ties, pair.losses,
                    _rounded(pair.p_randomisation), _rounded(tests.p(pair)), round(pair.level, 6),
                ]
                for pair in pairs
            ]
            for measure, pairs in tests.pairs.items()
        },
    }  # fmt: skip


def _rounded(value: float) -> float:
    return float(f"{value:.3g}") if abs(value) < 1e-3 else round(value, 5)


def _queries(facts: Facts) -> JSONObject:
    """Return the queries shown: names, folds, relevance as ranked, and values by method."""
    methods = facts.complete
    if not methods:
        return {}
    cells = facts.result.of(methods[0])
    qid = [str(qid) for cell in cells for qid in cell.qid]
    fold = [index for index, cell in enumerate(cells) for _ in cell.qid]
    chosen = _chosen(facts, methods, len(qid))
    explained = facts.ranked(facts.asked, facts.main)[: max(1, MOST_PAIRS // len(chosen))]
    return {
        "of": len(qid),
        "qid": [qid[at] for at in chosen],
        "fold": [fold[at] for at in chosen],
        "unit": UNIT,
        "methods": [facts.index[method] for method in methods],
        "values": _values(facts, methods, chosen),
        "ranked": [
            [[int(grade) if grade == int(grade) else grade for grade in lists[at]] for at in chosen]
            for method in methods
            for lists in [[grades for cell in facts.result.of(method) for grades in cell.ranked]]
        ],
        "above": [_above(facts, method, chosen) if method in explained else [] for method in methods],
    }


def _above(facts: Facts, method: str, chosen: list[int]) -> list[list[Any]]:
    """Return by query the rank of a document, and what puts it above the next one."""
    every = [pair for cell in facts.result.of(method) for pair in cell.above or [None] * len(cell.qid)]
    return [
        [pair.rank, ", ".join(f"{name} {value:+.3g}" for name, value in pair.adds)] if pair else []
        for pair in (every[at] for at in chosen)
    ]


def _chosen(facts: Facts, methods: list[str], n: int) -> list[int]:
    """Return the indices of the queries shown: all, or those on which methods differ most."""
    most = max(1, MOST_VALUES // (len(methods) * len(facts.result.conventions)))
    if n <= most:
        return list(range(n))
    values = np.stack([facts.result.query_values(facts.asked, facts.main, method) for method in methods])
    spread = np.nan_to_num(values.max(axis=0) - values.min(axis=0), nan=-1.0)
    return sorted(np.argsort(-spread, kind="stable")[:most].tolist())


def _values(facts: Facts, methods: list[str], chosen: list[int]) -> dict[str, dict[str, list]]:
    """Return values by convention, measure and method, of as many measures as MOST_VALUES allows."""
    conventions = facts.result.conventions
    allowed = max(1, MOST_VALUES // (len(chosen) * len(methods) * len(conventions)))

    def of(convention: str, measure: str, method: str) -> list[int | None]:
        values = facts.result.query_values(convention, measure, method)[chosen].tolist()
        return [None if np.isnan(value) else _units(value) for value in values]

    return {
        convention: {
            measure: [of(convention, measure, method) for method in methods]
            for measure in facts.measures[:allowed]
        }
        for convention in conventions
    }


def _units(value: float) -> int:
    """Return a value in units of 1e-5 that rounds to the four decimals that the value itself rounds to."""
    units = round(value * UNIT)
    if units % 10 == 5:
        units += 1 if round(value, 4) > value else -1
    return units
