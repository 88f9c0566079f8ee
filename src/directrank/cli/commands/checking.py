"""`directrank check`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from directrank.cli.failures import DONE, FAILED
from directrank.cli.options import JSON, argument
from directrank.cli.output import print_columns, print_json

if TYPE_CHECKING:
    from directrank.diagnostics.conformance.battery import Report


def check(
    file: Annotated[Path, argument("FILE.py", "A Python file with PLUGINS; it is run (docs/plugins.md).")],
    json: JSON = False,
) -> int:
    """Try on a plug-in what every measure, surrogate, solver and method promises.

    Whatever the file adds is tried on small collections: ties against all their orders, gradients against
    differences, the same bits for any number of threads, and more. Exit code 4 if a promise is broken.
    """
    from directrank.cli.progress import spinner
    from directrank.diagnostics.conformance.battery import check_plugin
    from directrank.plugins import load_plugin

    plugin = load_plugin(file)
    with spinner(f"checking {len(plugin.things)} of {file.name}", quiet=json):
        reports = check_plugin(plugin)
    if json:
        print_json([_facts(each) for each in reports])
    else:
        _print(reports)
    return DONE if all(each.kept for each in reports) else FAILED


def _facts(report: "Report") -> dict:
    promises = [vars(each) for each in report.verdicts]
    return {"kind": report.kind, "name": report.name, "promises": promises, "notes": report.notes}


def _print(reports: list["Report"]) -> None:
    for report in reports:
        rows = [["kept" if each.kept else "BROKEN", each.promise, each.said] for each in report.verdicts]
        print_columns([report.kind, report.name, ""], rows)
        for note in report.notes:
            print(f"note: {note}")
        print()
    every = [each for report in reports for each in report.verdicts]
    kept = sum(each.kept for each in every)
    print(
        f"{kept} of {len(every)} promises are kept"
        + ("" if kept == len(every) else ", the others are BROKEN")
    )
