"""`directrank clicks` and `propensities`: logs of clicks, what they can tell, and rankings never shown."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from directrank.apps.cli.failures import DATA, UsageError, usage
from directrank.apps.cli.options import JSON, Quiet, Target, argument, assignments, option
from directrank.apps.cli.output import (
    print_columns,
    print_gate,
    print_json,
    print_paragraph,
    remark,
    spinner,
)
from directrank.apps.cli.settings import check_file
from directrank.storage.strict_json import JSONObject

if TYPE_CHECKING:
    from directrank.apps.clicks import ClickLog, Propensities
    from directrank.apps.evaluation import Gate
    from directrank.apps.experiments import ScoredPlan
    from directrank.apps.experiments.options import Options
    from directrank.data import QueryGroups

#: The longest bar of the plot of propensities.
WIDTH = 30
Log = Annotated[
    Path,
    argument(
        "LOG",
        "A table with a row for each document shown: qid, docid, position, clicked, perhaps session, ranker, "
        "impressions; or events of OpenSearch's UBI, .ndjson or .jsonl.",
    ),
]
Known = Annotated[
    Path | None,
    (
        "--propensities FILE",
        "What `directrank propensities --json` printed.  [default: estimated from the log]",
    ),
]
Trust = Annotated[bool, ("--trust", "Estimate trust bias too: high ranks are clicked whatever they show.")]
How = Annotated[
    Literal["dr", "policy", "ips"] | None,
    (
        "--how RULE",
        "Divide the clicks of a document by the sum of propensities at all its impressions (policy), or each "
        "click by the propensity of its rank (ips); or doubly robust (dr), with --documents: what was never "
        "shown counts what other queries predict.  [default: dr with --documents, else policy]",
    ),
]
Labels = Annotated[
    Literal["dr", "policy", "ips", "shown"] | None,
    (
        "--how RULE",
        "With --clicks, the labels of documents: as policy and ips of `directrank clicks evaluate`, where "
        "what was never shown has 0; shown: without what was never shown; or doubly robust (dr): what was "
        "never shown has the label that its features predict.  [default: dr]",
    ),
]
Documents = Annotated[
    Path | None, ("--documents FILE", "Documents with features, for --how dr: qid, docid and columns.")
]
Context = Annotated[
    Sequence[str], ("--context NAMES", "Columns in which propensities may differ, with commas.")
]
Clip = Annotated[
    float,
    option(
        "--clip P",
        "The least propensity that clicks are divided by; with dr, the least examination a page below which "
        "a document's label is partly predicted.",
        min=0.0,
    ),
]


def waiting(text: str) -> AbstractContextManager[Any]:
    """Name a step on a terminal while it runs; in a pipe, whose lines are results' alone, say nothing."""
    return spinner(text) if sys.stderr.isatty() else nullcontext(lambda _: None)


@dataclass(frozen=True, kw_only=True)
class Logging:
    """How a log is read."""

    columns: Annotated[
        list[str] | None,
        (
            "--columns ROLE=NAME",
            "Column for qid, docid, position, clicked, impressions, session, ranker or propensity; may be "
            "repeated.  [default: by their names]",
        ),
    ] = None
    context: Context = ()
    ranks: Annotated[int | None, option("--ranks N", "Read the first N ranks alone.", min=1)] = None

    def read(self, path: Path, *, by_day: bool = False) -> "ClickLog":
        """Return the log, and print what was not used."""
        from directrank.apps.clicks import read_clicks

        with waiting(f"reading {path}"):
            log = read_clicks(
                path, columns=assignments("--columns", self.columns or (), str), context=self.context,
                by_day=by_day,
            )  # fmt: skip
        for reason, count in log.unused.items():
            remark(f"{path}: not used: {count:,} rows: {reason}")
        return log if self.ranks is None else log.first_ranks(self.ranks)


def clicks(
    action: Literal["check", "evaluate"],
    log: Log,
    runs: list[Path] | None = None,
    *,
    propensities: Known = None,
    trust: Trust = False,
    measure: str = "DCG@10",
    baseline: str | None = None,
    how: How = None,
    clip: Clip = 0.0,
    documents: Documents = None,
    reading: Logging,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Check a log of clicks, or estimate from it what other rankings would have earned.

    Estimates weigh clicks by propensities; intervals include their errors. The naive estimate, by clicks as
    labels, is always printed next to them.

    ACTION: check: what the log can tell. evaluate: what rankings would have earned.
    RUN…: To evaluate: TREC runs, or tables of qid, docid and score; one or several.
    --measure NAME: DCG, with linear gains, P or RBP.
    --baseline RUN: Compare with this run. [default: the order that was shown]
    """
    if action == "check":
        if runs:
            raise UsageError("clicks check takes a log and no run: see `directrank clicks evaluate`")
        unread = {
            "--propensities": propensities, "--trust": trust, "--measure": measure != "DCG@10",
            "--baseline": baseline, "--how": how, "--clip": clip, "--documents": documents,
        }  # fmt: skip
        if typed := [flag for flag, value in unread.items() if value]:
            raise UsageError(f"{typed[0]}: clicks check does not read it; omit it")
        _check(reading.read(log), json=json)
        return
    if not runs:
        raise UsageError("clicks evaluate: name at least one run after the log")
    evaluate_by_clicks(
        log,
        runs,
        propensities,
        measure,
        baseline,
        reading=reading,
        trust=trust,
        how=how,
        clip=clip,
        documents=documents,
        json=json,
    )


def _check(log: "ClickLog", *, json: bool) -> None:
    from directrank.apps.clicks import check_clicks

    checked = check_clicks(log)
    if json:
        print_json(vars(checked))
        return
    print(", ".join(f"{count:,} {what}" for what, count in checked.counts.items() if count))
    for what, impressions in (("ranker", checked.rankers), ("context", checked.contexts)):
        for name, count in impressions.items():
            print(f"{what} {name!r}: {count:,} impressions")
    print()
    head = ["position", "impressions", "clicks", "click rate", "compared with other ranks"]
    print_columns(head, [
        [str(row["position"]), f"{row['impressions']:,}", f"{row['clicks']:,}", f"{row['click_rate']:.4f}",
         f"{row['compared']:.1%}"] for row in checked.ranks
    ])  # fmt: skip
    print()
    for line in checked.lines:
        print_paragraph(line, "- ", "  ")


def propensities(
    log: Log,
    *,
    trust: Trust = False,
    compare: bool = False,
    out: Target | None = None,
    reading: Logging,
    json: JSON = False,
    quiet: Quiet = False,
) -> int:
    """Estimate from a log of clicks how likely each rank is examined, with errors.

    Exits with 3 where the log does not compare all ranks, and prints which it does.

    --compare: Also print other estimators, which have no errors.
    -o --out FILE: Also write what --json prints.
    """
    from directrank.apps.clicks import BASELINES, baseline_propensities

    if out is not None:
        check_file(out, "--out", log, printing=not json)
    clicks = reading.read(log)
    parts = _parts(clicks)
    estimates = {name: _estimated(part, trust) for name, part in parts.items()}
    baselines: dict[str, dict[str, Propensities]] = {name: {} for name in parts}
    for name, method in product(parts, BASELINES if compare else ()):
        with waiting(f"{method} {name}".strip()):
            baselines[name][method] = baseline_propensities(parts[name], method)
    content: Any = {
        name: {**estimate.to_dict(), **_rows_of(baselines[name])} for name, estimate in estimates.items()
    }
    content = {"contexts": content} if reading.context else content[""]
    if out is not None:
        import json as text

        from directrank.storage.atomic import write_atomically
        from directrank.storage.strict_json import as_plain

        write_atomically(out, text.dumps(as_plain(content), indent=2) + "\n")
    if json:
        print_json(content)
    else:
        for name, estimate in estimates.items():
            print(*[f"context {name!r}"] * bool(name), sep="", end="\n" * bool(name))
            _print_propensities(estimate, baselines[name])
    return 0 if all(estimate.identified for estimate in estimates.values()) else DATA


def _rows_of(baselines: dict[str, "Propensities"]) -> JSONObject:
    rows = {
        name: [p if math.isfinite(p) else None for p in other.propensity.tolist()]
        for name, other in baselines.items()
    }
    return {"others": rows} if rows else {}


def _estimated(log: "ClickLog", trust: bool) -> "Propensities":
    from directrank.apps.clicks import estimate_propensities, estimate_trust

    with waiting("estimating propensities"):
        return estimate_trust(log) if trust else estimate_propensities(log)


def _print_propensities(curve: "Propensities", baselines: dict[str, "Propensities"]) -> None:
    import numpy as np

    from directrank.apps.evaluation.significance import p_value

    low, high = curve.interval()
    head = ["position", "propensity", "95 % interval", *(["offset"] if curve.offset is not None else []), ""]
    rows = []
    for place, position in enumerate(curve.position.tolist()):
        p = float(curve.propensity[place])
        interval = f"{low[place]:.4f} to {high[place]:.4f}" if curve.errors[place] > 0 else ""
        offset = [f"{curve.offset[place]:+.4f}"] if curve.offset is not None else []
        bar = "" if p != p else "█" * min(round(WIDTH * p), 2 * WIDTH)
        rows.append([str(position), "-" if p != p else f"{p:.4f}", interval, *offset, bar])
    print_columns(head, rows)
    print()
    if baselines:
        table = np.column_stack([other.propensity for other in baselines.values()])
        lines = [
            [str(k), *(f"{p:.4f}" for p in row)]
            for k, row in zip(curve.position.tolist(), table.tolist(), strict=True)
        ]
        print_columns(["position", *baselines], lines)
        print()
    line = curve.components_line()
    print_paragraph(line if curve.identified else f"NOT IDENTIFIED: {line}")
    if not curve.identified:
        print_paragraph("The first rank of each part has propensity 1: parts have no common scale.")
    if curve.n_clicks:
        print_paragraph(
            f"Estimated from {curve.n_clicks:,} clicks on compared documents of {curve.n_queries:,} "
            f"{'query' if curve.n_queries == 1 else 'queries'}."
        )
    if curve.ratio == curve.ratio and curve.one_curve == curve.one_curve:
        print_paragraph(
            f"Errors by clusters of queries are {curve.ratio:.2f} times those of the model (goodness of fit "
            f"of one curve for all queries: p {p_value(curve.one_curve)}). The test sees differences between "
            "queries; it does not see trust bias, which shifts all queries alike (--trust)."
        )
    for doubt in curve.doubts():
        print_paragraph(f"WARNING: {doubt}.")


def _parts(log: "ClickLog") -> "dict[str, ClickLog]":
    """Return the logs of the contexts of a log, or the log itself."""
    return {"": log} if log.contexts == ("",) else {name: log.of_context(name) for name in log.contexts}


def _known(log: "ClickLog", path: Path | None, trust: bool = False) -> "Propensities":
    """Return the propensities of a file, or those that the log tells, of each of its contexts."""
    from directrank.apps.clicks import Propensities

    if path is not None:
        return _of_file(path, log)
    curves = {name: _estimated(part, trust).require_identified() for name, part in _parts(log).items()}
    return curves[""] if "" in curves else Propensities.of_contexts(curves)


def _of_file(path: Path, log: "ClickLog") -> "Propensities":
    """Return the propensities of a file; where it has no test of one curve, with that of the log."""
    from directrank.apps.clicks import Propensities
    from directrank.files import json_lines

    content = next(
        (value for _, value in json_lines(path, "what `directrank propensities --json` prints")), None
    )
    estimate = Propensities.of_dict(content, str(path))
    if estimate.offset is not None or math.isfinite(estimate.one_curve):
        return estimate
    parts = [log] if estimate.curves is None else _parts(log).values()
    tests = [_estimated(part, trust=False).one_curve for part in parts]
    return replace(estimate, one_curve=min(len(tests) * min(tests), 1.0))


def with_clicks(
    data: Mapping[str, "QueryGroups"],
    log: Path,
    propensities: Path | None,
    context: Sequence[str],
    how: str | None,
) -> tuple[dict[str, "QueryGroups"], Any, "tuple[ClickLog, Propensities]", list[str]]:
    """Return parts of data labelled by clicks, the weights of training queries, the log and its propensities.

    Also notes on what was never shown, and on propensities that are doubtful.
    """
    from directrank.apps.clicks import label_clicks, never_shown

    clicks = Logging(context=context).read(log)
    estimate = _known(clicks, propensities)
    labelled = {name: label_clicks(groups, clicks, estimate, how=how) for name, groups in data.items()}
    for name, (groups, pages) in labelled.items():
        remark(f"{name}: {groups.n_queries:,} queries of the log, answered {pages.sum():,.0f} times")
    parts = {name: groups for name, (groups, _) in labelled.items()}
    unseen = never_shown(data["train"], clicks)
    notes = [f"{unseen:.1%} of the documents of the log's queries were never shown{_unseen(how, estimate)}"]
    notes += [f"WARNING: {doubt}" for doubt in estimate.doubts()]
    return parts, labelled["train"][1], (clicks, estimate), notes


def _unseen(how: str | None, estimate: "Propensities") -> str:
    """Return what label documents have that were never shown."""
    if how in (None, "dr"):
        return ": their labels are predicted from their features (--how dr)"
    if how == "shown" or estimate.offset is not None:
        return ": they are left out"
    return ": their label is 0"


def evaluate_by_clicks(
    path: Path, runs: Sequence[Path], propensities: Path | None, measure: str, baseline: str | None, *,
    reading: Logging, trust: bool = False, how: str | None = None, clip: float = 0.0,
    documents: Path | None = None, json: bool = False, margins: Mapping[str, float] | None = None,
) -> "Gate | None":  # fmt: skip
    """Print what rankings would have earned by a log; return the verdict of margins, if there are any."""
    from directrank.apps.cli.settings import read_documents
    from directrank.apps.clicks import ALARM, Pages, click_measure, evaluate_clicks
    from directrank.apps.evaluation.significance import interval_text, p_value
    from directrank.files import ReadOptions

    if (how == "dr") > (documents is not None) or (documents is not None) > (how in (None, "dr")):
        raise UsageError("--how dr and --documents go together: predictions are made from features")

    target_measure, log = click_measure(measure), reading.read(path)
    estimate = _known(log, propensities, trust)
    rankings = {run.name: run for run in runs}
    with waiting("evaluating"):
        rows = evaluate_clicks(
            log, estimate, rankings, measure=target_measure, baseline=baseline, how=how, clip=clip,
            documents=documents and read_documents(documents, ReadOptions(labelled=False)),
        )  # fmt: skip
        agrees, gain, held_out = (
            (float("nan"),) * 3
            if propensities is None or estimate.offset is not None
            else _against_the_log(log, estimate)
        )
    cut = Pages.of(log, target_measure).cut_line(target_measure)
    gate = None
    if margins:
        from directrank.apps.evaluation import Gain, gate_of_gains

        (margin,) = margins.values()
        tested = [
            Gain(
                row.name, measure, margin, row.difference, row.error, row.skewness,
                max(row.effective_queries, 2.0),
            )
            for row in rows
            if row.name != baseline
        ]  # fmt: skip
        gate = gate_of_gains(tested, baseline or "the order shown")
    if json:
        print_json({
            "measure": measure, "cut": cut or None, "baseline": baseline or "the order shown",
            "propensities": estimate.to_dict(),
            "agreement": agrees if math.isfinite(agrees) else None,
            "held_out_gain": gain if math.isfinite(gain) else None,
            "held_out": held_out if math.isfinite(held_out) else None,
            "rows": [row.to_dict() for row in rows], **({} if gate is None else {"gate": gate.to_dict()}),
        })  # fmt: skip
        return gate
    print(f"{measure} per search; difference to {baseline or 'the order shown'}; 95 % intervals")
    print()
    print_columns(
        ["run", measure, "difference", "for these queries", "for new queries", "clicks as labels"],
        [
            [row.name, f"{row.value:.4f}", f"{row.difference:+.4f}", interval_text(row.by_sessions),
             interval_text(row.by_queries), f"{row.naive:+.4f}"] for row in rows
        ],
        wrap=(0,),
    )  # fmt: skip
    print()
    if cut:
        print_paragraph(f"{cut}.")
    for row in rows:
        print_paragraph(
            f"{row.name}: {row.effective:,.0f} effective clicks, the largest share {row.largest:.2%}, "
            f"{row.unseen:.1%} of its weights on documents never shown"
            + "".join(f". WARNING: {flag}" for flag in row.flags())
            + (
                ". BETTER: the interval for new queries is above 0"
                if row.is_better
                else ". Not shown to be better for new queries"
            )
            * (row.name != baseline)
        )
    if agrees < ALARM or held_out < ALARM:
        likelier = (
            f"; held-out clicks are likelier by its own curve, by {gain:.3f} in log likelihood a click "
            f"(p {p_value(held_out)})"
        )
        print_paragraph(
            f"WARNING: the log contradicts the propensities of {propensities}: they differ from its own "
            f"(p {p_value(agrees)}){likelier * math.isfinite(held_out)}."
        )
    if estimate.offset is not None and estimate.replicates is None:
        print_paragraph("Intervals do not carry the errors of offsets: estimate by --trust, without a file.")
    if estimate.covariance is None:
        print_paragraph("Propensities are taken as known: intervals do not carry their errors.")
    print_paragraph(
        "Clicks as labels is what the same log says without propensities. Annotators may disagree with "
        "clicks."
    )
    if gate is not None:
        print_gate(gate)
    return gate


def _against_the_log(log: "ClickLog", estimate: "Propensities") -> tuple[float, float, float]:
    """Return how probable the difference of propensities to a log's own is, and what held-out clicks say.

    Of contexts, the smallest probabilities, times the number of contexts.
    """
    from directrank.apps.clicks import agreement_with, held_out_likelihood

    pairs = [(log, estimate)] if estimate.curves is None else [
        (log.of_context(name), curve) for name, curve in estimate.curves.items() if name in log.contexts
    ]  # fmt: skip
    agree = [agreement_with(part, curve) for part, curve in pairs]
    gains = [held_out_likelihood(part, curve) for part, curve in pairs]

    def smallest(values: Iterable[float]) -> float:
        return min((value for value in values if math.isfinite(value)), default=math.nan)

    held_out = smallest(p for _, p in gains)
    gain = next((gain for gain, p in gains if p == held_out), math.nan)
    return min(len(pairs) * smallest(agree), 1.0), gain, min(len(pairs) * held_out, 1.0)


#: Options of `directrank compare` that are about grades, or about folds of other data than a log; and those
#: of training, which a comparison by clicks has, too.
BY_GRADES = (
    "convention", "fold_by", "split_by", "test_from", "vali_from", "split_last", "refit", "correction",
    "family", "audit", "first_stage", "judge", "keep_models",
)  # fmt: skip
TRAINING = (
    "settings", "grids", "search", "seed", "seeds", "restarts", "out", "force", "name", "jobs", "scheduler",
    "baseline",
)  # fmt: skip


def plan_by_clicks(
    data: Path, methods: str, options: "Options", log: Path, propensities: Path | None, split: str,
    safe: Path | None, how: str | None,
) -> "ScoredPlan":  # fmt: skip
    """Return the plan of a comparison by a log, on queries or days that methods do not see."""
    from directrank.apps.cli.settings import read_documents
    from directrank.apps.clicks import CLICK_METHODS, click_measure, plan_clicks
    from directrank.files import columns_of
    from directrank.models import load

    defaults = type(options)()
    for field in fields(options):
        if field.name in BY_GRADES and getattr(options, field.name) != getattr(defaults, field.name):
            flag = get_args(field.type)[1][0].split()[0]
            raise UsageError(f"{flag}: a comparison by --clicks does not have this option")
    if len(options.measures) > 1 and options.measures != defaults.measures:
        raise UsageError("--measures: with --clicks name one measure on grades, such as nDCG@10")
    measure = click_measure("DCG@10" if options.select_by == defaults.select_by else options.select_by)
    reading = options.read_options()
    columns = columns_of(data, replace(reading, labelled=False))
    has_grades = columns is None or columns.label is not None
    groups = read_documents(data, replace(reading, labelled=has_grades))
    logged = Logging().read(log, by_day=split == "time")
    with usage():
        return plan_clicks(
            groups, logged, CLICK_METHODS if methods == "all" else methods, measure=measure,
            grades=options.measures[0], split=split, folds=options.kfold or 5,
            propensities=None if propensities is None else _of_file(propensities, logged), how=how,
            safe=None if safe is None else load(safe),
            **{name: getattr(options, name) for name in TRAINING},
        )  # fmt: skip


def print_by_clicks(content: Any) -> None:
    """Print the rows of a comparison by clicks, and what makes them doubtful."""
    print_columns(content.headings, content.table(), wrap=(0,))
    print()
    for line in content.lines:
        print_paragraph(line)
