"""`directrank evaluate`, `agreement` and `fuse`: rankings made elsewhere, and judgments."""

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
from directrank.apps.cli.failures import DONE, UNMET, UsageError, gate_code, usage
from directrank.apps.cli.options import (
    JSON,
    Convention,
    Correction,
    Family,
    Measures,
    NotWorse,
    Plugin,
    Quiet,
    ReadingJudgments,
    ReadingRuns,
    ReadingStored,
    Seed,
    Target,
    TolerateUnclear,
    WithoutSelf,
)
from directrank.apps.cli.output import (
    difference_cells,
    print_columns,
    print_gate,
    print_json,
    print_paragraph,
    print_table,
    remark,
)
from directrank.apps.cli.settings import check_file, check_page, read_documents
from directrank.apps.experiments.options import Options
from directrank.data.reading_options import ReadOptions
from directrank.errors import DataError
from directrank.storage.atomic import write_atomically

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
    _print_differences(result)
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


def _print_differences(result: "Comparison") -> None:
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


def drift(
    before: Path,
    now: Path,
    *,
    first: int = 10,
    persistence: float = 0.9,
    least: float | None = None,
    most: int = 10,
    reading: ReadingRuns,
    json: JSON = False,
) -> int:
    """Compare two runs of the same queries without judgments: how much has changed, and where.

    OLD: The run before: a TREC run, a table of scores, or JSON.
    NEW: The run of the same queries now.
    --first K: How many first documents the overlap compares.
    --persistence P: Of rank-biased overlap: rank d has the weight (1 − p) p^(d − 1).
    --least SHARE: Exit with 5 if the mean overlap is smaller, such as .8.
    --most N: How many queries that changed most to list.
    """
    from directrank.apps.evaluation import drift as compared

    if least is not None and not 0 <= least <= 1:
        raise UsageError(f"--least {least:g}: expected a share, from 0 to 1")
    with usage():
        found = compared(before, now, cutoff=first, persistence=persistence, how=reading)
    code = UNMET if least is not None and found.overlap < least else DONE
    if json:
        print_json({**found.to_dict(), "least": least, "holds": code == DONE})
        return code
    remark(*(f"note: {note}" for note in found.notes))
    for count, name in ((found.only_before, before), (found.only_now, now)):
        if count:
            remark(f"note: {count} queries are in {name} alone, and count 0")
    rows = [
        ["queries", str(len(found.queries))],
        [f"overlap@{first}", f"{found.overlap:.4f}"],
        [f"RBO, p = {persistence:g}", f"{found.rbo:.4f}"],
        ["first result changed", f"{found.first_changed:.1%} of queries"],
    ]
    print_columns(["drift", "value"], rows)
    moved = [query for query in found.queries if query.rbo < 1.0][: max(most, 0)]
    if moved:
        print()
        lines = [
            [query.qid, f"{query.overlap:.4f}", f"{query.rbo:.4f}", query.first_before, query.first_now]
            for query in moved
        ]
        print_columns(["qid", f"overlap@{first}", "RBO", "first before", "first now"], lines)
    if least is not None:
        print(f"\noverlap@{first} is {'at least' if code == DONE else 'below'} {least:g}")
    return code


def agreement(
    first: Path,
    second: Path | None = None,
    runs: list[Path] | None = None,
    *,
    judges: Sequence[str] | None = None,
    measure: str = "nDCG@10",
    most: int = 10,
    seed: Seed = 0,
    reading: ReadingJudgments,
    json: JSON = False,
) -> None:
    """Compare two sets of judgments: their grades, and the order of runs under each.

    Intervals are over queries: what other queries like these would give. No model is called. `evaluate
    --judge` takes figures from both.

    FIRST: TREC qrels or labelled documents, such as people's judgments.
    SECOND: Other judgments, such as a language model's; none, but runs, with --judges.
    RUN…: TREC runs or tables of scores: do both order them alike?
    --judges A,B: Two columns of grades of FIRST, instead of SECOND; empty cells are not judged.
    --measure NAME: The measure that orders runs.
    --most N: How many documents of the largest differences to list.
    """
    from directrank.apps.evaluation import agreement as compared

    ranked = [*(runs or ())]
    if judges is not None and second is not None:
        ranked, second = [second, *ranked], None
    if judges is None and second is None:
        raise UsageError("Missing argument 'SECOND', or --judges. See `directrank agreement --help`.")
    with usage():
        agreed = compared(
            first, second, ranked, judges=judges, measure=measure, random_state=seed, how=reading
        )
    if json:
        largest = [difference._asdict() for difference in agreed.most[: max(most, 0)]]
        tables = {"grades": agreed.grades.tolist(), "counts": agreed.counts.tolist(), "most": largest}
        print_json({**vars(agreed), **tables})
        return
    names = (judges[0], judges[1]) if second is None and judges else (first.name, str(second and second.name))
    remark(*(f"note: {note}" for note in agreed.notes))
    print(f"{agreed.n_documents} documents of {agreed.n_queries} queries are judged by both")
    for count, name in zip((agreed.only_first, agreed.only_second), names, strict=True):
        if count:
            remark(f"note: {count} documents are judged by {name} alone, and left out")
    rows = {"weighted kappa": agreed.kappa, "Krippendorff's alpha": agreed.alpha}
    if agreed.tau is not None:
        rows[f"Kendall's tau of {len(agreed.systems)} runs by {agreed.measure}"] = agreed.tau
    lines = [
        [
            name,
            f"{estimate.value:.4f}",
            f"{estimate.low:.4f} to {estimate.high:.4f}" if agreed.n_queries > 1 else "none: one query",
        ]
        for name, estimate in rows.items()
    ]
    print_columns(["agreement", "value", "95 % interval"], lines)
    grades = [f"{grade:g}" for grade in agreed.grades.tolist()]
    table = zip(grades, agreed.counts.tolist(), strict=True)
    print()
    print_columns([", by ".join(names), *grades], [[grade, *map(str, row)] for grade, row in table])
    if agreed.systems:
        print()
        means = [[name, *(f"{value:.4f}" for value in pair)] for name, pair in agreed.systems.items()]
        print_columns([agreed.measure, *names], means)
    if agreed.most and most > 0:
        print()
        differing = [
            [difference.qid, difference.docid, f"{difference.first:g}", f"{difference.second:g}"]
            for difference in agreed.most[:most]
        ]
        print_columns(["qid", "docid", *names], differing)


def fuse(
    runs: list[Path],
    *,
    qrels: Path | None = None,
    measure: str = "nDCG@10",
    normalise: Sequence[str] = ("rank", "min-max", "mnz", "standardised", "log-odds"),
    rule: str = "learned",
    kfold: int = 5,
    seed: Seed = 0,
    model: Path | None = None,
    out: Target | None = None,
    run_out: Target | None = None,
    tag: str = "directrank",
    to: str | None = None,
    report: Target | None = None,
    cutoff: Path | None = None,
    without_self: WithoutSelf = False,
    reading: ReadingJudgments,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Fuse runs of several retrievers, with weights learned for the measure and shrunk towards RRF.

    With judgments it also compares the weights with RRF, CombSUM, CombMNZ, the best of 11 weights and each
    run, on queries that they were not learned from.

    RUN…: TREC runs or tables of qid, docid and score of the same queries, two or more.
    --qrels FILE: Judgments to learn from: labelled documents, or what `features --qrels` reads. [default:
        none, plain RRF]
    --measure NAME: Measure to learn for.
    --normalise NAMES: Normalisations to choose from, with commas: rank, min-max, mnz, standardised, log-odds.
    --rule NAME: What to take: learned, rrf, combsum, combmnz, grid (the best of 11 weights of two runs),
        single (the best run), or the name of a run.
    --kfold N: Folds of the judged queries for the comparison; 0 leaves it out.
    --model FILE: Fuse with the weights of this file of --out; learn none.
    -o --out FILE: The file for the weights, such as fusion.dr.
    --run-out FILE: The file for the fused run; its ending chooses the format, or TREC.
    --tag WORD: Last column of a TREC run.
    --to ENGINE: Print the weights for opensearch, elasticsearch, solr or vespa, and nothing else.
    --report FILE: Also write a page: the rules compared, and whether learning is worth it.
    --cutoff FILE: Write to --run-out only what this file of `directrank cutoff` keeps.
    """
    from directrank.apps.fusion import Fusion
    from directrank.files import refuse_absent_columns
    from directrank.files.scores import format_of_scores

    if model is not None and qrels is not None:
        raise UsageError("--model and --qrels: give the weights, or judgments to learn them from")
    if not tag.split() == [tag]:
        raise UsageError(f"--tag {tag!r}: the tag of a run is one word")
    if json and to is not None:
        raise UsageError("--json and --to: give one of them")
    if cutoff is not None and run_out is None:
        raise UsageError("--cutoff: name the file of the fused run by --run-out")
    if report is not None and (qrels is None or kfold < 2):
        raise UsageError("--report: its comparison needs --qrels, and --kfold 2 or more")
    for path, name in ((out, "--out"), (run_out, "--run-out"), (report, "--report")):
        if path is not None:
            check = check_page if path is report else check_file
            check(path, name, qrels, model, *runs, printing=True)
    table = None
    with usage():
        if model is None:
            fusion = Fusion(measure, normalise=normalise, rule=rule, random_state=seed)
        else:
            fusion = Fusion.load(model)
        refuse_absent_columns([*runs, *([qrels] * (qrels is not None))], reading)
        loaded = _read_runs(runs, qrels, reading, without_self)
        if model is None:
            fusion.fit(loaded)
            folds = min(kfold, fusion.n_judged_)
            if report is not None or (folds > 1 and to is None):
                table = fusion.cross_validate(loaded, kfold=folds)
        groups, scores = fusion.ranked(loaded)
        engine = None if to is None else fusion.engine(to)
    if out is not None:
        fusion.save(out)
    if report is not None and table is not None:
        from directrank.apps.report import write_report

        content = replace(table.content, command=["directrank", *sys.argv[1:]])
        write_report(type(table)(content), report)
    if run_out is not None:
        form = format_of_scores(None, run_out)
        if cutoff is not None:
            from directrank.apps.cli.commands.cutting import cut_ranking

            groups, scores = cut_ranking(cutoff, None, groups, scores)
        # One score per line would not say whose it is.
        form = format_of_scores("trec", None) if form.name == "scores" else form
        write_atomically(run_out, form.content(groups, scores, tag))
    if json:
        facts = {
            "measure": fusion.measure,
            "rule": fusion.rule,
            "judged_queries": fusion.n_judged_,
            "normalisation": fusion.normalisation_,
            "learned_share": fusion.share_,
            "weights": dict(zip(fusion.runs_, fusion.weights_.tolist(), strict=True)),
        }
        print_json({**facts, "comparison": table and table.to_dict(), "notes": loaded.notes})
        return
    lines = [f"note: {note}" for note in loaded.notes]
    if {*loaded.names} != {*fusion.runs_}:
        pairs = (f"{name} as {expected}" for name, expected in zip(loaded.names, fusion.runs_, strict=True))
        lines.append(f"note: runs are taken in the order of the fusion's: {', '.join(pairs)}")
    if engine is not None:
        sys.stdout.write(engine.content.decode())
        lines += [f"needs: {need}" for need in engine.needs] + [
            f"changed: {change}" for change in engine.changes
        ]
    else:
        if table is not None:
            print_table(table.headline("standard"))
            _print_differences(table)
            print()
        for sentence in table.content.conclusions if table else [fusion.summary()]:
            print_paragraph(sentence)
    if out is not None:
        lines.append(f"Written: {out}, the weights" + "; --run-out writes the fused run" * (run_out is None))
    if report is not None:
        lines.append(f"Written: {report}")
    if run_out is not None:
        lines.append(f"Written: {run_out}, {groups.n_docs} documents of {groups.n_queries} queries")
    remark(*lines)


def _read_runs(runs: list[Path], qrels: Path | None, how: Any, without_self: bool) -> Any:
    """Return runs with judgments: of the forms of `evaluate`, or else of those of `features`."""
    from directrank.apps.fusion import Runs

    try:
        return Runs.read(runs, qrels, how=how, without_self=without_self)
    except DataError as error:
        if qrels is None:
            raise
        from directrank.apps.text import read_judgments

        unjudged = Runs.read(runs, how=how, without_self=without_self)
        try:
            judgments, lines = read_judgments(qrels)
            judged = Runs.read(runs, judgments, how=how, without_self=without_self)
        except (DataError, ValueError):
            raise error from None
        return replace(judged, notes=[*lines, *unjudged.notes, *judged.notes[len(unjudged.notes) :]])
