"""`directrank evaluate --judge`: figures from people's judgments and a machine's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from directrank.apps.cli.failures import UsageError, usage
from directrank.apps.cli.output import print_columns, print_json, remark


def evaluate_with_judge(
    data: Path, runs: Sequence[Path], judge: Path, measures: Sequence[str], baseline: str | None,
    width: float | None, how: Any, *, json: bool,
) -> None:  # fmt: skip
    """Print each measure, or its difference to the baseline, with and without a machine's judgments."""
    from directrank.apps.evaluation import judged_means, named_runs

    named = named_runs(runs)
    if baseline is not None and baseline not in named:
        raise UsageError(f"--baseline {baseline}: it is none of the runs {', '.join(named)}")
    other = None if baseline is None else named.pop(baseline)
    if not named:
        raise UsageError(f"--baseline {baseline}: give another run to compare with it")
    rows, facts, sizes = [], {}, ""
    for run, path in named.items():
        results = judged_means(data, path, judge, measures=measures, baseline=other, how=how)
        for name, result in results.items():
            sizes = f"{result.n_queries} queries judged by both, {result.n_more} by the judge alone"
            if not result.helps:
                remark(
                    f"note: {run}: {name}: the judge helps nothing (correlation {result.correlation:+.2f} "
                    f"over {result.n_queries} queries): people's judgments stand alone"
                )
            fact = {
                "queries": result.n_queries, "more": result.n_more, "correlation": result.correlation,
                "weight": result.weight, "alone": result.alone._asdict(),
                "assisted": result.assisted._asdict(),
            }  # fmt: skip
            sign = "" if other is None else "+"
            cells = [
                f"{mean.value:{sign}.4f}, {mean.low:{sign}.4f} to {mean.high:{sign}.4f}"
                for mean in (result.alone, result.assisted)
            ]
            cells.append(f"{result.weight:.2f}")
            if width is not None:
                with usage(f"--queries-needed {width:g}"):
                    counts = [result.queries_needed(width, assisted=used) for used in (False, True)]
                cells += ["none suffice" if count is None else str(count) for count in counts]
                fact["queries_needed"] = dict(zip(("alone", "assisted"), counts, strict=True))
            rows.append([run, name, *cells])
            facts.setdefault(run, {})[name] = fact
    if json:
        print_json({"baseline": baseline, "runs": facts})
        return
    head = ["run", "measure", "by people, 95 % interval", "with the judge", "weight"]
    print_columns([*head, *(["queries needed", "with it"] if width is not None else [])], rows)
    remark(f"note: {sizes}; documents without a judgment count as not relevant on either side")
