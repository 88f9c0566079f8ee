"""`directrank fuse`: runs of several retrievers as one."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from directrank.apps.cli.commands.evaluating import print_differences
from directrank.apps.cli.failures import UsageError, usage
from directrank.apps.cli.options import JSON, Quiet, ReadingJudgments, Seed, Target, WithoutSelf
from directrank.apps.cli.output import print_json, print_paragraph, print_table, remark
from directrank.apps.cli.settings import check_file, check_page
from directrank.errors import DataError
from directrank.storage.atomic import write_atomically


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
            print_differences(table)
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
