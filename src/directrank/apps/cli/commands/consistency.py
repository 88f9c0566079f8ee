"""`directrank consistency` and `check`: checks of losses and of plug-ins."""

from pathlib import Path
from typing import Annotated

from directrank.apps.cli.failures import DONE, FAILED, UsageError, usage
from directrank.apps.cli.options import JSON, Plugin, Seed, Set, argument, option
from directrank.apps.cli.output import print_columns, print_json
from directrank.apps.cli.settings import with_settings
from directrank.errors import DataError, documentation_page


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
    from directrank.diagnostics.consistency import (
        EXAMPLES,
        check,
        check_random,
        outcomes_text,
        read_distribution,
    )
    from directrank.estimators.methods import configured
    from directrank.measures import parse_measure

    examples = EXAMPLES
    if example == "list" and json:
        print_json({name: {"refutes": what, "outcomes": pairs} for name, (what, pairs) in examples.items()})
        return
    if example == "list":
        rows = [[name, what, outcomes_text(outcomes)] for name, (what, outcomes) in examples.items()]
        head = ["example", "what it refutes", "relevance and probability of outcomes"]
        print_columns(head, rows, wrap=[-1, 1])
        return
    if method is None or measure is None:
        raise UsageError("give a method and a measure, such as `consistency ranksvm DCG --example graded`")
    if sum(source is not None for source in (distribution, example, random)) != 1:
        raise UsageError("give one distribution: a JSON file, --example NAME or --random N")
    with usage(measure):
        judge = parse_measure(measure)
    with usage():
        chosen = configured(method, measure)
        if len(chosen) != 1:
            raise UsageError(f"{method}: consistency checks one method")
        surrogate = with_settings(chosen[0], settings).build().components()[0]
    if random is not None:
        if random < 1:
            raise UsageError(f"--random {random}: expected 1 or more")
        with usage():
            verdicts = check_random(surrogate, judge, random, seed)
        refuting, verdict = sum(not check.consistent for check in verdicts), verdicts[0]
        facts = {"distributions": random, "refuting": refuting, "worst": verdict.to_dict()}
        if not json:
            sentence = f"{refuting} of {random} random distributions refute consistency"
            print(f"{surrogate.name}, {judge.name}: {sentence}")
            if not refuting:
                return
            print(f"the worst: {outcomes_text(verdict.outcomes, '.3f')}")
    else:
        if example is not None and example not in examples:
            raise UsageError(f"no example is called {example!r}; there are {', '.join(examples)}")
        file = distribution
        outcomes = examples[str(example)][1] if file is None else read_distribution(file)
        with usage():
            try:
                verdict = check(surrogate, judge, outcomes)
            except ValueError as error:
                raise DataError(f"{file or f'--example {example}'}: {error}") from None
        facts = verdict.to_dict()
    if json:
        print_json(facts)
    else:
        print(f"{verdict.surrogate}, minimised in expectation; measured by {verdict.measure}")
        print_columns(*verdict.table())
        print("\n".join(verdict.lines()))


def check(
    file: Annotated[
        Path, argument("FILE.py", f"A Python file with PLUGINS; it is run ({documentation_page('plugins')}).")
    ],
    json: JSON = False,
) -> int:
    """Run the checks of measures, surrogates, solvers and methods on a plug-in.

    Whatever the file adds is checked on small collections: ties against all their orders, gradients against
    differences, bit-identical results for any number of threads, and more. Exit code 4 if one fails.
    """
    from directrank.apps.cli.output import spinner
    from directrank.plugins import load_plugin
    from directrank.testing.suite import check_plugin

    plugin = load_plugin(file)
    with spinner(f"checking {len(plugin.things)} of {file.name}"):
        reports = check_plugin(plugin)
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    passed = sum(verdict.passed for verdict in verdicts)
    if json:
        print_json(
            [
                {
                    "kind": report.kind,
                    "name": report.name,
                    "checks": list(map(vars, report.verdicts)),
                    "notes": report.notes,
                }
                for report in reports
            ]
        )
    else:
        for report in reports:
            rows = [
                ["passed" if verdict.passed else "FAILED", verdict.check, verdict.message]
                for verdict in report.verdicts
            ]
            print_columns([report.kind, report.name, ""], rows)
            for note in report.notes:
                print(f"note: {note}")
            print()
        failures = "" if passed == len(verdicts) else f", {len(verdicts) - passed} FAILED"
        print(f"{passed} of {len(verdicts)} checks passed{failures}")
    return DONE if passed == len(verdicts) else FAILED
