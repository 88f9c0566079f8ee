"""How to get the same numbers again."""

import shlex
from typing import Any

from directrank.report.blocks import Code, Section, Terms, plain
from directrank.report.facts import Facts


def build(facts: Facts) -> list[Any]:
    """Return the command, the options and the environment."""
    summary = facts.summary
    command = shlex.join(summary["command"])
    seeds = ", ".join(map(str, summary.get("seeds", [summary["seed"]])))
    options = [
        ("chosen by", summary["select_by"]),
        ("search", summary.get("search", "grid")),
        ("last fit on train and vali", "yes" if summary.get("refit") else "no"),
        ("missing values", str(summary["missing"])),
        ("seeds", seeds),
    ]
    return [
        *([Code(command)] if command else []),
        plain(
            "Run again, it recomputes nothing that is finished. Beside the page, results.csv holds the "
            "values of the convention asked for with all their digits, results.standard.csv those of the "
            "standard convention, significance.csv every test, results.json everything."
        ),
        Terms([*options, *summary["environment"].items()]),
    ]


SECTION = Section("again", "Do it again", build)
