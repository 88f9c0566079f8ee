"""`directrank consistency` and `check`: checks of losses and of plug-ins."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from directrank.apps.cli.failures import DONE, FAILED, UsageError, usage
from directrank.apps.cli.options import JSON, Plugin, Seed, Set, argument
from directrank.apps.cli.output import print_columns, print_json
from directrank.apps.cli.settings import with_settings
from directrank.errors import DataError, documentation_page
from directrank.storage.strict_json import StrictJSONError, parse

#: Examples: a loss, and a distribution (probability, relevance) that refutes its consistency.
EXAMPLES: dict[str, tuple[str, list[tuple[float, tuple[float, ...]]]]] = {
    "graded": (
        "plain pairs, and pairs per query, of three grades",
        [(0.2, (4, 0, 0)), (0.8, (0, 1, 0))],
    ),
    "binary": (
        "plain pairs of two grades",
        [(0.30, (1, 1, 0, 0, 1)), (0.29, (1, 0, 1, 1, 0)), (0.41, (0, 0, 0, 0, 1))],
    ),
    "binary-norm": ("pairs per query of two grades", [(0.45, (1, 0, 0, 0)), (0.55, (0, 1, 1, 0))]),
    "graded-norm": (
        "pairs per query, weighted by differences of gains",
        [(0.43, (0, 1, 3)), (0.57, (3, 3, 2))],
    ),
    "theorem-3": (
        "any order-preserving loss, for AP and ERR (Buffoni et al. 2011, Theorem 3)",
        [(0.5, (1, 1, 0, 0)), (0.5, (0, 0, 1, 1))],
    ),
}
#: The longest file of a distribution, in bytes.
LARGEST = 2**20
FORM = 'expected [{"probability": 0.2, "relevance": [4, 0, 0]}, …]'


def consistency(
    method: str | None = None,
    measure: str | None = None,
    distribution: Path | None = None,
    *,
    example: str | None = None,
    random: int | None = None,
    settings: Set,
    seed: Seed = 0,
    plugin: Plugin = None,
    json: JSON = False,
) -> None:
    """Check whether minimising a method's expected loss yields the best ranking.

    METHOD: Method whose loss is minimised, such as ranksvm.
    MEASURE: Measure of the resulting order, such as DCG.
    FILE: JSON: [{"probability": 0.2, "relevance": [4, 0, 0]}, …], 2 to 8 documents.
    --example NAME: A built-in distribution; `--example list` lists them.
    --random N: Check N random distributions.
    """
    from directrank.diagnostics.consistency import check, check_random
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
            results = check_random(surrogate, judge, random, seed)
        refuting, result = sum(not check.consistent for check in results), results[0]
        facts = {"distributions": random, "refuting": refuting, "worst": result.to_dict()}
        if not json:
            sentence = f"{refuting} of {random} random distributions refute consistency"
            print(f"{surrogate.name}, {judge.name}: {sentence}")
            if not refuting:
                return
            print(f"the worst: {outcomes_text(result.outcomes, '.3f')}")
    else:
        if example is not None and example not in examples:
            raise UsageError(f"no example is called {example!r}; there are {', '.join(examples)}")
        file = distribution
        outcomes = examples[str(example)][1] if file is None else read_distribution(file)
        with usage():
            try:
                result = check(surrogate, judge, outcomes)
            except ValueError as error:
                raise DataError(f"{file or f'--example {example}'}: {error}") from None
        facts = result.to_dict()
    if json:
        print_json(facts)
    else:
        print(f"{result.surrogate}, minimised in expectation; measured by {result.measure}")
        print_columns(*result.table())
        print("\n".join(result.lines()))


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
    results = [result for report in reports for result in report.results]
    passed = sum(result.passed for result in results)
    if json:
        print_json(
            [
                {
                    "kind": report.kind,
                    "name": report.name,
                    "checks": list(map(vars, report.results)),
                    "notes": report.notes,
                }
                for report in reports
            ]
        )
    else:
        for report in reports:
            rows = [
                ["passed" if result.passed else "FAILED", result.check, result.message]
                for result in report.results
            ]
            print_columns([report.kind, report.name, ""], rows)
            for note in report.notes:
                print(f"note: {note}")
            print()
        failures = "" if passed == len(results) else f", {len(results) - passed} FAILED"
        print(f"{passed} of {len(results)} checks passed{failures}")
    return DONE if passed == len(results) else FAILED


def read_distribution(path: Path) -> list[tuple[float, list[float]]]:
    """Return probability and relevance of each outcome of a JSON file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise DataError(f"{path}: longer than {LARGEST} bytes; {FORM}")
        written = parse(content)
    except StrictJSONError as error:
        raise DataError(f"{path}: not JSON: {error}") from None
    if not isinstance(written, list) or not written:
        raise DataError(f"{path}: {FORM}")
    outcomes = []
    for number, outcome in enumerate(written, start=1):
        where = f"{path}: outcome {number}"
        if not isinstance(outcome, dict) or outcome.keys() != {"probability", "relevance"}:
            raise DataError(f"{where}: {FORM}")
        probability, relevance = outcome["probability"], outcome["relevance"]
        grades: list[Any] = relevance if isinstance(relevance, list) else [None]
        if not all(type(number) in (int, float) for number in [probability, *grades]):
            raise DataError(f"{where}: probability and relevance are numbers; {FORM}")
        outcomes.append((float(probability), [float(number) for number in grades]))
    return outcomes


def outcomes_text(outcomes: Sequence[tuple[float, Sequence[float]]], digits: str = "g") -> str:
    """Return a distribution as text: the relevance of each outcome and its probability."""
    return "; ".join(f"({', '.join(f'{y:g}' for y in grades)}) {p:{digits}}" for p, grades in outcomes)
