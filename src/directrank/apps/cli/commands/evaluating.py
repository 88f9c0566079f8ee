"""`directrank evaluate`: rankings made elsewhere, or by a model, measured by judgments or clicks."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from directrank.apps.cli.commands.clicks import (
    Context,
    Documents,
    How,
    Known,
    Logging,
    evaluate_by_clicks,
)
from directrank.apps.cli.commands.cutting import evaluate_cutoff
from directrank.apps.cli.commands.judging import evaluate_with_judge
from directrank.apps.cli.failures import DONE, UsageError, gate_code, usage
from directrank.apps.cli.options import (
    JSON,
    Convention,
    Correction,
    Family,
    Measures,
    NotWorse,
    Plugin,
    Quiet,
    ReadingStored,
    Target,
    TolerateUnclear,
    WithoutSelf,
)
from directrank.apps.cli.output import (
    difference_cells,
    print_columns,
    print_gate,
    print_json,
    print_table,
    remark,
)
from directrank.apps.cli.settings import check_page, read_documents
from directrank.apps.experiments.options import Options
from directrank.data.reading_options import ReadOptions

if TYPE_CHECKING:
    from directrank.apps.evaluation import Ceiling
    from directrank.apps.experiments import CategoryMean, Comparison
    from directrank.contracts import Measure

#: The forms of `evaluate`, by the option that asks for each, and what it reads beside DATA and RUN: rankings
#: by judgments; by a log of clicks; by people's and a machine's judgments; and what a cut-off keeps of them.
_READING = " ".join(get_args(ReadingStored)[1])
READ = {
    "": "measures gains convention baseline not_worse tolerate_unclear correction family per_query unjudged "
    f"ceiling by queries report without_self model {_READING}",
    "clicks": "propensities context how documents measures baseline not_worse tolerate_unclear",
    "judge": f"measures gains baseline queries_needed model {_READING}",
    "cutoff": f"model {_READING}",
}


def evaluate(
    data: Path,
    runs: list[Path] | None = None,
    *,
    clicks: Path | None = None,
    propensities: Known = None,
    context: Context = (),
    how: How = None,
    documents: Documents = None,
    measures: Measures = None,
    gains: str | None = None,
    convention: Convention = Options.convention,
    baseline: str | None = None,
    not_worse: NotWorse = (),
    tolerate_unclear: TolerateUnclear = False,
    correction: Correction = "holm",
    family: Family = "measure",
    per_query: bool = False,
    unjudged: bool = False,
    ceiling: bool = False,
    by: str | None = None,
    queries: Path | None = None,
    report: Target | None = None,
    without_self: WithoutSelf = False,
    judge: Path | None = None,
    queries_needed: float | None = None,
    cutoff: Path | None = None,
    reading: ReadingStored,
    model: Path | None = None,
    plugin: Plugin = None,
    quiet: Quiet = False,
    json: JSON = False,
) -> int:
    """Measure one or more rankings against relevance, and test their differences.

    As in trec_eval, documents without a judgment are not relevant, and judged queries that a run does not
    hold count 0; lines on standard error count both.

    DATA: Labelled documents, or TREC qrels.
    RUN…: TREC runs, tables of qid, docid and score or rank, and files with one score per line, in the order
        of labelled documents; one or several.
    --clicks LOG: A log of clicks in place of DATA: what runs would have earned by it, as `directrank clicks
        evaluate`.
    --gains VALUES: The gain of each grade from 0 in nDCG and DCG, such as 0,1,3,7, as in
        nDCG(gains='0,1,3,7')@10.
    --baseline RUN: Test the other runs against this one, not every pair.
    --per-query: Print the values of every query.
    --unjudged: Also print the least and largest value over all grades of the run's documents without a
        judgment; for one run.
    --ceiling: Also print each measure for the best order of each run's documents: what is missing by order,
        and what by retrieval.
    --by COLUMN: Also print means and differences for each value of this column of queries.
    --queries FILE: A table of queries, with the column of --by. [default: DATA]
    --report FILE: Also write the page of `compare` about these runs.
    --judge FILE: A machine's judgments of these and more queries: each measure with the shorter interval that
        they allow, whatever they are worth.
    --queries-needed WIDTH: With --judge: the number of queries that people must judge for an interval of this
        width.
    --cutoff FILE: Print what this file of `directrank cutoff` keeps and misses of the runs.
    --model MODEL: Without RUN: evaluate the scores of this model. With runs: read a table of DATA as its
        training data were read.
    """
    form = _form({**locals(), **vars(reading)})
    reported = _reported(measures, gains, not_worse, form)
    margins: Any = not_worse
    if clicks is not None:
        gate = evaluate_by_clicks(
            clicks, [data, *(runs or ())], propensities, reported[0].name, baseline,
            reading=Logging(context=context), how=how, documents=documents, json=json, margins=margins,
        )  # fmt: skip
        return DONE if gate is None else gate_code(gate, tolerate_unclear)
    if not runs and (form or model is None):
        missing = "Missing argument 'RUN…'" + ", or --model" * (not form)
        raise UsageError(f"{missing}. See `directrank evaluate --help`.")
    if not_worse and baseline is None:
        raise UsageError("--not-worse: name the run to compare with by --baseline")
    if queries is not None and by is None:
        raise UsageError("--queries: name a column of it by --by")
    judged, rankings, read_as = _judged_and_ranked(data, runs, model, reading)
    if judge is not None:
        evaluate_with_judge(data, rankings, judge, reported, baseline, queries_needed, read_as, json=json)
        return DONE
    if cutoff is not None:
        evaluate_cutoff(cutoff, data, rankings, read_as, json=json)
        return DONE
    if report is not None:
        check_page(report, "--report", data, *(runs or ()), printing=True)
    alone = len(rankings) == 1 and not (report or baseline or ceiling or by)
    if unjudged and not alone:
        raise UsageError("--unjudged: give one run, without --report, --baseline, --ceiling and --by")
    if alone:
        _evaluate_one(
            judged, rankings, reported, convention, per_query, unjudged, read_as, without_self, json
        )
        return DONE
    from directrank.apps.evaluation import ceiling as ceilings
    from directrank.apps.experiments import by_category, query_categories
    from directrank.apps.experiments.results.evaluated import evaluate_runs

    shared: Any = {
        "measures": reported, "convention": convention, "how": read_as, "without_self": without_self
    }  # fmt: skip
    with usage() if baseline is None else usage(f"--baseline {baseline}"):
        result = evaluate_runs(
            judged, rankings, baseline=baseline, correction=correction, family=family,
            diagnostics=report is not None, command=["directrank", *sys.argv[1:]], **shared,
        )  # fmt: skip
    if report is not None:
        from directrank.apps.report import write_report

        write_report(result, report)
    parts = by_category(result, query_categories(queries or data, by, reading.qid)) if by else None
    tops = ceilings(judged, rankings, **shared) if ceiling else None
    gate = result.gate(margins) if margins else None
    if json:
        rows = {"categories": parts, "ceiling": tops}
        more = {name: [row.to_dict() for row in of] for name, of in rows.items() if of is not None}
        print_json({**result.to_dict(), **({} if gate is None else {"gate": gate.to_dict()}), **more})
    else:
        _print_comparison(result, per_query)
        if tops:
            _print_ceilings(tops)
        if by and parts is not None:
            _print_categories(by, parts)
        if gate is not None:
            print_gate(gate)
        if report is not None:
            remark(f"Written: {report}")
    return DONE if gate is None else gate_code(gate, tolerate_unclear)


def _form(words: Mapping[str, Any]) -> str:
    """Return the form of `evaluate` that is wanted, of its values by name; refuse what it does not read."""
    forms = [name for name in READ if words.get(name) is not None]
    if len(forms) > 1:
        raise UsageError(f"--{forms[0]} and --{forms[1]}: give one of them")
    form = forms[0] if forms else ""
    defaults = {name: one.default for name, one in signature(evaluate).parameters.items()}
    defaults |= vars(ReadOptions())
    for name, value in words.items():
        of = [each for each, names in READ.items() if name in names.split()]
        if of and form not in of and value and value != defaults[name]:
            flag = "--grade" if name == "grades" else f"--{name.replace('_', '-')}"
            if not form:
                raise UsageError(f"{flag}: it goes with --{of[0]}")
            raise UsageError(f"{flag}: evaluate --{form} does not read it; omit one of them")
    return form


def _reported(
    measures: Sequence["Measure"] | None, gains: str | None, not_worse: Iterable[str], form: str
) -> Sequence["Measure"]:
    """Return the measures to print: those named, and those of a gate; or else the usual ones."""
    from directrank.measures import distinct_measures, with_gains

    usual = ("DCG@10",) if form == "clicks" else Options.measures
    reported = distinct_measures(measures or (() if not_worse and gains is None else usual))
    if gains is not None:
        plain, reported = reported, tuple(with_gains(measure, gains) for measure in reported)
        if reported == plain:
            raise UsageError(
                f"--gains {gains}: name a measure with gains of grades, such as nDCG@10 or DCG@10"
            )
    reported = distinct_measures([*reported, *not_worse])
    if form == "clicks" and len(reported) > 1:
        names = ", ".join(measure.name for measure in reported)
        raise UsageError(f"--clicks has one measure, DCG, P or RBP, and {names} are named; name one")
    return reported


def _judged_and_ranked(
    data: Path, runs: list[Path] | None, model: Path | None, reading: ReadOptions
) -> tuple[Any, Any, ReadOptions]:
    """Return the judged data, the rankings of them, and how files are read: as the data of a model were."""
    if model is None:
        return data, runs, reading
    from directrank.files import columns_line
    from directrank.models import load

    ranker = load(model)
    if not runs:
        documents = read_documents(data, ranker.read_options(reading))
        if ranker.trained_on(documents):
            remark(f"note: {model} was trained on {data}: values are lower on new queries")
        return documents, {model.name: ranker.predict(documents)}, reading
    how = replace(reading, training=ranker.reading_, features=())
    remark(*filter(None, [columns_line(data, how)]))
    return data, runs, how


def _evaluate_one(
    data: Any, rankings: Any, measures: Sequence["Measure"], convention: str, per_query: bool,
    unjudged: bool, how: ReadOptions, without_self: bool, json: bool,
) -> None:  # fmt: skip
    """Print the measures of one ranking, and bounds over documents without a judgment."""
    from directrank.apps.evaluation import Judged, definition_notes, named_runs
    from directrank.apps.evaluation import evaluate as measured
    from directrank.files import refuse_absent_columns

    ((label, ranking),) = named_runs(rankings).items()
    refuse_absent_columns([data, ranking], how)
    judged = Judged(data, how, without_self=without_self)
    one = judged.submission(label, ranking)
    result = measured(
        one.queries, one.scores, measures=measures, convention=convention, per_query=per_query,
        retrieved=one.retrieved, unjudged=unjudged,
    )  # fmt: skip
    definitions = definition_notes(measures, convention, judged, [one])
    notes = [*judged.notes, *one.notes, *definitions]
    if json:
        print_json({**result.to_dict(), "notes": notes})
        return
    remark(*(f"note: {note}" for note in notes))
    values = result.per_query or {}
    if values:
        texts = [[f"{value:.4f}" for value in values[name]] for name in result]
        print_columns(["qid", *result], list(zip(map(str, result.qid.tolist()), *texts, strict=True)))
        print()
    print(result)


def _print_comparison(result: "Comparison", per_query: bool) -> None:
    """Print the means of runs, and which differences are significant."""
    convention = result.conventions[0]
    remark(*(f"note: {note}" for note in result.content.data_check.lines))
    if per_query:
        _print_queries(result)
    print_table(result.headline(convention))
    print_differences(result)
    lines = [line for name in result.measures if (line := result.lead_line(convention, name))]
    if within := result.content.significance[convention].within():
        lines.append(f"{within[0].upper()}{within[1:]}.")
    print(*([""] * bool(lines)), *lines, sep="\n", end="\n" * bool(lines))


def _print_queries(result: "Comparison") -> None:
    """Print a line for each query and run, with every measure."""
    rows = []
    for place, qid in enumerate(result.finished[0].qid):
        for run in result.finished:
            per_query = run.per_query[result.conventions[0]]
            values = [per_query[name][place] for name in result.measures]
            texts = ["skipped" if value is None else f"{value:.4f}" for value in values]
            rows.append([str(qid), run.method, *texts])
    print_columns(["qid", "run", *result.measures], rows)
    print()


def print_differences(result: "Comparison") -> None:
    """Print every tested pair: with a baseline a line per run and measure, without one only of two runs."""
    tests = result.content.significance[result.conventions[0]]
    pairs = [(measure, pair) for measure, pairs in tests.pairs.items() for pair in pairs]
    if (tests.baseline is None and len(result.methods) > 2) or not pairs:
        return
    rows = [
        [
            measure, pair.method,
            *difference_cells(
                pair.difference, pair.low, pair.high, (pair.p_randomisation, tests.p(pair)),
                (pair.wins, pair.ties, pair.losses),
            ),
        ]
        for measure, pair in pairs
    ]  # fmt: skip
    first = pairs[0][1]
    against = f"difference to {first.baseline} on {first.queries} queries"
    print(f"\n{against}, with its {tests.levels([pair for _, pair in pairs])} interval")
    adjusted = f"p {tests.correction}"
    print_columns(["measure", "run", "difference", "interval", "wins/ties/losses", "p", adjusted], rows)


def _print_ceilings(tops: Sequence["Ceiling"]) -> None:
    """Print what each run could reach, and what it misses by its order and by what it does not hold."""
    print("\nbest order of each run's documents")
    rows = [
        [
            top.measure,
            top.run,
            *(f"{x:.4f}" for x in (top.value, top.ceiling, top.best, top.order, top.retrieval)),
        ]
        for top in tops
    ]
    head = ["measure", "run", "value", "ceiling", "best", "missing by order", "by retrieval"]
    print_columns(head, rows)


def _print_categories(by: str, parts: Sequence["CategoryMean"]) -> None:
    """Print a line for each measure, run and category."""
    from directrank.apps.evaluation.significance import p_value

    rows = []
    for part in parts:
        tested = ["", "", ""]
        if part.difference is not None and part.p is not None:
            smallest = "" if part.detectable is None else f"{part.detectable:.4f}"
            tested = [f"{part.difference:+.4f}", p_value(part.p).removeprefix("= "), smallest]
        interval = f"{part.low:.4f} to {part.high:.4f}"
        rows.append(
            [part.measure, part.run, part.category, str(part.queries), f"{part.mean:.4f}", interval, *tested]
        )
    head = ["measure", "run", by, "queries", "mean", "95 % interval"]
    tested = any(part.difference is not None for part in parts)
    if tested:
        head += ["difference", "p holm", "detectable"]
    print()
    print_columns(head, rows if tested else [row[:6] for row in rows])
