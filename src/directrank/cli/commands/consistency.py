"""`directrank consistency` and `check`: what losses and plug-ins promise."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from directrank.cli.failures import DONE, FAILED, UsageError, usage
from directrank.cli.options import JSON, Plugin, Set, argument, option
from directrank.cli.output import print_columns, print_json
from directrank.cli.settings import with_settings
from directrank.experiments.options import Seed

if TYPE_CHECKING:
    from directrank.diagnostics.conformance.battery import Report
    from directrank.diagnostics.consistency import Verdict


def consistency(
    *,
    method: Annotated[
        str | None, argument("METHOD", "Method whose loss is minimised, such as ranksvm.")
    ] = None,
    measure: Annotated[
        str | None, argument("MEASURE", "Measure of the resulting order, such as DCG.")
    ] = None,
    distribution: Annotated[
        Path | None,
        argument("FILE", 'JSON: [{"probability": 0.2, "relevance": [4, 0, 0]}, …], 2 to 8 documents.'),
    ] = None,
    example: Annotated[
        str | None, option("--example NAME", "A built-in distribution; `--example list` lists them.")
    ] = None,
    random: Annotated[int | None, option("--random N", "Check N random distributions.")] = None,
    settings: Set,
    seed: Seed = 0,
    plugin: Plugin = None,
    json: JSON = False,
) -> None:
    """Check whether minimising a method's expected loss yields the best ranking."""
    if example == "list":
        _list_examples(json)
        return
    if method is None or measure is None:
        raise UsageError("give a method and a measure, such as `consistency ranksvm DCG --example graded`")
    if sum(each is not None for each in (distribution, example, random)) != 1:
        raise UsageError("give one distribution: a JSON file, --example NAME or --random N")
    surrogate, judge = _surrogate_and_measure(method, measure, settings)
    if random is not None:
        _check_random(surrogate, judge, random, seed, json)
    else:
        _check_one(surrogate, judge, distribution, example, json)


def _surrogate_and_measure(method: str, measure: str, settings: Mapping[str, Any]) -> tuple[Any, Any]:
    from directrank.estimators.methods import configured
    from directrank.measures import parse_measure

    with usage(measure):
        judge = parse_measure(measure)
    with usage():
        chosen = configured(method, measure)
        if len(chosen) != 1:
            raise UsageError(f"{method}: consistency checks one method")
        return with_settings(chosen[0], settings).build().components()[0], judge


def _check_one(surrogate, measure, file: Path | None, example: str | None, json: bool) -> None:
    from directrank.diagnostics.consistency import EXAMPLES, check, read_distribution
    from directrank.errors import DataError

    if example is not None and example not in EXAMPLES:
        raise UsageError(f"no example is called {example!r}; there are {', '.join(EXAMPLES)}")
    outcomes = EXAMPLES[str(example)][1] if file is None else read_distribution(file)
    with usage():
        try:
            verdict = check(surrogate, measure, outcomes)
        except ValueError as error:
            raise DataError(f"{file or f'--example {example}'}: {error}") from None
    if json:
        print_json(verdict.to_dict())
    else:
        _print(verdict)


def _check_random(surrogate, measure, times: int, seed: int, json: bool) -> None:
    from directrank.diagnostics.consistency import check_random, outcomes_text

    if times < 1:
        raise UsageError(f"--random {times}: expected 1 or more")
    with usage():
        checks = check_random(surrogate, measure, times, seed)
    refuting, worst = sum(not each.consistent for each in checks), checks[0]
    if json:
        print_json({"distributions": times, "refuting": refuting, "worst": worst.to_dict()})
        return
    print(f"{surrogate.name}, {measure.name}: {refuting} of {times} random distributions refute consistency")
    if refuting:
        print(f"the worst: {outcomes_text(worst.outcomes, '.3f')}")
        _print(worst)


def _print(verdict: "Verdict") -> None:
    print(f"{verdict.surrogate}, minimised in expectation; measured by {verdict.measure}")
    print_columns(*verdict.table())
    print("\n".join(verdict.lines()))


def _list_examples(json: bool) -> None:
    from directrank.diagnostics.consistency import EXAMPLES, outcomes_text

    if json:
        print_json({name: {"refutes": what, "outcomes": pairs} for name, (what, pairs) in EXAMPLES.items()})
        return
    rows = [[name, what, outcomes_text(outcomes)] for name, (what, outcomes) in EXAMPLES.items()]
    print_columns(["example", "what it refutes", "relevance and probability of outcomes"], rows, wrap=[-1, 1])


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
        _print_reports(reports)
    return DONE if all(each.kept for each in reports) else FAILED


def _facts(report: "Report") -> dict:
    promises = [vars(each) for each in report.verdicts]
    return {"kind": report.kind, "name": report.name, "promises": promises, "notes": report.notes}


def _print_reports(reports: list["Report"]) -> None:
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
