"""How to get the same numbers again."""

import shlex

from markupsafe import Markup

from directrank.report.blocks import named, paragraph, terms
from directrank.report.charts.elements import element
from directrank.report.facts import Facts


def build(facts: Facts) -> list[Markup]:
    """Return the command, the options and the environment."""
    summary = facts.summary
    command = shlex.join(summary["command"])
    shown = [_code(command)] if command else []
    if not facts.trained:
        return [*shown, terms([*summary["environment"].items()])]
    won = facts.result.winner()
    saving = []
    if won is not None and won.command:
        saving = [
            paragraph(
                f"The method of directrank with the highest mean validation {summary['select_by']} is ",
                named(won.label),
                ". To train it and save the model:",
            ),
            _code(won.command),
        ]
    options = [
        ("settings selected by", summary["select_by"]),
        ("search", summary.get("search", "grid")),
        ("refit on train and vali", "yes" if summary.get("refit") else "no"),
        ("missing values", str(summary["missing"])),
        ("seeds", ", ".join(map(str, summary.get("seeds", [summary["seed"]])))),
    ]
    return [
        *shown,
        paragraph(
            "Rerun the same command to resume; finished work is reused. Files in the same folder: "
            "results.csv has the values of the requested convention with all their digits, "
            "results.standard.csv those of the standard convention, significance.csv every test, "
            "results.json everything."
        ),
        terms([*options, *summary["environment"].items()]),
        *saving,
    ]


def _code(command: str) -> Markup:
    return element("pre", {"tabindex": 0}, element("code", {}, command))
