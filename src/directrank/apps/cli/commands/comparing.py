"""`directrank demo`, `compare` and `report`."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from directrank.apps.cli.commands.clicks import Known, Labels, plan_by_clicks, print_by_clicks
from directrank.apps.cli.commands.judging import print_judged
from directrank.apps.cli.failures import (
    DONE,
    FAILED,
    InterruptedRunError,
    UsageError,
    gate_code,
    print_error,
    usage,
)
from directrank.apps.cli.options import (
    JSON,
    Force,
    NotWorse,
    Plugin,
    Quiet,
    Target,
    TolerateUnclear,
    Verbose,
)
from directrank.apps.cli.output import print_gate, print_json, print_table, remark
from directrank.apps.cli.settings import check_folder, check_page
from directrank.apps.experiments.options import Options
from directrank.storage.atomic import write_atomically
from directrank.storage.names import slug

if TYPE_CHECKING:
    from directrank.apps.cli.progress import Lines
    from directrank.apps.experiments import Comparison


def demo(
    *,
    out: Target = Path("demo"),
    text: bool = False,
    force: Force = False,
    json: JSON = False,
    quiet: Quiet = False,
) -> int:
    """Make a small collection, compare methods on it, and write a page. No data needed.

    --out FOLDER: Folder for data, results and page.
    --text: Begin with texts: index, features, comparison, search.
    """
    if text:
        from directrank.apps.cli.demos.texts import run_text_demo as run
    else:
        from directrank.apps.cli.demos.shop import run_demo as run

    check_folder(out, force=force)
    story = _observed(lambda observer: run(out, observer, force=force), out)

    def show(_: Path) -> None:
        if not quiet:
            print(story.before)
        print_table(story.result.headline("standard"))
        if not quiet:
            print(story.after)

    return _finished(story.result, out, json, show)


def compare(
    source: list[Path],
    *,
    methods: Sequence[str] = ("all",),
    clicks: Path | None = None,
    propensities: Known = None,
    safe: Path | None = None,
    split: Literal["queries", "time"] = "queries",
    how: Labels = None,
    options: Options,
    not_worse: NotWorse = (),
    tolerate_unclear: TolerateUnclear = False,
    form: Annotated[
        Literal["text", "markdown", "latex", "csv", "json"],
        ("--format NAME", "Print tables as text, markdown, latex, csv or json."),
    ] = "text",
    dry_run: bool = False,
    plugin: Plugin = None,
    json: JSON = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Train, choose parameters on validation, test once: one table for all methods.

    Rerun the same command to resume; finished work is reused.

    DATA | TRAIN VALI TEST: A folder with Fold1 … FoldN, each with train, vali and test (.txt, .csv, .parquet,
        .arrow); or three files; or one file with --kfold, --fold-by or --split-by.
    --methods NAMES: Methods with commas, such as "adarank(AP), regression"; or all. Of other libraries:
        lightgbm:lambdarank …, sklearn:MODULE.CLASS; runs:NAME=FOLDER. See directrank methods.
    --clicks LOG: A log of clicks, as `directrank propensities` reads it: methods learn from it, and are
        compared by what they would have earned in it; --select-by names DCG, P or RBP. A rerun starts anew.
    --safe MODEL: With --clicks: also each method where it is shown to be better than this model.
    --split RULE: With --clicks: folds of queries, or the last 1/--kfold of impressions, by the days of the
        log.
    --dry-run: Read all data, print the number of fits and stop.
    """
    from directrank.apps.cli.progress import plan_line
    from directrank.apps.experiments.plan.sources import source_name
    from directrank.apps.experiments.run.protocol import carry_out, prepare, read_folds

    if len(source) not in (1, 3):
        raise typer.BadParameter(f"expected one folder, one file or three files, got {len(source)}")
    data = source[0] if len(source) == 1 else source
    folder = Path(options.out or Path("runs") / slug(options.name or source_name(data)))
    if clicks is None and not (propensities is safe is how is None and split == "queries"):
        raise UsageError("--propensities, --safe, --split and --how: these go with --clicks")
    if clicks is not None:
        if len(source) > 1 or source[0].is_dir():
            raise UsageError("--clicks: name one file of documents")
        if options.fold_by is not None or options.split_by is not None:
            raise UsageError("--fold-by and --split-by: a comparison by --clicks is divided by --split")
        if not_worse:
            raise UsageError("--not-worse: with --clicks, give it to `directrank evaluate --clicks`")
        if form != "text":
            raise UsageError("--format: a comparison by --clicks does not have this option")
    if not_worse and options.baseline is None:
        raise UsageError("--not-worse: name the method to compare with by --baseline")
    with usage():
        if not_worse:
            options = replace(options, measures=[*options.measures, *not_worse])
        if not dry_run:
            check_folder(folder, force=options.force)
        options = replace(options, out=folder)
        if clicks is None:
            plan, store = prepare(data, methods, options)
            work = partial(carry_out, plan, store)
        else:
            planned = plan_by_clicks(
                source[0], ",".join(methods), options, clicks, propensities, split, safe, how
            )
            plan, work = planned.plan, planned.carry_out
    if dry_run:
        if clicks is None:
            with usage():
                read_folds(plan)
        sizes = {"cells": len(plan.cells), "finished": len(plan.finished)}
        if json:
            print_json({**sizes, "fits": plan.n_fits, "fits_left": plan.n_fits_left})
        else:
            print(plan_line(plan))
        return DONE
    command = ["directrank", *sys.argv[1:]]
    result = _observed(lambda observer: work(observer, command), folder, verbose=verbose)

    gate = result.gate(not_worse) if not_worse else None

    def show(page: Path) -> None:
        if result.by_clicks is not None:
            print_by_clicks(result.by_clicks)
            remark(f"Written: {folder}/results.json, results.csv, table.txt. Open {page}")
            return
        tables = [result.headline(convention) for convention in result.conventions]
        if len(result.folds) > 1:
            tables.append(result.by_fold(result.conventions[0], result.main))
        for place, table in enumerate(tables):
            if place:
                print()
            print_table(table) if form == "text" else print(table.as_text(form))
        if form == "text" and result.references:
            print()
            print_table(result.before(result.conventions[0]))
        if form == "text" and result.content.verdict:
            print("", *result.content.verdict, sep="\n")
        print_judged(result)
        if gate is not None:
            print_gate(gate)
        files = "results.csv, results.standard.csv, results.json, table.txt, table.md, table.tex"
        files += ", significance.csv" + (", models/" if options.keep_models else "")
        remark(f"Written: {folder}/{files}. Open {page}")
        won = result.winner()
        if won is not None and won.command:
            best = won.label == result.best_on_validation()
            which = (
                ""
                if best
                else f", the best method of directrank by mean validation {result.content.select_by}"
            )
            remark(f"Train and save {won.label}{which}:", f"  {won.command}")

    code = _finished(result, folder, json, show, {} if gate is None else {"gate": gate.to_dict()})
    return gate_code(gate, tolerate_unclear) if gate is not None and code == DONE else code


def report(run: Path, *, out: Target = Path("report.html"), json: JSON = False, quiet: Quiet = False) -> None:
    """Write one HTML page about a comparison, or a model; it needs no other file and no network.

    RUN: The results folder of a comparison, or a model.
    -o --out FILE: The page to write; - for standard output.
    """
    from directrank.apps.experiments import read_results
    from directrank.apps.report import model_card, write_report

    results = run / "results.json"
    check_page(out, "--out", run, results, printing=json)
    if run.is_file():
        write_atomically(out, model_card(run).page())
    else:
        write_report(read_results(run), out)
    if json:
        print_json({"page": str(out)})
    else:
        remark(f"Written: {out}")


def _observed(work: Callable[["Lines"], Any], folder: Path, *, verbose: bool = False) -> Any:
    """Return the result of work that prints its progress; Ctrl-C ends it with a line about resuming."""
    from directrank.apps.cli.progress import Lines

    with Lines(verbose=verbose) as observer:
        try:
            return work(observer)
        except KeyboardInterrupt:
            done = f"{observer.saved} of {observer.n_cells} cells are finished" if observer.n_cells else ""
            raise InterruptedRunError(
                f"interrupted; {done or 'nothing is finished'} and saved in {folder}: "
                "rerun the same command to resume; finished work is reused"
            ) from None


def _finished(
    result: "Comparison",
    folder: Path,
    json: bool,
    show: Callable[[Path], None],
    more: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    """Write the page of a comparison, print its results, and return the exit code."""
    from directrank.apps.report import write_report

    page = folder / "report.html"
    write_report(result, page)
    if json:
        print_json({**result.to_dict(), "page": str(page), **more})
    else:
        show(page)
    for line in result.unfinished_lines():
        print_error(line)
    for cell in result.failures:
        problem = f"{cell.error.type}: {cell.error.message}"
        print_error(f"{cell.method} failed on {cell.fold}: {problem} (the rest is complete)")
    return FAILED if result.failures else DONE
