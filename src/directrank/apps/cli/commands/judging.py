"""`directrank evaluate --judge` and `compare --judge`: figures from people's judgments and a machine's."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from directrank.apps.cli.failures import UsageError, usage
from directrank.apps.cli.output import print_columns, print_json, remark

if TYPE_CHECKING:
    from directrank.apps.experiments import Comparison

#: Columns of differences or means, behind what they are of.
HEAD = ("by people, 95 % interval", "with the judge", "weight")


def evaluate_with_judge(
    data: Path, runs: Sequence[Path], judge: Path, measures: Sequence[Any], baseline: str | None,
    width: float | None, how: Any, *, json: bool,
) -> None:  # fmt: skip
    """Print each measure, or its difference to the baseline, with and without a machine's judgments."""
    from directrank.apps.evaluation import judged_means, named_runs

    rankings = named_runs(runs)
    if baseline is not None and baseline not in rankings:
        raise UsageError(f"--baseline {baseline}: it is none of the runs {', '.join(rankings)}")
    other = None if baseline is None else rankings.pop(baseline)
    if not rankings:
        raise UsageError(f"--baseline {baseline}: give another run to compare with it")
    rows, facts, sizes = [], {}, ""
    for run, path in rankings.items():
        results = judged_means(data, path, judge, measures=measures, baseline=other, how=how)
        for name, result in results.items():
            sizes = f"{result.n_queries} queries judged by both, {result.n_more} by the judge alone"
            if not result.helps:
                remark(_useless(f"{run}: {name}", result.correlation, result.n_queries))
            fact = {
                "queries": result.n_queries, "more": result.n_more, "correlation": result.correlation,
                "weight": result.weight, "alone": result.alone._asdict(),
                "assisted": result.assisted._asdict(),
            }  # fmt: skip
            sign = "" if other is None else "+"
            cells = [*map(partial(_cell, sign=sign), (result.alone, result.assisted)), f"{result.weight:.2f}"]
            if width is not None:
                with usage(f"--queries-needed {width:g}"):
                    counts = [result.queries_needed(width, assisted=used) for used in (False, True)]
                cells += map(str, counts)
                fact["queries_needed"] = dict(zip(("alone", "assisted"), counts, strict=True))
            rows.append([run, name, *cells])
            facts.setdefault(run, {})[name] = fact
    if json:
        print_json({"baseline": baseline, "runs": facts})
        return
    print_columns(
        ["run", "measure", *HEAD, *(["queries needed", "with it"] if width is not None else [])], rows
    )
    remark(f"note: {sizes}; documents without a judgment count as not relevant on either side")


def print_judged(result: "Comparison") -> None:
    """Print the differences of a comparison to its baseline, without and with a judge."""
    measure = result.main
    rows = result.content.judged.get(measure, ())
    for row in rows:
        if row.weight == 0.0:
            remark(_useless(row.method, row.correlation, row.queries))
    if rows:
        one = rows[0]
        print(
            f"\nTest {measure} less that of {one.baseline}: {one.queries} queries, {one.more} by the judge "
            "alone"
        )
        cells = [[row.method, _cell(row.alone), _cell(row.assisted), f"{row.weight:.2f}"] for row in rows]
        print_columns(["method", *HEAD], cells)


def _cell(mean: Sequence[float], sign: str = "+") -> str:
    value, low, high = mean
    return f"{value:{sign}.4f}, {low:{sign}.4f} to {high:{sign}.4f}"


def _useless(name: str, correlation: float, n_queries: int) -> str:
    return (
        f"note: {name}: the judge helps nothing (correlation {correlation:+.2f} over {n_queries} queries): "
        "people's judgments stand alone"
    )
