"""From results to one self-contained HTML page."""

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from directrank.experiments import Comparison
from directrank.report.blocks import plural
from directrank.report.charts import lines_of
from directrank.report.facts import Facts
from directrank.report.opening import opening
from directrank.report.payload import payload
from directrank.report.sections import SECTIONS, Section
from directrank.storage.atomic import write_atomically

STYLES = ("page.css", "tables.css", "charts.css", "controls.css", "print.css")
SCRIPTS = ("page.js", "tables.js", "curves.js", "contrasts.js", "queries.js")


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


def render(result: Comparison, sections: Sequence[Section] = SECTIONS) -> str:
    """Return the page as text.

    It is one file. Its content security policy allows only its own style and script. Every text is escaped,
    and the script creates text nodes, never markup.
    """
    return document(**contents(Facts(result), sections), scripts=SCRIPTS)


def document(
    title: str,
    subtitle: str,
    opening: str,
    sections: Sequence[dict[str, str]],
    data: dict[str, Any] | None = None,
    scripts: Sequence[str] = (),
) -> str:
    """Return a page in the form of the reports; without files of a script it has none."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    style, script = _joined("style", STYLES), _joined("script", scripts) if scripts else ""
    environment = Environment(
        loader=PackageLoader("directrank.report", "templates"),
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


def contents(facts: Facts, sections: Sequence[Section]) -> dict[str, Any]:
    """Return what the template shows."""
    result, written = facts.result, datetime.fromisoformat(facts.content.written)
    sizes = f"{plural(len(result.trained), 'method')}, {plural(len(result.folds), 'fold')}"
    if not facts.trained:
        sizes = plural(len(result.methods), "run")
    return {
        "title": f"{result.dataset}: {'ranking methods' if facts.trained else 'rankings'} compared",
        "subtitle": f"{sizes}, {written:%Y-%m-%d %H:%M} UTC, "
        f"directrank {facts.content.environment['directrank']}",
        "opening": lines_of(opening(facts)),
        "sections": [
            {"id": section.id, "title": section.title, "blocks": lines_of(blocks)}
            for section in sections
            if (blocks := section.build(facts))
        ],
        "data": payload(facts),
    }


@cache
def _joined(kind: str, names: Sequence[str]) -> str:
    """Return the files of one kind as one text, without indentation and comments."""
    folder: Traversable = files("directrank.report") / kind
    whole = "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
    lines = (line.strip() for line in re.sub(r"/\*.*?\*/", "", whole, flags=re.S).splitlines())
    kept = "\n".join(line for line in lines if line and not line.startswith("//"))
    return f'(function () {{\n"use strict";\n{kept}\n}})();' if kind == "script" else kept


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
