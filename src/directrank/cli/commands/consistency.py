"""`directrank consistency`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrank.cli.failures import UsageError, usage
from directrank.cli.options import JSON, Seed
from directrank.cli.output import print_columns, print_json
from directrank.cli.settings import parameters_of

if TYPE_CHECKING:
    from directrank.diagnostics.consistency import Verdict

Outcomes = Sequence[tuple[float, Sequence[float]]]


def consistency(
    method: Annotated[
        str | None, typer.Argument(help="Whose loss: a method's name, such as preorder.")
    ] = None,
    measure: Annotated[
        str | None, typer.Argument(help="The measure that its order is judged by, such as DCG.")
    ] = None,
    distribution: Annotated[
        Path | None,
        typer.Argument(help='JSON: [{"probability": 0.2, "relevance": [4, 0, 0]}, …], 2 to 8 documents.'),
    ] = None,
    example: Annotated[
        str | None, typer.Option("--example", help="A distribution by name; `list` names them.")
    ] = None,
    random: Annotated[
        int | None, typer.Option("--random", metavar="N", help="Try N random distributions instead.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; may be repeated."),
    ] = None,
    seed: Seed = 0,
    json: JSON = False,
) -> None:
    """Say whether to minimise a method's expected loss, on a distribution of relevance, ranks best."""
    if example == "list":
        _list_examples(json)
        return
    if method is None or measure is None:
        raise UsageError("give a method and a measure, such as `consistency preorder DCG --example graded`")
    if sum(each is not None for each in (distribution, example, random)) != 1:
        raise UsageError("give one distribution: a JSON file, --example NAME or --random N")
    surrogate, judged = _asked(method, measure, settings or [])
    if random is not None:
        _try_random(surrogate, judged, random, seed, json)
    elif distribution is not None:
        _try_one(surrogate, judged, read_distribution(distribution), str(distribution), json)
    else:
        _try_one(surrogate, judged, _example(str(example)), f"--example {example}", json)


def _try_one(surrogate, judged, outcomes: Outcomes, where: str, json: bool) -> None:
    from directrank.diagnostics.consistency import check
    from directrank.errors import DataError

    with usage():
        try:
            verdict = check(surrogate, judged, outcomes)
        except ValueError as error:
            raise DataError(f"{where}: {error}") from None
    if json:
        print_json(_facts(verdict, surrogate, judged, outcomes))
    else:
        _print(verdict, surrogate, judged)


def read_distribution(path: Path) -> list[tuple[float, list[float]]]:
    """Return probability and relevance of each outcome of a JSON file.

    Raises
    ------
    DataError
        Naming the file, the outcome and what was expected.
    """
    from directrank.errors import DataError
    from directrank.storage.strict_json import StrictJSONError, parse

    try:
        written = parse(path.read_bytes())
    except StrictJSONError as error:
        raise DataError(f"{path}: not JSON: {error}") from None
    form = 'expected [{"probability": 0.2, "relevance": [4, 0, 0]}, …]'
    if not isinstance(written, list) or not written:
        raise DataError(f"{path}: {form}")
    found = []
    for number, outcome in enumerate(written, start=1):
        if not isinstance(outcome, dict) or outcome.keys() != {"probability", "relevance"}:
            raise DataError(f"{path}: outcome {number}: {form}")
        probability, relevance = outcome["probability"], outcome["relevance"]
        grades: list[Any] = relevance if isinstance(relevance, list) else [None]
        if not all(_is_number(each) for each in [probability, *grades]):
            raise DataError(f"{path}: outcome {number}: probability and relevance are numbers; {form}")
        found.append((float(probability), [float(each) for each in grades]))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _asked(method: str, measure: str, settings: Sequence[str]) -> tuple[Any, Any]:
    """Return the surrogate of a method, and the measure."""
    from directrank.estimators.methods import configured
    from directrank.measures import parse_measure

    with usage():
        judged = parse_measure(measure)
        chosen = configured(method, measure)
        if len(chosen) != 1:
            raise UsageError(f"{method}: consistency checks one method")
        surrogate = chosen[0].build(parameters_of(settings, chosen[0])).components()[0]
    return surrogate, judged


def _example(name: str) -> Outcomes:
    from directrank.diagnostics.consistency import EXAMPLES

    if name not in EXAMPLES:
        raise UsageError(f"no example is called {name!r}; there are {', '.join(EXAMPLES)}")
    return EXAMPLES[name][1]


def _list_examples(json: bool) -> None:
    from directrank.diagnostics.consistency import EXAMPLES

    if json:
        print_json({name: {"refutes": what, "outcomes": pairs} for name, (what, pairs) in EXAMPLES.items()})
        return
    rows = [
        [name, what, "; ".join(f"{_grades(y)} {p:g}" for p, y in outcomes)]
        for name, (what, outcomes) in EXAMPLES.items()
    ]
    print_columns(["example", "what it refutes", "relevance and probability of outcomes"], rows)


def _grades(relevance: Sequence[float]) -> str:
    return f"({', '.join(f'{y:g}' for y in relevance)})"


def _try_random(surrogate, measure, times: int, seed: int, json: bool) -> None:
    import numpy as np

    from directrank.diagnostics.consistency import check, random_distribution

    if times < 1:
        raise UsageError(f"--random {times}: expected 1 or more")
    rng = np.random.default_rng(seed)
    tried = [random_distribution(rng) for _ in range(times)]
    with usage():
        verdicts = [check(surrogate, measure, each) for each in tried]
    refuted = [number for number, each in enumerate(verdicts) if not each.consistent]
    worst = max(range(times), key=lambda number: verdicts[number].regret)
    if json:
        facts = _facts(verdicts[worst], surrogate, measure, tried[worst])
        print_json({"distributions": times, "refuting": len(refuted), "worst": facts})
        return
    print(
        f"{surrogate.name}, {measure.name}: {len(refuted)} of {times} random distributions refute consistency"
    )
    if refuted:
        print("the worst: " + "; ".join(f"{_grades(y)} {p:.3f}" for p, y in tried[worst]))
        _print(verdicts[worst], surrogate, measure)


def _facts(verdict: "Verdict", surrogate, measure, outcomes: Outcomes) -> dict[str, Any]:
    return {
        "surrogate": surrogate.name,
        "measure": measure.name,
        "outcomes": [{"probability": p, "relevance": list(y)} for p, y in outcomes],
        "scores": verdict.scores,
        "ranking": [i + 1 for i in verdict.ranking],
        "value": verdict.value,
        "best_ranking": [i + 1 for i in verdict.best_ranking],
        "best_value": verdict.best_value,
        "regret": verdict.regret,
        "consistent": verdict.consistent,
        "supervision": verdict.supervision,
    }


def _print(verdict: "Verdict", surrogate, measure) -> None:
    head, columns = ["document", "score"], [[f"{score:.4f}" for score in verdict.scores]]
    if verdict.supervision is not None:
        head.append("expected standard form")
        columns.append([f"{each:.4f}" for each in verdict.supervision])
    print(f"{surrogate.name}, minimised in expectation; judged by {measure.name}")
    print_columns(head, [[str(i), *row] for i, row in enumerate(zip(*columns, strict=True), start=1)])
    print(f"its order   {_order_with_ties(verdict.scores)}: expected {measure.name} {verdict.value:.4f}")
    print(f"best order  {_order(verdict.best_ranking)}: expected {measure.name} {verdict.best_value:.4f}")
    if verdict.consistent:
        print("no regret: this distribution does not refute consistency")
    else:
        print(f"regret {verdict.regret:.4f}: not consistent with {measure.name}")


def _order_with_ties(scores) -> str:
    from directrank.diagnostics.consistency import merged

    ranks = merged(scores)
    blocks = [
        " = ".join(str(i + 1) for i in (ranks == rank).nonzero()[0]) for rank in sorted(set(ranks))[::-1]
    ]
    return " > ".join(blocks)


def _order(ranking: Sequence[int]) -> str:
    return " > ".join(str(i + 1) for i in ranking)
